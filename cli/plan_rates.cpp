// `weft plan rates`: a file of rates, of what was published or of what a watcher saw. `weft plan check`: what
// came, against what a plan forecast.
#include <array>
#include <chrono>

#include "balancer/reliability/learn.hpp"
#include "cli/exit_status.hpp"
#include "cli/options.hpp"
#include "cli/plan.hpp"
#include "cli/stamp.hpp"
#include "cli/terminal.hpp"
#include "collectors/store/watch_store.hpp"
#include "topology/base/text_table.hpp"
#include "topology/files/fabric_file.hpp"
#include "topology/files/file_text.hpp"
#include "topology/files/rates.hpp"
#include "topology/files/time_span.hpp"
#include "topology/os/clocks.hpp"

namespace weft::cli {
namespace {

constexpr const char* kExamples =
    "  weft plan rates --published > rates.json        # to be edited\n"
    "  weft plan rates --from watch.db --since 90d > own.json\n";
constexpr const char* kCheckExamples =
    "  weft plan fabric.yaml --job 96 -o json > plan.json\n"
    "  weft plan check plan.json --from watch.db\n";
constexpr Bytes kMaxPlanFile(100'000'000);
constexpr std::uint64_t kMaxIncidents = 1'000'000;  // about 2 GB of memory, and more than any site repairs

constexpr std::array<Command, 2> kWords{{
    {"rates", "how often what fails: published, or as a watcher saw it", plan_rates_command,
     plan_rates_options},
    {"check", "what came, held against what a plan forecast", plan_check_command, plan_check_options},
}};

Result<reliability::Seen> read_seen(const std::string& file, const Fabric& fabric, Nanoseconds from,
                                    Nanoseconds until) {
  WEFT_TRY(auto opened, store::open_to_read(file));
  if (opened.fabric != fabric.name())
    return fail(ErrorKind::usage, "{} is of the fabric {}, and the file of {}: their names must be the same",
                file, opened.fabric, fabric.name());
  WEFT_TRY(const auto count, store::count_incidents(opened.database, from, until));
  if (count > kMaxIncidents)
    return fail(ErrorKind::invalid_input,
                "{} has {} incidents of that time: expected {} at most; a shorter --since?", file, count,
                kMaxIncidents);
  reliability::Seen seen{.incidents = {}, .from = from, .until = until, .watched = {}};
  WEFT_TRY(seen.incidents,
           store::incidents(opened.database,
                            {.from = from, .until = until, .place = std::nullopt, .suspicions = false}));
  WEFT_TRY(const auto watched, store::watched_time(opened.database, std::chrono::floor<store::Seconds>(from),
                                                   std::chrono::ceil<store::Seconds>(until)));
  seen.watched = watched;
  return seen;
}

struct Place {
  std::string store;
  Fabric fabric;
};

Result<Place> read_place(const po::variables_map& values) {
  const auto file = text_option(values, "from"), fabric = text_option(values, "fabric");
  if (!file) return fail(ErrorKind::usage, "--from FILE is missing: the database of 'weft watch'");
  if (fabric) {
    WEFT_TRY(auto read, load_fabric_file(*fabric));
    return Place{*file, std::move(read.fabric)};
  }
  WEFT_TRY(auto opened, store::open_to_read(*file));
  WEFT_TRY(const auto kept, store::kept_fabric_file(opened.database));
  if (kept.empty())
    return fail(ErrorKind::usage,
                "{} keeps no fabric, for an older weft wrote it: --fabric FABRIC.yaml, what was watched",
                *file);
  WEFT_TRY(auto read, files::parse_fabric_file(kept, fmt::format("the fabric that is kept in {}", *file)));
  return Place{*file, std::move(read.fabric)};
}

void print_left_out(const reliability::Counted& counted) {
  if (counted.unknown + counted.ambiguous + counted.odd > 0)
    print_stderr(
        "weft: left out: {} incidents of names that the fabric does not have, {} of several places, {} that "
        "end "
        "before they begin\n",
        counted.unknown, counted.ambiguous, counted.odd);
}

Result<void> print_rates(const po::variables_map& values) {
  if (values.count("published") == values.count("from"))
    return fail(ErrorKind::usage,
                "which rates? --published prints those that were published, --from FILE what a watcher saw");
  WEFT_TRY(const auto since, read_option(values, "since", files::parse_span));
  if (values.count("published")) {
    if (!values["since"].defaulted() || values.count("fabric"))
      return fail(ErrorKind::usage,
                  "--since and --fabric go with --from FILE: what was published is of one time");
    fmt::print("{}", files::rates_text(files::published_rates(), stamp_now()));
    return {};
  }
  WEFT_TRY(const auto place, read_place(values));
  const Nanoseconds until = os::wall_now();
  const Nanoseconds from = since && *since < until ? until - *since : Nanoseconds();
  WEFT_TRY(const auto seen, read_seen(place.store, place.fabric, from, until));
  WEFT_TRY(const auto rates, reliability::learn_rates(place.fabric, seen));
  print_left_out(reliability::count_failures(place.fabric, seen));
  fmt::print("{}", files::rates_text(rates, stamp_now()));
  return {};
}

int print_check(const std::vector<reliability::CheckRow>& rows, const reliability::Seen& seen) {
  TextTable table({{"class"}, {"forecast", true}, {"95 %", true}, {"came", true}, {""}});
  std::size_t outside = 0;
  for (const auto& row : rows) {
    outside += row.inside ? 0 : 1;
    table.add({std::string(reliability::cause_name(row.cause)), fmt::format("{:.1f}", row.forecast.mean),
               fmt::format("{} to {}", row.forecast.low, row.forecast.high), std::to_string(row.came),
               row.inside ? "" : "outside"});
  }
  if (seen.watched <= Hours(0) || rows.empty()) {
    print_wrapped(rows.empty() ? "The plan forecasts nothing that a watcher sees: nothing can be said of it."
                               : "Nothing was watched since that plan was made: nothing can be said of it.");
    return kExitUnknown;
  }
  print_wrapped(
      "A watcher of the fabric does not see failures of GPUs, NICs and software: these are not checked.");
  print_wrapped(
      fmt::format("{} of {} classes came outside their 95 % interval, in {:.3g} days that were watched.",
                  outside, rows.size(), seen.watched.count() / 24));
  fmt::print("{}", table.text(terminal_columns(), 2));
  return outside == 0 ? kExitHealthy : kExitDegraded;
}

Result<int> check(const po::variables_map& values) {
  const auto file = text_option(values, "plan");
  if (!file) return fail(ErrorKind::usage, "which plan? as in: weft plan check plan.json --from watch.db");
  WEFT_TRY(const auto text, files::read_text_file(*file, kMaxPlanFile));
  WEFT_TRY(const auto plan, reliability::parse_kept_plan(text, *file));
  WEFT_TRY(const auto place, read_place(values));
  if (const auto of_it = reliability::check_is_of(plan, place.fabric); !of_it) return pass_on(of_it, *file);
  const Nanoseconds from = plan.made_at.time_since_epoch();
  const double most = static_cast<double>((Nanoseconds::max() - from).count());
  const double length = std::min(plan.length.count() * 3.6e12, most / 2);
  const Nanoseconds until = std::min(os::wall_now(), from + Nanoseconds(static_cast<std::int64_t>(length)));
  WEFT_TRY(const auto seen, read_seen(place.store, place.fabric, from, std::max(from, until)));
  print_left_out(reliability::count_failures(place.fabric, seen));
  return print_check(reliability::check_plan(plan, place.fabric, seen), seen);
}

void add_place_options(po::options_description& options) {
  options.add_options()("from", po::value<std::string>()->value_name("FILE"),
                        "the database of a watcher: watch.db in its --state folder")(
      "fabric", po::value<std::string>()->value_name("FABRIC.yaml"),
      "the fabric that it watched (default: as the database keeps it)");
}

}  // namespace

const WordGroup& plan_words() {
  static const WordGroup words{"plan", "how many failures, spares and sweeps", kWords, kExamples};
  return words;
}

OptionParser plan_rates_options() {
  OptionParser parser(
      "weft plan rates (--published | --from FILE [--since 90d] [--fabric FABRIC.yaml])",
      "Writes a file of rates (weft.rates/1) for weft plan: events of each class of parts and "
      "the exposure that they were seen in, repair times, and what a failure does. Of a watcher's "
      "incidents only time in which it watched counts. What nobody measured is listed under "
      "guesses.\n"
      "To make it a site's own, change origin (the site's name), is_own (true) and the classes: events among "
      "parts, each watched for a time; stops, slows and silent are the shares of the failures that stop the "
      "job, slow it until somebody finds them (--find-slow), or slow it until a sweep or an agent does; they "
      "add up to 1, and slow_to is the rate that is left. A class with the published numbers still counts as "
      "published.",
      kExamples);
  parser.options().add_options()("published", "of Llama 3's training, with sources");
  add_place_options(parser.options());
  parser.options().add_options()("since", po::value<std::string>()->value_name("TIME")->default_value("90d"),
                                 "how far back");
  return parser;
}

int plan_rates_command(const Arguments& arguments) {
  return run_command(plan_rates_options(), arguments, print_rates);
}

OptionParser plan_check_options() {
  OptionParser parser(
      "weft plan check PLAN.json --from FILE [--fabric FABRIC.yaml]",
      "Holds what a watcher saw since a plan was made (weft plan -o json) against its forecast, by "
      "class. The exit status is 0 where every class is within its 95 % interval, 1 where one is "
      "not, 3 where nothing was watched.",
      kCheckExamples);
  parser.options().add_options()("plan", po::value<std::string>()->value_name("PLAN.json"), "the plan");
  add_place_options(parser.options());
  parser.positional("plan", 1);
  return parser;
}

int plan_check_command(const Arguments& arguments) {
  return run_command(plan_check_options(), arguments, check);
}

}  // namespace weft::cli
