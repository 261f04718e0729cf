#include "cli/compare_answer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>
#include <set>

#include "cli/compare_blocks.hpp"
#include "cli/exit_status.hpp"
#include "cli/interrupt.hpp"
#include "cli/output_files.hpp"
#include "cli/progress.hpp"
#include "collectors/compare/layers.hpp"
#include "probes/run/agents.hpp"
#include "topology/os/scratch_directory.hpp"

namespace weft::cli {
namespace {

constexpr const char* kExamples =
    "  weft compare run roce.yaml ib.yaml                # until all is decided\n"
    "  weft compare run --lab=a --lab=b --blocks 6 --html report.html\n"
    "  weft compare run fabric.yaml --variant qps=1 --variant qps=4 --each engine=verbs,load=full\n"
    "  weft compare run --simulate a.yaml b.yaml -o json\n"
    "  weft compare run --run 'mpirun all_reduce_perf -b 1M -e 1G -f 2' \\\n"
    "      --env A:NCCL_IB_HCA=mlx5_0 --env B:NCCL_IB_HCA=mlx5_1\n";

constexpr std::int64_t kMaxBlocks = 1000;
constexpr std::size_t kMaxLeftOut = 3;  // blocks: what goes on failing is no comparison
/// What a run does, unless --each or --variant say otherwise: all pairs load the fabric, as a job does. A
/// live fabric is loaded only where one of these says how much.
constexpr const char *kUsualBudget = "budget=2s", *kUsualPattern = "pattern=all-pairs",
                     *kUsualLoad = "load=full";
constexpr const char* kUsualOfLive = "load-time=200ms";  // a simulated round takes no time

using Clock = std::chrono::steady_clock;
using Texts = std::vector<std::string>;

Texts texts_of(const po::variables_map& values, const char* name) {
  return values.count(name) ? values[name].as<Texts>() : Texts();
}

/// Set by the comparison itself.
bool is_ours(std::string_view name) {
  constexpr std::array kOurs{"fabric",   "lab",  "save",   "observations", "seed",
                             "progress", "help", "output", "paths",        "dry-run"};
  return std::ranges::find(kOurs, name) != kOurs.end();
}

/// 'qps=4,message=64KiB': options of a sweep. What stands behind a comma and begins with no name of one goes
/// on with the one before: 'fault=leaf1--spine2:loss=1%,from=leaf1'.
Result<Texts> read_settings(std::string_view option, std::string_view text,
                            const std::set<std::string>& known) {
  Texts items;
  for (std::string_view rest = text; !rest.empty();) {
    const auto comma = std::min(rest.find(','), rest.size());
    const std::string item(rest.substr(0, comma));
    rest.remove_prefix(std::min(comma + 1, rest.size()));
    const std::string name = item.substr(0, item.find('='));
    if (known.contains(name))
      items.push_back(item);
    else if (items.empty())
      return fail(ErrorKind::usage, "--{} {}: '{}' is no option of a sweep, as in qps=4 or budget=5s", option,
                  text, name);
    else
      items.back() += "," + item;
    if (is_ours(name))
      return fail(ErrorKind::usage, "--{} {}: '{}' is set by the comparison itself", option, text, name);
  }
  if (items.empty()) return fail(ErrorKind::usage, "--{}: expected settings, as in qps=4", option);
  return items;
}

/// Later settings of a name replace earlier ones.
class SweepSettings {
 public:
  void add(const Texts& items, const std::set<std::string>& known) {
    for (const std::string& item : items) {
      const std::string name = item.substr(0, item.find('='));
      if (!known.contains(name)) continue;  // a usual one that this command lacks
      if (name != "fault" && name != "stall")
        std::erase_if(
            items_, [&](const std::string& other) { return other == name || other.starts_with(name + "="); });
      items_.push_back(item);
    }
  }
  std::optional<std::string> value(std::string_view name) const {
    for (const std::string& item : items_)
      if (item.starts_with(name) && item.substr(name.size()).starts_with('='))
        return item.substr(name.size() + 1);
    return std::nullopt;
  }
  Texts words() const {
    Texts words;
    for (const std::string& item : items_) words.push_back("--" + item);
    return words;
  }

