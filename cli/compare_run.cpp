#include "cli/compare_answer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>

#include "cli/compare_sides.hpp"
#include "cli/exit_status.hpp"
#include "cli/interrupt.hpp"
#include "cli/output_files.hpp"
#include "cli/progress.hpp"
#include "collectors/compare/layers.hpp"
#include "collectors/compare/probe_cells.hpp"
#include "topology/os/scratch_directory.hpp"

namespace weft::cli {
namespace {

constexpr const char* kExamples =
    "  weft compare run roce.yaml ib.yaml                # until all is decided\n"
    "  weft compare run --lab=a --lab=b --blocks 6 --html report.html\n"
    "  weft compare run cluster.yaml --variant qps=1 --variant qps=4 --each engine=verbs,load=full\n"
    "  weft compare run --simulate a.yaml b.yaml -o json\n"
    "  weft compare run --run 'mpirun all_reduce_perf -b 1M -e 1G -f 2' \\\n"
    "      --env A:NCCL_IB_HCA=mlx5_0 --env B:NCCL_IB_HCA=mlx5_1\n"
    "  weft compare run roce.yaml ib.yaml --run 'srun -w {hosts} all_reduce_perf -b 1M -e 1G -f 2' \\\n"
    "    --env A:NCCL_IB_HCA=mlx5_0 --env B:NCCL_IB_HCA=mlx5_4\n";

constexpr std::int64_t kMaxBlocks = 1000;
constexpr std::size_t kMaxLeftOut = 3;  // blocks: what goes on failing is no comparison

using Clock = std::chrono::steady_clock;
using Texts = std::vector<std::string>;

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

Result<BlockPlan> read_plan(const po::variables_map& values) {
  BlockPlan plan;
  plan.run_limit = std::chrono::minutes(10);
  WEFT_TRY(const auto limit, read_option(values, "run-limit", parse_duration));
  if (limit) plan.run_limit = *limit;
  plan.only = text_option(values, "only").value_or("");
  if (const auto command = text_option(values, "run")) {
    for (const char* name : {"lab", "variant", "each", "simulate"})
      if (values.count(name))
        return fail(ErrorKind::usage, "--run runs a benchmark of yours: --{} is for weft's own sweeps", name);
    plan.is_benchmark = true;
    WEFT_TRY(auto sides, benchmark_sides(values, *command));
    plan.a = std::move(sides.first), plan.b = std::move(sides.second);
  } else {
    if (values.count("hosts"))
      return fail(ErrorKind::usage, "--hosts is for --run: a sweep takes them by --each hosts=LIST");
    WEFT_TRY(auto sides, compared_sides(values));
    plan.a = std::move(sides.first), plan.b = std::move(sides.second);
  }
  WEFT_TRY_VOID(add_environment(values, plan));
  if (plan.is_benchmark && plan.a.argv == plan.b.argv && plan.a.env == plan.b.env)
    return fail(ErrorKind::usage,
                "--run: A and B are the same: tell them apart by {{side}} or {{hosts}} in the command, or by "
                "--env");
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
      if (end != BlockEnd::taken) continue;
      // Sides with no cell in common have none after many blocks either.
      if (runs_.blocks() == 1)
        if (const auto first = compare::compare(runs_.a, runs_.b, settings_); !first) return pass_on(first);
      if (is_look() && is_decided()) break;
    }
    progress_.clear();
    return {};
  }

  Result<int> answer(const po::variables_map& values) {
    if (plan_.probes_alone())
      for (std::string& remark : compare::drop_distances_of_one_side(runs_.a, runs_.b))
        runs_.remarks.push_back(std::move(remark));
    WEFT_TRY(const auto comparison, compare::compare(runs_.a, runs_.b, settings_));
    report::ComparedFabrics fabrics{
        .a = plan_.a.name,
        .b = plan_.b.name,
        .reasons = compare::reasons_of(runs_.of_a, runs_.of_b, comparison),
        .named_a = compare::named_places(runs_.of_a),
        .named_b = compare::named_places(runs_.of_b),
        .measured_a = measured(plan_.a, runs_.of_a),
        .measured_b = measured(plan_.b, runs_.of_b),
        .remarks = runs_.remarks,
        .slow_a = compare::slow_places(runs_.of_a),
        .slow_b = compare::slow_places(runs_.of_b),
        .congestion = compare::congestion_counts(runs_.of_a, runs_.of_b),
        .not_told = compare::not_told(runs_.of_a, runs_.of_b),
        .impossible = compare::impossible_things(plan_.a.probes_alone, plan_.b.probes_alone)};
    std::vector<const Fabric*> drawn;
    if (fabrics.measured_a) drawn = {plan_.a.fabric.get(), plan_.b.fabric.get()};
    return answer_comparison(values, {comparison, runs_.a, runs_.b, &fabrics}, drawn);
  }

  bool has_blocks() const { return runs_.blocks() > 0; }

 private:
  static std::optional<compare::MeasuredFabric> measured(const ComparedSide& side,
                                                         const std::vector<compare::MeasuredRun>& runs) {
    if (runs.empty()) return std::nullopt;
    return compare::measured_fabric(side.fabric->name(), runs);
  }
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
                                 "fabric files: A, then B; of RoCE and InfiniBand probes are compared, "
                                 "and all with --each engine=verbs")(
      "lab", po::value<Texts>()->composing()->value_name("NAME"),
      "labs instead (see weft lab); where one is of InfiniBand, probes alone are compared")(
      "simulate", "the fabrics are simulated: nothing is sent")(
      "variant", po::value<Texts>()->composing()->value_name("SETTINGS"),
      "twice: options of weft sweep (or simulate) for A and for B, as in qps=4,message=64KiB")(
      "run", po::value<std::string>()->value_name("COMMAND"),
      "a benchmark instead of weft's own work: nccl-tests, perftest or OSU, run by a shell; {side} stands "
      "for a or b, {hosts} for the hosts of A or B, parted by commas")(
      "hosts", po::value<Texts>()->composing()->value_name("[SIDE:]LIST"),
      "of {hosts}, as A:gpu[001-064] (default: the hosts of A's and B's fabric files); may be repeated")(
      "env", po::value<Texts>()->composing()->value_name("SIDE:NAME=VALUE"),
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
                     "budget=2s, and but for live fabrics and where InfiniBand carries probes alone "
                     "pattern=all-pairs,load=full; with a load load-time=200ms)")(
          "keep", po::value<std::string>()->value_name("DIR"),
          "keep the runs there; the same command again goes on with them");
  add_progress_option(parser.options(Group::output));
  add_comparison_output(parser.options(Group::output));
  parser.positional("fabric", 2);
  parser.either({"run"}, {"lab", "fabric", "variant", "each", "simulate"});
  parser.either({"lab"}, {"fabric", "simulate"});
  parser.command_line_only({"run", "env", "hosts"});
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
