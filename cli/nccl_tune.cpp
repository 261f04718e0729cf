// `weft nccl tune`: the tuner table of a job, out of its fabric and what a sweep measured.
#include "balancer/tune/nccl_tuning.hpp"

#include "cli/cluster_arguments.hpp"
#include "cli/exit_status.hpp"
#include "cli/nccl.hpp"
#include "cli/options.hpp"
#include "cli/simulate_collective.hpp"
#include "topology/files/fabric_file.hpp"
#include "topology/os/clocks.hpp"

namespace weft::cli {
namespace {

constexpr std::uint32_t kMaxGpus = 1024;  // a host

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
  const auto epoch = values.count("epoch")
                         ? values["epoch"].as<std::uint64_t>()
                         : static_cast<std::uint64_t>(os::wall_now().count()) / 1'000'000'000;
  WEFT_TRY(const auto text, steer::encode_tuner({epoch, std::move(rows)}));
  fmt::print("{}\n", text);
  return {};
}

}  // namespace

OptionParser nccl_tune_options() {
  OptionParser parser("weft nccl tune FABRIC.yaml --hosts HOSTS [--gpus N] [--measured FILE]",
                      "Prints the table by which NCCL's all-reduces of a job take the algorithm and the "
                      "protocol that are quickest on this "
                      "fabric at\neach size. `weft nccl env --tuner FILE` gives it to the job.",
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