 private:
  Texts items_;
};

std::set<std::string> names_of(const OptionParser& parser) {
  std::set<std::string> names;
  for (const OptionText& option : parser.texts()) names.insert(option.name);
  return names;
}

/// What is swept: words of the command, and how the side is called.
struct Target {
  Texts words;
  std::string name;
  bool is_live_fabric = false;
};

Result<std::vector<Target>> targets_of(const po::variables_map& values) {
  std::vector<Target> targets;
  const bool simulated = values.count("simulate") != 0;
  for (const std::string& lab : texts_of(values, "lab"))
    targets.push_back({{"sweep", "--lab=" + lab}, "lab " + lab});
  if (simulated && !targets.empty())
    return fail(ErrorKind::usage, "--simulate is for fabric files: a lab is no simulation");
  for (const std::string& file : texts_of(values, "fabric"))
    targets.push_back({{simulated ? "simulate" : "sweep", "--fabric=" + file}, file, !simulated});
  const auto variants = texts_of(values, "variant");
  if (!variants.empty() && variants.size() != 2)
    return fail(ErrorKind::usage, "--variant stands {} times: expected twice, for A and for B",
                variants.size());
  if (targets.size() == 1 && variants.size() == 2) targets.push_back(targets.front());
  if (targets.size() != 2)
    return fail(
        ErrorKind::usage,
        "{} to compare: expected two (A.yaml B.yaml, or --lab=a --lab=b), or one with --variant twice",
        targets.size());
  return targets;
}

Result<ComparedSide> side_of(const po::variables_map& values, const Target& target, std::size_t which) {
  const bool simulated = target.words.front() == "simulate";
  const auto known = names_of(simulated ? simulate_options() : sweep_options());
  SweepSettings settings;
  settings.add(target.is_live_fabric ? Texts{kUsualBudget} : Texts{kUsualBudget, kUsualPattern, kUsualLoad},
               known);
  settings.add({kUsualOfLive}, known);
  ComparedSide side{.name = target.name, .argv = {}, .env = {}};
  if (const auto each = text_option(values, "each")) {
    WEFT_TRY(const auto items, read_settings("each", *each, known));
    settings.add(items, known);
  }
  if (const auto variants = texts_of(values, "variant"); !variants.empty()) {
    WEFT_TRY(const auto items, read_settings("variant", variants[which], known));
    settings.add(items, known);
    side.name += ", " + variants[which];
  }
  if (const auto load = settings.value("load"); load && *load != "none" && !settings.value("pattern"))
    settings.add({kUsualPattern}, known);
  side.load = settings.value("load").value_or(target.is_live_fabric ? "none" : "full");
  WEFT_TRY(const auto program, run::own_program());
  side.argv = {program};
  side.argv.insert(side.argv.end(), target.words.begin(), target.words.end());
  const auto words = settings.words();
  side.argv.insert(side.argv.end(), words.begin(), words.end());
  return side;
}

/// 'A:NAME=VALUE'.
Result<void> add_environment(const po::variables_map& values, BlockPlan& plan) {
  for (const std::string& text : texts_of(values, "env")) {
    const bool is_a = text.starts_with("A:");
    const auto equals = text.find('=');
    if ((!is_a && !text.starts_with("B:")) || equals == std::string::npos || equals == 2)
      return fail(ErrorKind::usage, "--env {}: expected a side and a variable, as in A:NCCL_IB_HCA=mlx5_0",
                  text);
    (is_a ? plan.a : plan.b).env.push_back(text.substr(2));
  }
  return {};
}

/// {side} in the user's command is a or b.
ComparedSide benchmark_side(std::string command, const char* side) {
  constexpr std::string_view kPlace = "{side}";
  for (auto at = command.find(kPlace); at != std::string::npos; at = command.find(kPlace, at + 1))
    command.replace(at, kPlace.size(), side);
  return {.name = fmt::format("'{}'", command), .argv = {"/bin/sh", "-c", command}, .env = {}};
}

Result<BlockPlan> read_plan(const po::variables_map& values) {
  BlockPlan plan;
  plan.run_limit = std::chrono::minutes(10);
  WEFT_TRY(const auto limit, read_option(values, "run-limit", parse_duration));
  if (limit) plan.run_limit = *limit;
  plan.only = text_option(values, "only").value_or("");
  if (const auto command = text_option(values, "run")) {
    for (const char* name : {"lab", "fabric", "variant", "each", "simulate"})
      if (values.count(name))
        return fail(ErrorKind::usage, "--run runs a benchmark of yours: --{} is for weft's own sweeps", name);
    plan.is_benchmark = true;
    plan.a = benchmark_side(*command, "a");
    plan.b = benchmark_side(*command, "b");
  } else {
    WEFT_TRY(const auto targets, targets_of(values));
    WEFT_TRY(plan.a, side_of(values, targets[0], 0));
    WEFT_TRY(plan.b, side_of(values, targets[1], 1));
  }
  WEFT_TRY_VOID(add_environment(values, plan));
  if (plan.is_benchmark && plan.a.argv == plan.b.argv && plan.a.env == plan.b.env)
    return fail(ErrorKind::usage,
                "--run: A and B are the same: tell them apart by {{side}} in the command, or by --env");
  return plan;
}

struct HowLong {
  std::optional<std::size_t> blocks;  // absent: until decided, at the planned looks
  std::optional<Nanoseconds> budget;
};

Result<HowLong> read_how_long(const po::variables_map& values) {
  HowLong how;
  if (values.count("blocks")) {
    const auto blocks = values["blocks"].as<std::int64_t>();
    if (blocks < static_cast<std::int64_t>(compare::kMinUnits) || blocks > kMaxBlocks)
      return fail(ErrorKind::usage, "--blocks {}: expected {} to {}", blocks, compare::kMinUnits, kMaxBlocks);
    how.blocks = static_cast<std::size_t>(blocks);
  }
  WEFT_TRY(how.budget, read_option(values, "budget", parse_duration));
  return how;
}

bool all_decided(const compare::Comparison& comparison) {
  return std::ranges::none_of(comparison.cells, [](const compare::CellResult& cell) {
    return cell.decision == compare::Decision::undecided;
  });
}

/// Runs blocks until it is decided, or the time, the blocks or the user end it.
class BlockLoop {
 public:
  BlockLoop(const po::variables_map& values, BlockPlan plan, HowLong how, double margin)
      : plan_(std::move(plan)),
        how_(how),
        progress_(read_progress_style(values).value_or(ProgressStyle::none)) {
    settings_ = {.margin = margin,
                 .design = compare::Design::blocks,
                 .looks = how.blocks ? 1 : compare::kLooks.size()};
  }

