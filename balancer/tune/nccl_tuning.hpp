// Rows of a tuner table for the all-reduces of one communicator: the latencies of rings and trees as
// choose_algorithm has them, and their bytes by the busiest channel of the balancer's own assignment (its
// bound may be half of that). NCCL's protocols are laid over it: LL carries a flag with every word, twice the
// bytes; Simple takes longer a step. Pure.
#pragma once

#include <span>
#include <vector>

#include "balancer/assign/choose_algorithm.hpp"
#include "balancer/steer/tuner_table.hpp"

namespace weft::tune {

/// How long an all-reduce takes by one choice: a + b * bytes.
struct ChoiceTime {
  steer::NcclAlgorithm algorithm = steer::NcclAlgorithm::ring;
  steer::NcclProtocol protocol = steer::NcclProtocol::simple;
  double seconds = 0;  // of no bytes
  double seconds_per_byte = 0;
  double of(double bytes) const { return seconds + bytes * seconds_per_byte; }
};

struct TunedJob {
  std::vector<NodeId> hosts;  // in rank order; two and more
  std::uint32_t gpus = 0;     // ranks a host; 0: as many as its NICs
  std::vector<assign::Avoided> avoid;
  assign::MeasuredCost cost;  // its latencies count for LL
};

/// Ring and tree by LL and Simple. The rails of the hosts carry equal shares.
std::vector<ChoiceTime> all_reduce_choices(const Fabric& fabric, const TunedJob& job);

/// The quickest choice by size, from 0 bytes to as many as there are; channels are left to NCCL. Usage error:
/// fewer than two hosts, or hosts without a NIC.
Result<std::vector<steer::TunerRow>> all_reduce_rows(const Fabric& fabric, const TunedJob& job);

}  // namespace weft::tune
