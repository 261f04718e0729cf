#include "cli/discovered_hosts.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>

#include "cli/exit_status.hpp"
#include "cli/stamp.hpp"
#include "probes/run/ask_hosts.hpp"
#include "topology/base/outside_text.hpp"
#include "topology/files/cable_records.hpp"
#include "topology/host/host_reader.hpp"
#include "topology/host/interfaces.hpp"

namespace weft::cli {
namespace {

constexpr auto kUsualLimit = std::chrono::seconds(30);
constexpr std::size_t kMaxAnswer = 1'000'000;          // bytes
constexpr auto kLldpLimit = std::chrono::seconds(10);  // its daemon answers at once
constexpr std::size_t kMaxTable = 200'000;             // bytes
constexpr std::size_t kLastWords = 300;
constexpr int kNoSuchProgram = 127;  // as a shell says it, and ssh after it

std::string last_words(std::string text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back())) != 0) text.pop_back();
  if (text.size() > kLastWords) text = text.substr(text.size() - kLastWords);
  return text.empty() ? "" : ": " + outside_text(text);
}

struct Question {
  std::vector<std::string> words;
  Nanoseconds patience;
  std::size_t max_answer;  // bytes
};

/// What each of `names` answers. Error: the launcher is not on this machine, or the time is over.
Result<std::vector<run::HostAnswer>> ask_all(const run::ClusterOptions& launch,
                                             const std::vector<std::string>& names, const Question& question,
                                             const AskingEnd& end) {
  WEFT_TRY(const auto own, run::own_program());
  const auto ask = [&](std::size_t host, os::ChildSpec spec) {
    spec.argv = launch.launcher.command(names[host], question.words);
    return os::ChildProcess::start(spec);
  };
  run::AskOptions options{.longest = question.max_answer};
  if (launch.tree)
    options.tree = {launch.launcher, launch.agent_program.value_or(own), [&](std::size_t host) {
                      return run::RelayedHost{names[host], question.words};
                    }};
  options.limits.each = question.patience;
  if (end.until)
    options.limits.each =
        std::min<Nanoseconds>(options.limits.each, *end.until - std::chrono::steady_clock::now());
  if (options.limits.each.count() <= 0) return fail(ErrorKind::timeout, "the time given is over");
  auto answers = run::ask_hosts(
      names.size(), ask, options, [](std::size_t) {}, end.stop);
  if (end.stop.stop_requested()) return fail(ErrorKind::timeout, "interrupted");
  if (const Error* error = run::launcher_absent(answers)) return tl::unexpected(*error);
  return answers;
}

/// What was asked for, from its first line on: a login may greet before it.
std::string_view document_in(std::string_view said) {
  if (said.starts_with('{')) return said;
  const auto line = said.find("\n{");
  return line == std::string_view::npos ? said : said.substr(line + 1);
}

Result<discover::HostNics> nics_in(const std::string& host, const run::HostAnswer& answer,
                                   const std::optional<IpPrefix>& subnet) {
  if (answer.not_started) return tl::unexpected(*answer.not_started);
  if (answer.too_long) return fail(ErrorKind::invalid_input, "its answer is longer than 1 MB");
  if (!answer.in_time)
    return fail(ErrorKind::timeout, "it did not answer in time: is it reached without a password?");
  if (answer.exit_code != 0)
    return fail(ErrorKind::absent, "its NICs could not be asked for ({}){}",
                answer.exit_code ? fmt::format("exit status {}", *answer.exit_code) : "ended by a signal",
                last_words(answer.errors));
  if (answer.output.empty())
    return fail(ErrorKind::absent, "it answered nothing{}", last_words(answer.errors));
  WEFT_TRY(const auto list, files::parse_nic_list(document_in(answer.output), "its answer"));
  auto nics = discover::choose_nics(host, list, subnet);
  if (nics.nics.empty())
    return fail(ErrorKind::absent, "it has no NIC that is up with an address{}",
                subnet ? " in --subnet" : "");
  return nics;
}

/// The server's address of an ssh login ("CLIENT PORT SERVER PORT").
std::optional<IpAddress> reached_by() {
  const char* given = std::getenv("SSH_CONNECTION");
  if (given == nullptr) return std::nullopt;
  std::string_view text(given);
  for (int i = 0; i < 2; ++i) text.remove_prefix(std::min(text.find(' ') + 1, text.size()));
  const auto address = IpAddress::parse(text.substr(0, text.find(' ')));
  return address ? std::optional(*address) : std::nullopt;
}

}  // namespace