  Result<void> run(std::stop_token stop) {
    const std::size_t most = how_.blocks.value_or(compare::kLooks.back());
    std::size_t left_out = 0;
    for (std::size_t number = 1; runs_.blocks() < most; ++number) {
      if (how_.budget && number > 1 && Clock::now() - began_ >= *how_.budget) break;
      WEFT_TRY(const auto end,
               run_block(
                   plan_, number, runs_, [&](std::size_t, std::string_view side) { show(side); }, stop));
      if (end == BlockEnd::interrupted) break;
      left_out += end == BlockEnd::left_out;
      if (left_out == kMaxLeftOut)
        return fail(ErrorKind::absent, "{} blocks failed; {}", left_out, runs_.remarks.back());
      if (end == BlockEnd::taken && is_look() && is_decided()) break;
    }
    progress_.clear();
    return {};
  }

  Result<int> answer(const po::variables_map& values) {
    WEFT_TRY(const auto comparison, compare::compare(runs_.a, runs_.b, settings_));
    report::ComparedFabrics fabrics{.a = plan_.a.name,
                                    .b = plan_.b.name,
                                    .reasons = compare::reasons_of(runs_.of_a, runs_.of_b, comparison),
                                    .named_a = compare::named_places(runs_.of_a),
                                    .named_b = compare::named_places(runs_.of_b),
                                    .runs = runs_.a.size(),
                                    .of_a = runs_.of_a,
                                    .of_b = runs_.of_b,
                                    .remarks = runs_.remarks};
    return answer_comparison(values, {comparison, runs_.a, runs_.b, &fabrics});
  }

  bool has_blocks() const { return runs_.blocks() > 0; }

 private:
  bool is_look() const {
    return !how_.blocks && std::ranges::find(compare::kLooks, runs_.blocks()) != compare::kLooks.end();
  }
  bool is_decided() const {
    const auto comparison = compare::compare(runs_.a, runs_.b, settings_);
    return comparison && all_decided(*comparison);
  }
  void show(std::string_view side) {
    const std::size_t most = how_.blocks.value_or(compare::kLooks.back());
    progress_.show({fmt::format("block {}, {}", runs_.blocks() + 1, side), runs_.blocks(), most, {}});
  }

