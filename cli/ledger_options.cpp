#include "cli/ledger_options.hpp"

#include <time.h>

#include <fstream>

#include "cli/exit_status.hpp"
#include "cli/stamp.hpp"
#include "cli/terminal.hpp"
#include "topology/base/outside_text.hpp"
#include "topology/base/whole_number.hpp"
#include "topology/files/file_text.hpp"
#include "topology/files/incident_json.hpp"
#include "topology/files/time_span.hpp"

namespace weft::cli {
namespace {

constexpr Bytes kMaxMutesBytes = Bytes(10'000'000);

}  // namespace

blacklist::Now now_of_machine() {
  blacklist::Now now{.wall = stamp_now().generated_at, .uptime = {}, .boot = {}};
  timespec uptime{};
  if (clock_gettime(CLOCK_BOOTTIME, &uptime) == 0) now.uptime = blacklist::Seconds(uptime.tv_sec);
  std::ifstream("/proc/sys/kernel/random/boot_id") >> now.boot;
  return now;
}

Result<OpenedLedger> open_ledger(const po::variables_map& values, store::Database::Access access) {
  const auto path = text_option(values, "ledger");
  const auto fabric = text_option(values, "fabric");
  if (!path) return fail(ErrorKind::usage, "--ledger FILE is missing: where the blacklist is kept");
  if (!fabric) return fail(ErrorKind::usage, "--fabric FILE is missing: the fabric whose blacklist it is");
  WEFT_TRY(auto file, load_fabric_file(*fabric));
  const auto credential = text_option(values, "credential");
  if (credential) access = store::Database::Access::write;  // who reads follows the bus too
  WEFT_TRY(auto ledger, store::LedgerStore::open(*path, file.fabric.name(), access));
  OpenedLedger opened{std::move(file.fabric), std::make_unique<store::LedgerStore>(std::move(ledger)), {}};
  if (credential) {
    WEFT_TRY(opened.bus, LedgerOnBus::open(*credential, opened.fabric.name(), *opened.store));
  }
  return opened;
}

Result<blacklist::Policy> read_policy(const po::variables_map& values, const blacklist::Ledger& ledger) {
  blacklist::Policy policy;
  policy.nic_action = ledger.nic_action.value_or(policy.nic_action);
  if (const auto word = text_option(values, "nic")) {
    const auto nic = blacklist::parse_nic_action(*word);
    if (!nic) return fail(ErrorKind::usage, "--nic {}: expected host or rail", *word);
    policy.nic_action = *nic;
  }
  if (values.count("approval"))
    for (const std::string& word : values["approval"].as<std::vector<std::string>>()) {
      const auto kind = blacklist::parse_subject_kind(word);
      if (!kind)
        return fail(ErrorKind::usage, "--approval {}: expected channel, link, nic, host or switch", word);
      policy.automatic[*kind] = false;
    }
  WEFT_TRY(const auto clean, read_option(values, "clean", files::parse_span));
  if (clean) policy.clean = std::chrono::ceil<blacklist::Seconds>(*clean);
  return policy;
}

Result<Mutes> read_mutes(const po::variables_map& values, const Fabric& fabric) {
  const auto path = text_option(values, "mutes");
  if (!path) return Mutes();
  WEFT_TRY(const auto text, files::read_text_file(*path, kMaxMutesBytes));
  WEFT_TRY(auto read, files::parse_mutes(fabric, text, *path));
  for (const std::string& name : read.unknown) print_stderr("weft: {}: the fabric has no {}\n", *path, name);
  return std::move(read.mutes);
}

void print_events(const std::vector<blacklist::LedgerEvent>& events) {
  for (const blacklist::LedgerEvent& event : events)
    print_wrapped(fmt::format("{}{}: {}", event.entry ? fmt::format("{} ", event.entry->value()) : "",
                              to_string(event.kind), event.text));
}

Result<std::string> need_text(const po::variables_map& values, const char* name, std::string_view why) {
  const auto text = text_option(values, name);
  if (!text || text->empty()) return fail(ErrorKind::usage, "--{} is missing: {}", name, why);
  if (text->size() > blacklist::kMaxText)
    return fail(ErrorKind::usage, "--{}: {} bytes at most", name, blacklist::kMaxText);
  return outside_text(*text);
}

Result<blacklist::EntryId> read_id(const po::variables_map& values) {
  const auto text = text_option(values, "id");
  if (!text) return fail(ErrorKind::usage, "which entry? give its number: weft blacklist list shows them");
  if (const auto number = parse_whole_number<std::uint64_t>(*text)) return blacklist::EntryId(*number);
  return fail(ErrorKind::usage, "{}: expected the number of an entry, as weft blacklist list shows it",
              *text);
}

void add_metrics_option(OptionParser& parser) {
  parser.options(Group::output)
      .add_options()("metrics-file", po::value<std::string>()->value_name("FILE"),
                     "also write what stands on the blacklist for the textfile collector of Prometheus");
}

void write_metrics(const po::variables_map& values, const blacklist::Ledger& ledger,
                   const std::optional<metrics::TargetFigures>& target) {
  const auto file = text_option(values, "metrics-file");
  if (!file) return;
  if (const auto written = files::write_text_file(*file, metrics::metrics_text(ledger, target)); !written)
    print_stderr("weft: --metrics-file: {}\n", written.error().message);
}

void add_ledger_options(OptionParser& parser) {
  parser.options().add_options()("ledger", po::value<std::string>()->value_name("FILE"),
                                 "where the blacklist is kept (made by update and add)")(
      "fabric", po::value<std::string>()->value_name("FILE"), "the fabric whose blacklist it is");
  parser.options(Group::cluster)
      .add_options()(
          "credential", po::value<std::string>()->value_name("FILE"),
          "of a watcher, of weft bus init: the blacklist is shared over that bus, and the ledger is "
          "this machine's copy of it");
}

void add_policy_options(OptionParser& parser) {
  parser.options(Group::how)
      .add_options()("nic", po::value<std::string>()->value_name("host|rail"),
                     "a bad NIC or cable of a host: jobs do without the host, or without that rail of it (as "
                     "the ledger was kept before; at first: host)")(
          "approval", po::value<std::vector<std::string>>()->value_name("KIND"),
          "entries of this kind wait for approve: channel, link, nic, host or switch")(
          "clean", po::value<std::string>()->value_name("TIME"),
          "clean evidence until it is put back, and again until it is released (default: 30m)")(
          "mutes", po::value<std::string>()->value_name("FILE"),
          "what is muted makes no entry: as weft mute list -o json prints it");
}

}  // namespace weft::cli
