#include "cli/counters.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "cli/counter_source.hpp"
#include "cli/exit_status.hpp"
#include "cli/options.hpp"
#include "cli/stamp.hpp"
#include "collectors/counters/counter_json.hpp"

namespace weft::cli {
namespace {

constexpr std::size_t kColumns = 80;
constexpr int kMinDaysBack = 1, kUsualDaysBack = 7, kMaxDaysBack = 60;
constexpr std::array<Command, 4> kWords{{
    {"check", "which ports have which counters, and what belongs to no port", counters_check_command,
     counters_check_options},
    {"degrading", "ports whose corrected errors rise towards loss", counters_degrading_command,
     counters_degrading_options},
    {"nic", "what the NICs of this host count, and the modules in them", counters_nic_command,
     counters_nic_options},
    {"pauses", "who began the pause frames of a fabric", counters_pauses_command, counters_pauses_options},
}};
constexpr const char* kExamples =
    "  weft counters check --fabric cluster.yaml --prometheus http://prometheus:9090\n"
    "  weft counters check --fabric cluster.yaml --counters counters.jsonl\n"
    "  weft counters degrading --fabric cluster.yaml --counters counters.jsonl\n"
    "  weft counters nic -o json >> counters.jsonl\n"
    "  weft counters pauses --fabric cluster.yaml --counters counters.jsonl\n";

/// A fabric and where its counters are read.
struct Site {
  files::FabricFile file;
  CounterSource source;
};

Result<Site> site_of(const po::variables_map& values) {
  const auto file = text_option(values, "fabric");
  if (!file) return fail(ErrorKind::usage, "--fabric FABRIC.yaml is missing");
  WEFT_TRY(auto fabric, load_fabric_file(*file));
  WEFT_TRY(auto source, CounterSource::open(values, fabric.counters));
  if (!source.is_there())
    return fail(ErrorKind::usage,
                "no counters are named: --counters FILE, --prometheus URL, or counters: in the fabric file");
  return Site{std::move(fabric), std::move(source)};
}

Result<int> check(const po::variables_map& values) {
  WEFT_TRY(const auto json, wants_json(values));
  WEFT_TRY(const auto site, site_of(values));
  const Fabric& fabric = site.file.fabric;
  counters::CounterTable table;
  WEFT_TRY_VOID(site.source.read(fabric, table));
  const auto found = counters::check_counters(fabric, table);
  fmt::print("{}", json ? counters::check_json(fabric, table, found, stamp_now()) + "\n"
                        : counters::check_text(fabric, table, found, kColumns));
  return counters::all_is_well(table, found) ? kExitHealthy : kExitDegraded;
}

Result<int> degrading(const po::variables_map& values) {
  WEFT_TRY(const auto json, wants_json(values));
  const int days = values["days"].as<int>();
  if (days < kMinDaysBack || days > kMaxDaysBack)
    return fail(ErrorKind::usage, "--days: expected {} to {}, found {}", kMinDaysBack, kMaxDaysBack, days);
  const auto limit = counters::error_limit(values["limit"].as<std::string>());
  if (!limit) return pass_on(limit, "--limit");
  WEFT_TRY(const auto site, site_of(values));
  const Fabric& fabric = site.file.fabric;
  counters::CounterTable table;
  WEFT_TRY_VOID(site.source.read_corrected(fabric, std::chrono::hours(24 * days), table));
  const auto found = counters::port_trends(fabric, table);
  if (found.told == 0 && found.losses.empty())
    return fail(
        ErrorKind::absent,
        "no port tells of corrected errors (fec_corrected, fec_bits) over a day: is there more of the past?");
  fmt::print("{}", json ? counters::trends_json(fabric, table, found, stamp_now(), *limit) + "\n"
                        : counters::trends_text(fabric, table, found, kColumns, *limit));
  const bool is_degrading = !found.trends.empty() && found.trends.front().trend.degrading;
  return is_degrading || !found.losses.empty() ? kExitDegraded : kExitHealthy;
}

Result<int> pauses(const po::variables_map& values) {
  WEFT_TRY(const auto json, wants_json(values));
  WEFT_TRY(const auto site, site_of(values));
  const Fabric& fabric = site.file.fabric;
  counters::CounterTable table;
  WEFT_TRY_VOID(site.source.read(fabric, table));
  const auto found = counters::port_pauses(fabric, table);
  if (found.by_priority.empty())
    return fail(ErrorKind::absent,
                "no port tells of pause frames (pause_in, pause_out) in two readings of an hour");
  fmt::print("{}", json ? counters::pauses_json(fabric, found, stamp_now()) + "\n"
                        : counters::pauses_text(fabric, found, kColumns));
  const bool are_some = std::ranges::any_of(found.by_priority, [&](const auto& of_priority) {
    return !counters::pause_origins(fabric, of_priority.second).empty();
  });
  return are_some ? kExitDegraded : kExitHealthy;
}

}  // namespace

const WordGroup& counters_words() {
  static const WordGroup kGroup{.name = "counters",
                                .summary = "counters of the ports of a fabric",
                                .words = kWords,
                                .examples = kExamples};
  return kGroup;
}

int counters_command(const Arguments& arguments) { return run_word(counters_words(), arguments); }

OptionParser counters_check_options() {
  OptionParser parser(
      "weft counters check --fabric FABRIC.yaml [--counters FILE | --prometheus URL] [-o json]",
      "Reads the counters of a fabric's ports once, and says which ports have which, which series belong to "
      "no "
      "port or two to one, and what cannot be. Exit status 1: something of that is not as it should be.",
      kExamples);
  parser.options().add_options()("fabric", po::value<std::string>()->value_name("FILE"),
                                 "the fabric file; its `counters` say where to read");
  add_counter_options(parser.options());
  add_output_option(parser.options());
  return parser;
}

int counters_check_command(const Arguments& arguments) {
  return run_command(counters_check_options(), arguments, check);
}

OptionParser counters_degrading_options() {
  OptionParser parser(
      "weft counters degrading --fabric FABRIC.yaml [--counters FILE | --prometheus URL] [-o json]",
      "Names ports whose corrected errors rise from day to day, with the days until frames are lost. A daily "
      "cycle, a step and another level than that of other ports are none. Ports that lose codewords already "
      "are named beside them. Exit status 1: there are some of either.",
      kExamples);
  parser.options().add_options()("fabric", po::value<std::string>()->value_name("FILE"),
                                 "the fabric file; its `counters` say where to read")(
      "days", po::value<int>()->default_value(kUsualDaysBack)->value_name("N"),
      "how far back a Prometheus is asked: 1 to 60")(
      "limit", po::value<std::string>()->default_value("ieee_rs544")->value_name("NAME|RATE"),
      "a bit error rate before correction that the vendor of a module or switch still calls good: ports "
      "above it are listed, and are no warning by that: ieee_rs544 (2.4e-4), or a rate");
  add_counter_options(parser.options());
  add_output_option(parser.options());
  return parser;
}

int counters_degrading_command(const Arguments& arguments) {
  return run_command(counters_degrading_options(), arguments, degrading);
}

OptionParser counters_pauses_options() {
  OptionParser parser(
      "weft counters pauses --fabric FABRIC.yaml [--counters FILE | --prometheus URL] [-o json]",
      "Follows pause frames of the last hour of the readings hop by hop, from ports that stood to who began: "
      "a host that does not take what comes, a port of a switch, or switches that stop each other in a ring. "
      "Exit status 1: there are some.",
      kExamples);
  parser.options().add_options()("fabric", po::value<std::string>()->value_name("FILE"),
                                 "the fabric file; its `counters` say where to read");
  add_counter_options(parser.options());
  add_output_option(parser.options());
  return parser;
}

int counters_pauses_command(const Arguments& arguments) {
  return run_command(counters_pauses_options(), arguments, pauses);
}

}  // namespace weft::cli
