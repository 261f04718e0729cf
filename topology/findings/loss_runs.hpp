// Runs of lost packets of one row, in the order in which the packets were sent: made from what became of each
// packet, checked, completed, and renumbered for the way back. Pure.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "topology/findings/observation.hpp"

namespace weft {

/// A row keeps at most so many runs: of more, their order says no more than their number.
inline constexpr std::size_t kMaxLossRuns = 64;

/// Ascending without overlap, none of them empty, all within the `sent` packets, and not too many.
bool are_loss_runs(std::span<const LossRun> runs, std::uint64_t sent);

std::uint64_t packets_in(std::span<const LossRun> runs);

/// Of runs as are_loss_runs() has them: those that others do not go on without a packet between.
std::size_t runs_apart(std::span<const LossRun> runs);

/// Adds a lost packet behind those that `runs` holds.
void append_loss(std::vector<LossRun>& runs, std::uint32_t packet);

/// The packets of a row of `sent` for which `is_lost` holds; absent: there are too many runs of them.
template <class IsLost>
std::optional<std::vector<LossRun>> loss_runs(std::uint32_t sent, IsLost is_lost) {
  std::vector<LossRun> runs;
  for (std::uint32_t packet = 0; packet < sent && runs.size() <= kMaxLossRuns; ++packet)
    if (is_lost(packet)) append_loss(runs, packet);
  if (runs.size() > kMaxLossRuns) return std::nullopt;
  return runs;
}

/// `there`: the packets that did not arrive; `neither`: those of which nothing came back. Gives those that
/// arrived and were lost on the way back, counted among the packets that arrived.
std::vector<LossRun> lost_on_the_way_back(std::span<const LossRun> there, std::span<const LossRun> neither);

}  // namespace weft