  BlockPlan plan_;
  HowLong how_;
  compare::Settings settings_;
  ProgressLine progress_;
  BlockRuns runs_;
  Clock::time_point began_ = Clock::now();
};

Result<int> compare_live(const po::variables_map& values) {
  constexpr std::array kFiles{"html"};
  constexpr std::array kRead{"fabric"};
  WEFT_TRY_VOID(check_output_files(values, kFiles, kRead));
  WEFT_TRY_VOID(read_output_format(values));
  WEFT_TRY_VOID(read_progress_style(values));
  WEFT_TRY(const double margin, read_margin(values));
  WEFT_TRY(const HowLong how, read_how_long(values));
  WEFT_TRY(BlockPlan plan, read_plan(values));
  std::optional<os::ScratchDirectory> scratch;
  if (const auto keep = text_option(values, "keep")) {
    plan.directory = *keep;
  } else {
    WEFT_TRY(auto made, os::ScratchDirectory::make());
    plan.directory = made.path();
    scratch.emplace(std::move(made));
  }
  WEFT_TRY_VOID(claim_directory(plan));
  const Interrupt interrupt;
  BlockLoop loop(values, std::move(plan), how, margin);
  WEFT_TRY_VOID(loop.run(interrupt.token()));
  if (interrupt.happened() && !loop.has_blocks()) return kExitInterrupted;
  WEFT_TRY(const int status, loop.answer(values));
  return interrupt.happened() ? kExitInterrupted : status;
}

OptionParser compare_run_options() {
  OptionParser parser(
      "weft compare run (A.yaml B.yaml | --lab=a --lab=b | A.yaml --variant X --variant Y | --run COMMAND) "
      "[options]",
      "Sends the same work over two fabrics, A and B, or over one with two settings, in blocks A, B, B, A, "
      "and "
      "tells where they differ, by how much and why. Without --blocks it looks after 6, 12, 24, 48 and 96 "
      "blocks and ends when all is decided. The exit status is 0 where they are equal within the margin, 1 "
      "where they differ, 3 where it is undecided.",
      kExamples);
  parser.options().add_options()("fabric", po::value<Texts>()->composing()->value_name("FILE"),
                                 "fabric files: A, then B")(
      "lab", po::value<Texts>()->composing()->value_name("NAME"), "labs instead (see weft lab)")(
      "simulate", "the fabrics are simulated: nothing is sent")(
      "variant", po::value<Texts>()->composing()->value_name("SETTINGS"),
      "twice: options of weft sweep (or simulate) for A and for B, as in qps=4,message=64KiB")(
      "run", po::value<std::string>()->value_name("COMMAND"),
      "a benchmark instead of weft's own work: nccl-tests, perftest or OSU, run by a shell; {side} stands "
      "for "
      "a or b")("env", po::value<Texts>()->composing()->value_name("SIDE:NAME=VALUE"),
                "an environment variable of A's or B's runs; may be repeated");
  add_margin_option(parser.options(Group::how_much));
  parser.options(Group::how_much)
      .add_options()("blocks", po::value<std::int64_t>()->value_name("N"),
                     "so many blocks, and one look at the end")(
          "only", po::value<std::string>()->value_name("TEXT"),
          "compare only cells whose name has this, as in 'slowest flow': the fewer, the sooner it is "
          "decided")("budget", po::value<std::string>()->value_name("TIME"),
                     "begin no block after this time")("run-limit",
                                                       po::value<std::string>()->value_name("TIME"),
                                                       "a run that takes longer has failed (default: 10m)");
  parser.options(Group::how)
      .add_options()("each", po::value<std::string>()->value_name("SETTINGS"),
                     "options of weft sweep for both sides, as in load=light,budget=5s (default: "
                     "budget=2s, and but for live fabrics pattern=all-pairs,load=full; with a load "
                     "load-time=200ms)")("keep", po::value<std::string>()->value_name("DIR"),
                                         "keep the runs there; the same command again goes on with them");
  add_progress_option(parser.options(Group::output));
  add_comparison_output(parser.options(Group::output));
  parser.positional("fabric", 2);
  parser.either({"run"}, {"lab", "fabric", "variant", "each", "simulate"});
  parser.command_line_only({"run", "env"});
  return parser;
}

int compare_run_command(const Arguments& arguments) {
  return run_command(compare_run_options(), arguments, compare_live);
}

constexpr std::array<Command, 1> kWords{{
    {"run", "the same work over two fabrics, block by block, until it is decided", compare_run_command,
     compare_run_options},
}};

}  // namespace

const WordGroup& compare_words() {
  static const WordGroup words{"compare", "two fabrics: equal, different or undecided", kWords,
                               "  weft compare run --lab=a --lab=b\n"};
  return words;
}

}  // namespace weft::cli
