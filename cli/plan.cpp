#include "cli/plan.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <map>

#include "balancer/reliability/plan.hpp"
#include "cli/exit_status.hpp"
#include "cli/options.hpp"
#include "cli/output_files.hpp"
#include "cli/progress.hpp"
#include "cli/stamp.hpp"
#include "cli/terminal.hpp"
#include "topology/base/text.hpp"
#include "topology/base/whole_number.hpp"
#include "topology/files/file_text.hpp"
#include "topology/files/time_span.hpp"

namespace weft::cli {
namespace {

using reliability::Index;

constexpr const char* kExamples =
    "  weft plan fabric.yaml --job 96                  # with published rates\n"
    "  weft plan fabric.yaml --rates rates.json --job 96 --days 90 -o json\n"
    "  weft plan fabric.yaml --job 16384 --scale 24576 --what-if detect=5s \\\n"
    "      --what-if spares=16\n";

constexpr Index kUsualGpus = 8;  // of a host, where its NICs do not tell
constexpr double kMinDays = 1.0 / 24, kMaxDays = 3650;

Result<double> days_of(std::string_view text) {
  if (text.ends_with('d')) text.remove_suffix(1);  // as other times are written
  double days = 0;
  const auto [end, bad] = std::from_chars(text.data(), text.data() + text.size(), days);
  if (bad != std::errc() || end != text.data() + text.size() || !(days >= kMinDays && days <= kMaxDays))
    return fail(ErrorKind::usage, "'{}': expected a number of days, an hour (0.042) at least and {} at most",
                text, kMaxDays);
  return days;
}

Result<std::uint64_t> count_of(std::string_view text) {
  const auto count = parse_whole_number<std::uint64_t>(text);
  if (!count || *count == 0) return fail(ErrorKind::usage, "'{}': expected a whole number above 0", text);
  return *count;
}

Result<Index> index_of(std::string_view text) {
  const auto count = parse_whole_number<Index>(text);
  if (!count) return fail(ErrorKind::usage, "'{}': expected a whole number", text);
  return *count;
}

std::string span_text(Hours time) {
  if (time >= Hours(24)) return fmt::format("{:.3g} d", time.count() / 24);
  return time >= Hours(1) ? fmt::format("{:.3g} h", time.count())
                          : fmt::format("{:.3g} s", time.count() * 3600);
}

Result<Nanoseconds> time_or_none(std::string_view text) {
  if (text == "0s") return Nanoseconds();
  return files::parse_span(text);
}

/// A time of the job. Where nobody gave it, its usual value is a guess and called one.
Result<void> read_time(const po::variables_map& values, const char* name, Hours& place,
                       std::vector<std::string>& guesses) {
  WEFT_TRY(const auto span, read_option(values, name, time_or_none));
  if (span) place = Hours(*span);
  if (!span) guesses.push_back(fmt::format("--{} {}", name, span_text(place)));
  return {};
}

Result<Index> gpus_per_host(const po::variables_map& values, const Fabric& fabric,
                            std::vector<std::string>& guesses) {
  WEFT_TRY(const auto given, read_option(values, "gpus-per-host", count_of));
  constexpr std::uint64_t kMaxPerHost = 1024;
  if (given && *given > kMaxPerHost)
    return fail(ErrorKind::usage, "--gpus-per-host {}: expected {} at most", *given, kMaxPerHost);
  if (given) return static_cast<Index>(*given);
  std::size_t nics = 0;
  std::map<std::size_t, std::size_t> hosts_with;  // by number of NICs
  std::vector<std::size_t> nics_of(fabric.node_count(), 0);
  for (const PortId nic : fabric.nics()) ++nics_of[fabric.port(nic).node.value()];
  for (const NodeId host : fabric.hosts()) ++hosts_with[nics_of[host.value()]];
  if (!hosts_with.empty())
    nics = std::ranges::max_element(hosts_with, {}, [](const auto& each) { return each.second; })->first;
  if (nics > 1) {
    guesses.push_back(fmt::format("--gpus-per-host {}, as many as NICs", nics));
    return static_cast<Index>(nics);
  }
  guesses.push_back(fmt::format("--gpus-per-host {}", kUsualGpus));
  return kUsualGpus;
}

Result<void> read_job(const po::variables_map& values, reliability::PlanRequest& request) {
  auto& job = request.job;
  auto& guesses = request.guesses;
  WEFT_TRY_VOID(read_time(values, "detect", job.detect, guesses));
  WEFT_TRY_VOID(read_time(values, "restart", job.restart, guesses));
  WEFT_TRY_VOID(read_time(values, "checkpoint-cost", job.checkpoint_cost, guesses));
  WEFT_TRY_VOID(read_time(values, "spare-start", job.spare_start, guesses));
  WEFT_TRY_VOID(read_time(values, "find-slow", job.find_slow, guesses));
  WEFT_TRY_VOID(read_time(values, "sweep-cost", job.sweeps.cost, guesses));
  WEFT_TRY_VOID(read_time(values, "agent-delay", job.sweeps.delay, guesses));
  WEFT_TRY_VOID(read_time(values, "lead-time", request.lead_time, guesses));
  WEFT_TRY(const auto every, read_option(values, "checkpoint", files::parse_span));
  request.best_interval = !every;
  if (every) job.checkpoint_every = Hours(*every);
  WEFT_TRY(const auto network, read_option(values, "network-share", parse_percent));
  if (network && network->value() <= 0.01 && !text_option(values, "network-share")->ends_with('%'))
    return fail(ErrorKind::usage, "--network-share {0}: is that {0} percent? then write {0}%",
                *text_option(values, "network-share"));
  if (network) job.network_share = network->value();
  if (!network) guesses.push_back(fmt::format("--network-share {}%", job.network_share * 100));
  WEFT_TRY(request.spares, read_option(values, "spares", index_of));
  WEFT_TRY(const auto crews, read_option(values, "crews", index_of));
  if (crews == Index{0}) return fail(ErrorKind::usage, "--crews 0: expected a whole number above 0");
  job.crews = crews.value_or(0);
  if (!crews) request.guesses.emplace_back("--crews as many as are needed");
  if (const auto sweep = text_option(values, "sweep")) {
    const auto sweeps = reliability::parse_sweeps(*sweep, job.sweeps);
    if (!sweeps) return pass_on(sweeps, "--sweep");
    job.sweeps = *sweeps;
  }
  if (const auto planned = text_option(values, "planned-work")) {
    const auto work = reliability::parse_planned_work(*planned);
    if (!work) return pass_on(work, "--planned-work");
    job.planned = *work;
  }
  if (const auto shortage = text_option(values, "shortage")) {
    if (*shortage != "wait" && *shortage != "shrink")
      return fail(ErrorKind::usage, "--shortage {}: expected wait or shrink", *shortage);
    job.shortage = *shortage == "wait" ? reliability::Shortage::wait : reliability::Shortage::shrink;
  }
  WEFT_TRY(const auto group, read_option(values, "group", index_of));
  job.group = group.value_or(1);
  job.without_rail = values.count("without-rail") != 0;
  job.dual_leaf = values.count("dual-leaf") != 0;
  if (values.count("what-if")) request.what_ifs = values["what-if"].as<std::vector<std::string>>();
  return {};
}

struct Asked {
  reliability::Plant plant;
  files::Rates rates;
  reliability::PlanRequest request;
};

Result<Asked> read_request(const po::variables_map& values) {
  const auto path = text_option(values, "fabric");
  if (!path) return fail(ErrorKind::usage, "which fabric? as in: weft plan fabric.yaml --job 96");
  WEFT_TRY(const auto file, load_fabric_file(*path));
  WEFT_TRY(const auto gpus, read_option(values, "job", count_of));
  if (!gpus) return fail(ErrorKind::usage, "--job GPUS is missing: how many GPUs the job has");
  WEFT_TRY(auto rates, rates_option(values));
  Asked asked{.plant = {}, .rates = rates ? std::move(*rates) : files::published_rates(), .request = {}};
  WEFT_TRY(const Index per_host, gpus_per_host(values, file.fabric, asked.request.guesses));
  asked.plant = reliability::make_plant(file.fabric, file.domains, per_host);
  WEFT_TRY(const auto scale, read_option(values, "scale", count_of));
  if (scale) {
    auto large = reliability::enlarged(asked.plant, *scale);
    if (!large) return pass_on(large, "--scale");
    asked.plant = std::move(*large);
  }
  const std::uint64_t hosts = *gpus / per_host + (*gpus % per_host != 0 ? 1 : 0);
  if (hosts > asked.plant.hosts)
    return fail(ErrorKind::usage,
                "a job of {} needs {} of {}, and {} has {}: a smaller --job, or --scale {} for a larger "
                "fabric of its "
                "form",
                reliability::counted(*gpus, "GPU"), reliability::counted(hosts, "host"),
                reliability::counted(per_host, "GPU"), asked.plant.name, asked.plant.hosts, *gpus);
  if (hosts * per_host != *gpus)
    print_stderr("note: --job {}: hosts have {} GPUs, so that it is one of {}\n", *gpus, per_host,
                 hosts * per_host);
  asked.request.job.hosts = static_cast<Index>(hosts);
  WEFT_TRY(const auto days, read_option(values, "days", days_of));
  asked.request.length = Hours(*days * 24);
  WEFT_TRY(const auto histories, read_option(values, "histories", count_of));
  asked.request.histories = *histories;
  WEFT_TRY(const auto seed, read_option(values, "seed", count_of));
  asked.request.seed = *seed;
  WEFT_TRY_VOID(read_job(values, asked.request));
  return asked;
}

void add_job_options(OptionParser& parser) {
  parser.options(Group::how)
      .add_options()("detect", po::value<std::string>()->value_name("TIME"),
                     "until a failure is noticed (default: 1m, a guess)")(
          "restart", po::value<std::string>()->value_name("TIME"),
          "from then until the job works again (default: 2m, a guess)")(
          "checkpoint", po::value<std::string>()->value_name("TIME"),
          "work between checkpoints (default: the best, by Daly's formula)")(
          "checkpoint-cost", po::value<std::string>()->value_name("TIME"),
          "the job stands still for so long at each (default: 30s, a guess)")(
          "network-share", po::value<std::string>()->value_name("PERCENT"),
          "of a step, in which it waits for the network (default: 20%, a guess)")(
          "spares", po::value<std::string>()->value_name("N"),
          "hosts that stay idle, in all (default: as few as .999 of restarts at full size need)")(
          "spare-start", po::value<std::string>()->value_name("TIME"),
          "more, for a restart with a cold spare (default: 0s, warm spares, a guess)")(
          "shortage", po::value<std::string>()->value_name("wait|shrink"),
          "without enough hosts: wait for a repair (usual), or go on with fewer groups")(
          "group", po::value<std::string>()->value_name("N"), "hosts of a data-parallel group, for shrink")(
          "planned-work", po::value<std::string>()->value_name("EVERY,LENGTH,HOSTS"),
          "as 30d,4h,16: every 30 days the next 16 hosts are out for 4 h (default: none)")(
          "crews", po::value<std::string>()->value_name("N"),
          "repairs at the same time (default: all, a guess)")(
          "sweep", po::value<std::string>()->value_name("never|restart|agents|TIME"),
          "when what is silent is looked for while the job runs (default: never)")(
          "sweep-cost", po::value<std::string>()->value_name("TIME"),
          "the job stands still for so long at each sweep (default: 2m, a guess)")(
          "agent-delay", po::value<std::string>()->value_name("TIME"),
          "until standing agents name what is silent (default: 15s, a guess)")(
          "find-slow", po::value<std::string>()->value_name("TIME"),
          "until what slows the job is found without a sweep (default: 1h, a guess)")(
          "lead-time", po::value<std::string>()->value_name("TIME"),
          "until ordered parts come, for the shelf (default: 14d, a guess)")(
          "without-rail", "a host goes on with a NIC less")("dual-leaf", "each NIC is at two leaves");
}

}  // namespace

Result<std::optional<files::Rates>> rates_option(const po::variables_map& values) {
  const auto file = text_option(values, "rates");
  if (!file) return std::optional<files::Rates>();
  const auto text = files::read_text_file(*file, files::kMaxRatesFile);
  if (!text) return pass_on(text, "--rates");
  WEFT_TRY(auto rates, files::parse_rates(*text, *file));
  return std::optional(std::move(rates));
}

OptionParser plan_options() {
  OptionParser parser(
      "weft plan FABRIC.yaml --job GPUS [--rates FILE] [--days 54] [options]",
      "How often a job will be interrupted, how much of its time moves it on, how many hosts must stay idle "
      "as spares and where, how often to sweep, and what is worth improving first. Failures are drawn over "
      "this fabric: switches, cables and the domains of its file take away the hosts that hang on them. "
      "Without --rates those that were published are used, which are not this site's. What nobody measured "
      "is "
      "called a guess. weft plan rates writes a file of rates.\n"
      "How many spares: the first line says how many give .999 of restarts at full size; the table has more "
      "and fewer. Where: below that table, in each leaf group, pod and rail. How often to sweep: the line "
      "that "
      "begins so. What to improve: the table '10 % less of', the best first.\n"
      "Failures that come together (a power feed, a firmware) are domains of the fabric file, as\n"
      "  domains: [{name: feed1, kind: power, members: ['host[1-32]'], events: 1,\n"
      "             exposure: 365d, share: 100%, repair: 4h}]\n"
      "(share: of the members that each event hits).",
      kExamples);
  parser.options().add_options()("fabric", po::value<std::string>()->value_name("FABRIC.yaml"), "the fabric")(
      "job", po::value<std::string>()->value_name("GPUS"), "GPUs of the job")(
      "gpus-per-host", po::value<std::string>()->value_name("N"),
      "GPUs of a host (default: as many as its NICs, 8 where it has one; a guess)")(
      "rates", po::value<std::string>()->value_name("FILE"),
      "what fails how often (weft.rates/1; default: published)")(
      "days", po::value<std::string>()->value_name("N")->default_value("54"), "for how long")(
      "scale", po::value<std::string>()->value_name("GPUS"),
      "as if the fabric had so many GPUs, more of the same form; --job stays as it is");
  add_job_options(parser);
  parser.options(Group::how_much)
      .add_options()("what-if", po::value<std::vector<std::string>>()->composing()->value_name("CHANGE"),
                     fmt::format("and what that would change, with the same failures (may be repeated): {}",
                                 reliability::what_if_keys())
                         .c_str())(
          "histories", po::value<std::string>()->value_name("N")->default_value("300"), "how many are drawn")(
          "seed", po::value<std::string>()->value_name("N")->default_value("1"), "of what is drawn");
  parser.positional("fabric", 1);
  add_output_option(parser.options(Group::output));
  add_progress_option(parser.options(Group::output));
  parser.options(Group::output)
      .add_options()("html", po::value<std::string>()->value_name("FILE"),
                     "and a page with charts into this file, which opens offline");
  return parser;
}

int plan_command(const Arguments& arguments) {
  std::vector<std::string_view> words;
  for (const Command& word : plan_words().words) words.push_back(word.name);
  if (!arguments.empty()) {
    if (std::ranges::find(words, arguments[0]) != words.end()) return run_word(plan_words(), arguments);
    // A word that is mistyped reads as the name of a file that is not there.
    if (closest(arguments[0], words) && !std::filesystem::exists(arguments[0]))
      return report(fail(ErrorKind::usage, "weft plan {}: no such file{}", arguments[0],
                         did_you_mean(arguments[0], words))
                        .value());
  }
  return run_command(plan_options(), arguments, [](const po::variables_map& values) -> Result<void> {
    constexpr std::array kFiles{"html"};
    constexpr std::array kRead{"fabric", "rates"};
    WEFT_TRY_VOID(check_output_files(values, kFiles, kRead));
    WEFT_TRY(const bool json, wants_json(values));
    WEFT_TRY(const auto style, read_progress_style(values));
    WEFT_TRY(const auto asked, read_request(values));
    ProgressLine progress(style);
    const auto tell = [&](std::string_view doing, std::size_t done, std::size_t total) {
      progress.show({.doing = doing, .done = done, .total = total});
    };
    WEFT_TRY(const auto plan, reliability::make_plan(asked.plant, asked.rates, asked.request, tell));
    progress.clear();
    if (const auto page = text_option(values, "html"))
      WEFT_TRY_VOID(files::write_text_file(*page, reliability::plan_html(plan)));
    fmt::print("{}", json ? reliability::plan_json(plan, stamp_now())
                          : reliability::plan_table(plan, terminal_columns()));
    return {};
  });
}

}  // namespace weft::cli
