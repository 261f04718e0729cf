#include "cli/counters.hpp"

#include <fmt/format.h>

#include <array>

#include "cli/counter_source.hpp"
#include "cli/exit_status.hpp"
#include "cli/options.hpp"
#include "collectors/counters/counter_check.hpp"

namespace weft::cli {
namespace {

constexpr std::size_t kColumns = 80;
constexpr std::array<Command, 1> kWords{{
    {"check", "which ports have which counters, and what belongs to no port", counters_check_command,
     counters_check_options},
}};
constexpr const char* kExamples =
    "  weft counters check --fabric cluster.yaml --prometheus http://prometheus:9090\n"
    "  weft counters check --fabric cluster.yaml --counters counters.jsonl\n";

Result<int> check(const po::variables_map& values) {
  const auto file = text_option(values, "fabric");
  if (!file) return fail(ErrorKind::usage, "--fabric FABRIC.yaml is missing");
  WEFT_TRY(const auto fabric, load_fabric_file(*file));
  WEFT_TRY(const auto source, CounterSource::open(values, fabric.counters));
  if (!source.is_there())
    return fail(ErrorKind::usage,
                "no counters are named: --counters FILE, --prometheus URL, or counters: in the fabric file");
  counters::CounterTable table;
  WEFT_TRY_VOID(source.read(fabric.fabric, table));
  const auto found = counters::check_counters(fabric.fabric, table);
  fmt::print("{}", counters::check_text(fabric.fabric, table, found, kColumns));
  return counters::all_is_well(table, found) ? kExitHealthy : kExitDegraded;
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
      "weft counters check --fabric FABRIC.yaml [--counters FILE | --prometheus URL]",
      "Reads the counters of a fabric's ports once, and says which ports have which, which series belong to "
      "no "
      "port or two to one, and what cannot be. Exit status 1: something of that is not as it should be.",
      kExamples);
  parser.options().add_options()("fabric", po::value<std::string>()->value_name("FILE"),
                                 "the fabric file; its `counters` say where to read");
  add_counter_options(parser.options());
  return parser;
}

int counters_check_command(const Arguments& arguments) {
  const auto parser = counters_check_options();
  const auto values = parser.parse(arguments);
  if (!values) return report(values.error());
  if (OptionParser::help_was_asked(*values)) return kExitHealthy;
  const auto status = check(*values);
  return status ? *status : report(status.error());
}

}  // namespace weft::cli
