#include "probes/diagnosis/counts/hypotheses.hpp"

#include <algorithm>
#include <cmath>

#include "topology/model/fabric.hpp"

namespace weft::diagnosis {
namespace {

constexpr double kMaxPackets = 1e12;    // more than any budget sends
constexpr double kSettlingNats = 12.0;  // from even odds to one in 160,000

/// Expected nats per packet that tell a hazard from a background, the worse of both directions.
double nats_per_packet(double hazard, double background) {
  const double whole = hazard + background;
  const double if_faulty = whole * std::log(whole / background) - hazard;
  const double if_healthy = hazard - background * std::log(whole / background);
  return std::min(if_faulty, if_healthy);
}

}  // namespace

Hypothesis hypothesis_of(const Fabric& fabric, const CountProblem& problem, const CountResult& result,
                         const std::vector<std::uint32_t>& rivals, Counted counted) {
  Hypothesis hypothesis{.cause = counted == Counted::corruption ? Cause::corruption : Cause::loss};
  double weakest = 1.0;
  for (const std::uint32_t i : rivals) {
    const Suspicion& suspicion = result.suspicions[i];
    const Suspect& suspect = problem.suspects[suspicion.suspect];
    hypothesis.probability += suspicion.probability;
    hypothesis.channels.insert(hypothesis.channels.end(), suspect.channels.begin(), suspect.channels.end());
    if (suspect.channels.empty())
      for (const NodeId node : suspect.nodes)
        for (const ChannelId channel : fabric.channels_at(node)) hypothesis.channels.push_back(channel);
    if (suspect.from_size && *suspect.from_size > hypothesis.size) hypothesis.size = *suspect.from_size;
    weakest = std::min(weakest, -std::log1p(-std::min(suspicion.loss, 0.999)));
  }
  std::ranges::sort(hypothesis.channels);
  hypothesis.channels.erase(std::unique(hypothesis.channels.begin(), hypothesis.channels.end()),
                            hypothesis.channels.end());
  hypothesis.probability = std::min(hypothesis.probability, 1.0);
  const double path_background = 6.0 * std::max(result.background.mean, 1e-8);
  // A fault as small as the background takes without end; written so that no-number counts as that too.
  const double packets = std::ceil(kSettlingNats / nats_per_packet(weakest, path_background));
  hypothesis.packets =
      static_cast<std::uint64_t>(packets >= 0 && packets < kMaxPackets ? packets : kMaxPackets);
  return hypothesis;
}

}  // namespace weft::diagnosis
