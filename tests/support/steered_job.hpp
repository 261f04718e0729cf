// Jobs in guests whose queue pairs are given labels: the lists, and how they come to a host.
#pragma once

#include "balancer/steer/label_list.hpp"
#include "tests/support/rdma_rig.hpp"

namespace weft {

/// `count` labels, 10 apart, of who sends.
steer::PairLabels spaced_labels(const IpAddress& own, const IpAddress& peer, std::uint32_t first,
                                std::uint32_t count);
/// As `weft nccl steer` does it on each host: DIR/labels, that of its user alone.
Answer put_labels(const RdmaRig& rig, const std::string& host, const steer::LabelList& list,
                  const std::string& path = "/tmp/job/labels");
/// The source ports of each destination's queue pair, in the order in which these were made.
std::vector<std::vector<std::uint32_t>> ports_in_order(const PortsByQp& ports);
/// What stands before a program whose queue pairs are to have labels.
inline const std::vector<std::string> kWithWeft{"env", "WEFT_NCCL_DIR=/tmp/job",
                                                "LD_PRELOAD=/lib/libweft-nccl.so"};

}  // namespace weft
