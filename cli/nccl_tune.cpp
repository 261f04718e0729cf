// `weft nccl tune`: the tuner table of a job, out of its fabric, what a sweep measured and what nccl-tests
// timed.
#include "balancer/tune/nccl_tuning.hpp"

#include <algorithm>
#include <set>

#include "balancer/tune/timed_choices.hpp"
#include "cli/cluster_arguments.hpp"
#include "cli/exit_status.hpp"
#include "cli/nccl.hpp"
#include "cli/options.hpp"
#include "cli/simulate_collective.hpp"
#include "collectors/compare/recorded_run.hpp"
#include "topology/base/outside_text.hpp"
#include "topology/base/whole_number.hpp"
#include "topology/files/fabric_file.hpp"
#include "topology/files/file_text.hpp"
#include "topology/os/clocks.hpp"

namespace weft::cli {
namespace {

constexpr std::uint32_t kMaxGpus = 1024;  // a host

using Timed = std::vector<tune::TimedChoice>;

/// "nvls/simple=FILE" or, of so many channels, "ring/ll128/16=FILE": the choice, without times, and the file.
Result<std::pair<tune::TimedChoice, std::string>> read_choice(const std::string& text) {
  const std::size_t equals = std::min(text.find('='), text.size());
  const std::string words = text.substr(0, equals);
  const std::size_t first = std::min(words.find('/'), words.size());
  const std::size_t second = std::min(words.find('/', first + 1), words.size());
  const auto part = [&](std::size_t from, std::size_t to) {
    return from < to ? std::string_view(words).substr(from, to - from) : std::string_view();
  };
  const auto algorithm = steer::parse_nccl_algorithm(part(0, first));
  const auto protocol = steer::parse_nccl_protocol(part(first + 1, second));
  const auto channels = second == words.size()
                            ? std::optional<std::uint32_t>(0)
                            : parse_whole_number<std::uint32_t>(part(second + 1, words.size()));
  if (!algorithm || !protocol || !channels || *channels > steer::kMaxNcclChannels ||
      equals + 1 >= text.size())
    return fail(ErrorKind::usage,
                "--timed {}: expected ALGORITHM/PROTOCOL[/CHANNELS]=FILE, as in ring/ll128=FILE (tree, ring, "
                "collnet_direct, collnet_chain, nvls, nvls_tree or pat by ll, ll128 or simple)",
                outside_text(text));
  return std::pair(tune::TimedChoice{{}, *algorithm, *protocol, *channels, {}}, text.substr(equals + 1));
}

/// Out of place, of each collective in one output of nccl-tests.
Result<Timed> read_times(const tune::TimedChoice& choice, const std::string& file, std::uint32_t ranks) {
  compare::RecordedRunReader reader(outside_text(file));
  WEFT_TRY_VOID(files::read_pieces(file, [&](std::string_view piece) { return reader.take(piece); }));
  WEFT_TRY(const auto run, std::move(reader).finish());
  for (const std::string& remark : run.remarks) print_stderr("weft: {}: {}\n", run.name, remark);
  Timed timed;
  for (const auto& [cell, value] : run.cells) {
    const auto function = steer::parse_nccl_function(cell.work.front());
    if (!function || cell.work.back() != "out-of-place") continue;
    if (std::ranges::count(cell.work, fmt::format("{} ranks", ranks)) == 0)
      return fail(ErrorKind::invalid_input,
                  "{}: {} is not of {} ranks, as the job is by --hosts and --gpus: expected the output of "
                  "nccl-tests with its \"#  Rank\" lines",
                  run.name, cell.work.front(), ranks);
    auto of = std::ranges::find(timed, *function, &tune::TimedChoice::function);
    if (of == timed.end()) {
      of = timed.insert(of, choice);
      of->function = *function;
    }
    if (!of->seconds.try_emplace(static_cast<std::uint64_t>(cell.size.count()), value.number).second)
      return fail(ErrorKind::invalid_input,
                  "{}: {} of {} bytes by several types or operations: expected one of each", run.name,
                  cell.work.front(), cell.size.count());
  }
  if (timed.empty())
    return fail(ErrorKind::invalid_input, "{}: no times of a collective that NCCL's tuner chooses for",
                run.name);
  return timed;
}

/// Where a collective was timed, its rows are those of its times, and none of a model.
Result<void> take_timed(const po::variables_map& values, std::vector<steer::TunerRow>& rows) {
  const tune::CommunicatorSize of{rows.front().ranks, rows.front().nodes};
  Timed all;
  const auto choices =
      values.count("timed") ? values["timed"].as<std::vector<std::string>>() : std::vector<std::string>();
  for (const std::string& text : choices) {
    WEFT_TRY(const auto choice, read_choice(text));
    WEFT_TRY(const auto timed, read_times(choice.first, choice.second, of.ranks));
    all.insert(all.end(), timed.begin(), timed.end());
  }
  WEFT_TRY(const auto measured, tune::timed_rows(all, of));
  std::set<steer::NcclFunction> functions;
  for (const steer::TunerRow& row : measured) functions.insert(row.function);
  std::erase_if(rows, [&](const steer::TunerRow& row) { return functions.contains(row.function); });
  rows.insert(rows.end(), measured.begin(), measured.end());
  return {};
}

Result<void> print_table(const po::variables_map& values) {
  const auto path = text_option(values, "fabric");
  if (!path) return fail(ErrorKind::usage, "which fabric? expected FABRIC.yaml");
  WEFT_TRY(const auto file, load_fabric_file(*path));
  tune::TunedJob job;
  if (!values.count("hosts"))
    return fail(ErrorKind::usage, "--hosts is missing: how many hosts the job has, or which");
  WEFT_TRY(job.hosts, hosts_of_fabric(values, file.fabric));
  WEFT_TRY(job.cost, read_step_cost(values, file.fabric));
  if (values.count("gpus")) {
    job.gpus = values["gpus"].as<std::uint32_t>();
    if (job.gpus == 0 || job.gpus > kMaxGpus)
      return fail(ErrorKind::usage, "--gpus {}: expected 1 to {}", job.gpus, kMaxGpus);
  }
  WEFT_TRY(auto rows, tune::all_reduce_rows(file.fabric, job));
  WEFT_TRY_VOID(take_timed(values, rows));
  const auto epoch = values.count("epoch")
                         ? values["epoch"].as<std::uint64_t>()
                         : static_cast<std::uint64_t>(os::wall_now().count()) / 1'000'000'000;
  WEFT_TRY(const auto text, steer::encode_tuner({epoch, std::move(rows)}));
  fmt::print("{}\n", text);
  return {};
}

}  // namespace

OptionParser nccl_tune_options() {
  OptionParser parser(
      "weft nccl tune FABRIC.yaml --hosts HOSTS [--gpus N] [--measured FILE] "
      "[--timed CHOICE=FILE]...",
      "Prints the table by which NCCL's all-reduces of a job take the algorithm and the "
      "protocol that are quickest on this "
      "fabric at\neach size, and other collectives those that nccl-tests found quickest. "
      "`weft nccl env --tuner FILE` gives it to the job.",
      "  weft nccl tune cluster.yaml --hosts 4 --measured run.jsonl > tuner\n"
      "  eval \"$(weft nccl env --tuner tuner)\"\n");
  parser.options().add_options()("fabric", po::value<std::string>()->value_name("FABRIC.yaml"),
                                 "the fabric of the job")(
      "hosts", po::value<std::string>()->value_name("HOSTS"),
      "who takes part: a number (the first so many), names with commas, or @FILE")(
      "gpus", po::value<std::uint32_t>()->value_name("N"), "ranks a host; without: as many as its NICs");
  parser.options(Group::how)
      .add_options()("latency", po::value<std::string>()->value_name("TIME")->default_value("5us"),
                     "of one step, as measured")(
          "measured", po::value<std::string>()->value_name("FILE"),
          "instead of --latency and the rates of the fabric file: what a sweep saw (its --observations)")(
          "timed", po::value<std::vector<std::string>>()->value_name("CHOICE=FILE"),
          "what nccl-tests printed of this job with NCCL_ALGO and NCCL_PROTO set, as in nvls/simple=FILE; "
          "twice "
          "and more: the quickest of them is taken, of any collective")(
          "epoch", po::value<std::uint64_t>()->value_name("N"),
          "the table's number, of which a later one has the higher; without: seconds since 1970");
  parser.positional("fabric", 1);
  parser.command_line_only({"fabric"});
  return parser;
}

int nccl_tune_command(const Arguments& arguments) {
  return run_command(nccl_tune_options(), arguments, print_table);
}

}  // namespace weft::cli
