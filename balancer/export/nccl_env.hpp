// What a job must tell NCCL so that it does without NICs that are out of use: NCCL_IB_HCA, for all of its
// processes the same, for a ring goes over one rail of all hosts. Pure.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "balancer/blacklist/ledger.hpp"
#include "topology/base/result.hpp"
#include "topology/model/fabric.hpp"

namespace weft::exports {

struct NcclEnv {
  /// `^=mlx5_2:1,mlx5_5:1`: all but these, by their full names; empty: nothing to leave out.
  std::string ib_hca;
  std::vector<std::string> hosts;  // of the job, that are out of use as a whole
  std::vector<std::string> nics;   // of the job, for which adapters are left out
};

/// Of what is active on the ledger. `hosts`: of the job. `adapters`: the RDMA adapter of each NIC of a host,
/// in the order of its ports, as `mlx5_0` or `mlx5_0:2` (port 1 where none is said); empty: as the fabric
/// file names the ports of hosts. Errors: not_found, a host that the fabric does not have; usage, a NIC whose
/// adapter nobody says, or a name that NCCL would read otherwise; absent, no NIC would be left.
Result<NcclEnv> nccl_env(const blacklist::Ledger& ledger, const Fabric& fabric,
                         std::span<const std::string> hosts, std::span<const std::string> adapters);

}  // namespace weft::exports
