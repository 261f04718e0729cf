#include "topology/findings/loss_runs.hpp"

#include <algorithm>

namespace weft {
namespace {

std::uint64_t end_of(const LossRun& run) { return std::uint64_t{run.first} + run.count; }

void append(std::vector<LossRun>& runs, std::uint64_t first, std::uint64_t end) {
  if (first >= end) return;
  if (!runs.empty() && end_of(runs.back()) == first)
    runs.back().count += static_cast<std::uint32_t>(end - first);
  else
    runs.push_back({static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(end - first)});
}

}  // namespace

bool are_loss_runs(std::span<const LossRun> runs, std::uint64_t sent) {
  if (runs.size() > kMaxLossRuns) return false;
  std::uint64_t from = 0;
  for (const LossRun& run : runs) {
    if (run.count == 0 || run.first < from || end_of(run) > sent) return false;
    from = end_of(run);
  }
  return true;
}

std::uint64_t packets_in(std::span<const LossRun> runs) {
  std::uint64_t packets = 0;
  for (const LossRun& run : runs) packets += run.count;
  return packets;
}

std::size_t runs_apart(std::span<const LossRun> runs) {
  std::size_t apart = runs.empty() ? 0 : 1;
  for (std::size_t i = 1; i < runs.size(); ++i) apart += runs[i].first > end_of(runs[i - 1]) ? 1 : 0;
  return apart;
}

void append_loss(std::vector<LossRun>& runs, std::uint32_t packet) {
  append(runs, packet, std::uint64_t{packet} + 1);
}

std::vector<LossRun> lost_on_the_way_back(std::span<const LossRun> there, std::span<const LossRun> neither) {
  std::vector<LossRun> back;
  std::uint64_t missing = 0;  // of the packets before the place reached, those that did not arrive
  std::size_t next = 0;       // of `there`
  for (const LossRun& run : neither) {
    std::uint64_t at = run.first;
    while (at < end_of(run)) {
      while (next < there.size() && end_of(there[next]) <= at) missing += there[next++].count;
      const bool hole = next < there.size() && there[next].first < end_of(run);
      const std::uint64_t until = hole ? std::max<std::uint64_t>(there[next].first, at) : end_of(run);
      append(back, at - missing, until - missing);
      at = hole ? std::min(end_of(there[next]), end_of(run)) : until;
    }
  }
  return back;
}

}  // namespace weft
