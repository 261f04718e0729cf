// `weft blacklist env`: what a job sets to do without what is on the blacklist.
#include "balancer/export/nccl_env.hpp"
#include "cli/blacklist.hpp"
#include "cli/exit_status.hpp"
#include "cli/ledger_options.hpp"
#include "cli/terminal.hpp"
#include "topology/base/host_list.hpp"
#include "topology/base/outside_text.hpp"

namespace weft::cli {
namespace {

Result<int> print_env(const po::variables_map& values) {
  WEFT_TRY(const auto hosts, read_option(values, "hosts", expand_hosts));
  if (!hosts || hosts->empty())
    return fail(ErrorKind::usage, "which hosts? expected --hosts, as \"$SLURM_JOB_NODELIST\"");
  WEFT_TRY(const auto adapters, read_option(values, "hca", expand_hosts));
  WEFT_TRY(auto opened, open_ledger(values, store::Database::Access::read));
  WEFT_TRY(const auto ledger, opened.keeper().read());
  WEFT_TRY(const auto env,
           exports::nccl_env(ledger, opened.fabric, *hosts, adapters.value_or(std::vector<std::string>())));
  if (!env.ib_hca.empty()) fmt::print("NCCL_IB_HCA={}\n", env.ib_hca);
  for (const std::string& nic : env.nics) print_stderr("weft: without the rail of {}\n", outside_text(nic));
  for (const std::string& host : env.hosts)
    print_stderr("weft: {} is out of use as a whole: leave it out of the job\n", outside_text(host));
  return env.hosts.empty() ? kExitHealthy : kExitDegraded;
}

}  // namespace

OptionParser blacklist_env_options() {
  OptionParser parser(
      "weft blacklist env --hosts LIST [--hca LIST] --ledger FILE --fabric FILE",
      "Prints what a job on these hosts sets so that NCCL does without the NICs that are out of use: "
      "NCCL_IB_HCA, the same for all\nof its processes; nothing where none is. Exit status 1 when a host is "
      "out of use as a whole.",
      "  export $(weft blacklist env --hosts \"$SLURM_JOB_NODELIST\" --hca mlx5_[0-7] \\\n      --ledger "
      "bl.db --fabric fabric.yaml)\n");
  parser.options().add_options()("hosts", po::value<std::string>()->value_name("LIST"),
                                 "the hosts of the job, as gpu[001-016]")(
      "hca", po::value<std::string>()->value_name("LIST"),
      "the RDMA adapters of a host in the order of its NICs, as mlx5_[0-7]; without: as the fabric file "
      "names the ports of hosts");
  add_ledger_options(parser);
  return parser;
}

int blacklist_env_command(const Arguments& arguments) {
  auto parser = blacklist_env_options();
  const auto values = parser.parse(arguments);
  if (!values) return report(values.error());
  if (OptionParser::help_was_asked(*values)) return kExitHealthy;
  const auto status = print_env(*values);
  return status ? *status : report(status.error());
}

}  // namespace weft::cli