Result<AskedHosts> ask_for_nics(const run::ClusterOptions& launch, const std::vector<std::string>& names,
                                const po::variables_map& values, const AskingEnd& end) {
  std::optional<IpPrefix> subnet;
  if (const auto given = text_option(values, "subnet")) {
    WEFT_TRY(subnet, discover::parse_prefix(*given));
  }
  WEFT_TRY(const auto own, run::own_program());
  const Question question{{launch.agent_program.value_or(own), "topology", "show", "--nics", "-o", "json"},
                          launch.gather.value_or(kUsualLimit),
                          kMaxAnswer};
  WEFT_TRY(const auto answers, ask_all(launch, names, question, end));
  AskedHosts answer;
  for (std::size_t i = 0; i < names.size(); ++i) {
    auto nics = nics_in(names[i], answers[i], subnet);
    if (nics)
      answer.hosts.push_back(std::move(*nics));
    else
      answer.troubles.push_back(fmt::format("{}: {}", names[i], nics.error().message));
  }
  if (answer.hosts.empty())
    return fail(ErrorKind::absent, "none of {} hosts told its NICs: {}", names.size(),
                answer.troubles.front());
  return answer;
}

Result<AskedTables> ask_for_lldp(const run::ClusterOptions& launch,
                                 const std::vector<discover::HostNics>& hosts, const AskingEnd& end) {
  std::vector<std::string> names;
  for (const auto& host : hosts) names.push_back(host.host);
  const Question question{{"lldpcli", "-f", "json0", "show", "neighbors"},
                          std::min<Nanoseconds>(launch.gather.value_or(kLldpLimit), kLldpLimit),
                          kMaxTable};
  WEFT_TRY(const auto answers, ask_all(launch, names, question, end));
  AskedTables tables;
  std::size_t silent = 0, other_ports = 0;
  std::vector<std::string> refused;
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    const auto& answer = answers[i];
    if (answer.not_started || !answer.in_time || answer.exit_code == kNoSuchProgram) {
      ++silent;
      continue;
    }
    // A host tells of itself: no other form of record is read from it.
    auto table =
        answer.exit_code == 0 && !answer.too_long
            ? files::parse_lldpcli_json(document_in(answer.output), {"lldpcli on " + names[i], names[i]})
            : fail(ErrorKind::absent, "{}: lldpcli gave no table{}", names[i], last_words(answer.errors));
    if (!table) {
      refused.push_back(table.error().message);
      continue;
    }
    const bool heard = !table->cables.empty();
    auto chosen = discover::table_of_nics(std::move(*table), hosts[i]);
    if (!chosen.cables.empty())
      tables.lists.push_back(std::move(chosen));
    else if (heard)
      ++other_ports;
  }
  const auto note = [&](std::size_t count, std::string_view what) {
    if (count > 0) tables.notes.push_back(fmt::format("note: {} of {} hosts {}", count, hosts.size(), what));
  };
  note(silent,
       "gave no LLDP table, for they have no lldpcli or did not answer: with it switches and ports have "
       "their own names");
  note(other_ports,
       "hear switches by other ports than those that take part (of a bond, lldpd names the parts)");
  note(refused.size(), "gave no LLDP table" + (refused.empty() ? "" : "; the first: " + refused.front()));
  return tables;
}

int show_nics(const std::string& format) {
  if (format != "table" && format != "json")
    return report(Error{ErrorKind::usage, fmt::format("-o {}: NICs are shown as table or json", format)});
  files::NicList list{.host = "localhost"};
  char name[256] = {};
  if (gethostname(name, sizeof name - 1) == 0 && name[0] != '\0') list.host = outside_text(name);
  list.reached_by = reached_by();
  const auto inventory = host::read_host({});
  for (const auto& interface : host::interfaces_of_kernel()) {
    files::ListedNic nic{.interface = interface.name, .up = interface.up.value_or(true)};
    for (const std::string& text : interface.addresses)
      if (const auto address = IpAddress::parse(text)) nic.addresses.push_back(*address);
    if (inventory)
      for (const NicInventory& known : inventory->nics)
        if (known.interface == interface.name) {
          nic.rdma_device = known.rdma_device;
          nic.rate = known.rate;
        }
    if (!nic.addresses.empty()) list.nics.push_back(std::move(nic));
  }
  if (format == "json") {
    fmt::print("{}", nic_list_json(list, stamp_now()));
    return kExitHealthy;
  }
  for (const files::ListedNic& nic : list.nics)
    for (const IpAddress& address : nic.addresses)
      fmt::print("{:<16} {:<4} {:<12} {}\n", nic.interface, nic.up ? "up" : "down",
                 nic.rdma_device.value_or("-"), to_string(address));
  return kExitHealthy;
}

}  // namespace weft::cli
