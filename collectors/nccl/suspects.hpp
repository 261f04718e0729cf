// Which rank is to blame, by the dumps and RAS alone: the group whose wait explains the others', and in it
// the first of what is known for sure. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "collectors/nccl/hang.hpp"
#include "collectors/nccl/proxy_waits.hpp"

namespace weft::nccl {

struct Suspicion {
  HangCause cause = HangCause::unknown;
  std::vector<Rank> ranks;  // ascending
  std::string sentence;
  std::vector<std::string> evidence;
};

struct Suspects {
  /// The group that hangs by itself, others by it; absent: none hangs.
  std::optional<std::size_t> group = std::nullopt;
  std::optional<Suspicion> suspicion = std::nullopt;
  std::string why;            // why nobody is suspected, where a group hangs
  std::size_t transfers = 0;  // between two ranks, not completed
};
Suspects find_suspects(const Job& job, const ProxyWaits& proxies);

/// A transfer whose other half its peer, which waits for nothing, never posted. Two ranks make the transfers
/// of a direction in one order: the n-th of one is the n-th of the other. `transfers`: not completed, in all.
std::optional<Suspicion> find_missing_half(const Job& job, const ProxyWaits& proxies, std::size_t& transfers);

/// A collective that ranks called differently and that all completed all the same, as NCCL lets sizes differ
/// where buffers hold them: what they got of it is wrong.
std::optional<Suspicion> find_completed_mismatch(const Job& job);

/// Ranks that come last to their collectives: their kernels run for the least time, since the others' wait
/// for them. Absent: none stands out.
std::optional<Suspicion> find_slow_ranks(const Job& job);

}  // namespace weft::nccl
