// Rows of a tuner table out of measured times: what a collective took by each of several choices, as
// nccl-tests tells it where NCCL_ALGO and NCCL_PROTO leave NCCL no other. Nothing is modelled here, so any
// algorithm and protocol may stand in it (NVLS, LL128, PAT), and any collective. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "balancer/steer/tuner_table.hpp"

namespace weft::tune {

struct TimedChoice {
  steer::NcclFunction function = steer::NcclFunction::all_reduce;
  steer::NcclAlgorithm algorithm = steer::NcclAlgorithm::ring;
  steer::NcclProtocol protocol = steer::NcclProtocol::simple;
  std::uint32_t channels = 0;               // 0: as many as NCCL took
  std::map<std::uint64_t, double> seconds;  // by bytes; above zero
};

struct CommunicatorSize {
  std::uint32_t ranks = 2;
  std::uint32_t nodes = 1;
};

/// For each function that was timed the quickest choice by size, up to the largest size measured: beyond it
/// NCCL decides. Between two sizes a time is what the straight line through both says; beyond the sizes of a
/// choice it has none. Errors (invalid_input): a function with one choice, which nothing was compared with;
/// the same choice twice; sizes that begin so high that the choice of the smallest says little of those below
/// it, which take it.
Result<std::vector<steer::TunerRow>> timed_rows(std::span<const TimedChoice> timed, CommunicatorSize of);

}  // namespace weft::tune
