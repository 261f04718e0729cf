#include "probes/diagnosis/coverage.hpp"

namespace weft {
namespace {

constexpr double kEnoughPackets = 90.0;

class Crossed {
 public:
  Crossed(const Fabric& fabric, const PathTable& paths)
      : paths_(paths), packets_(fabric.channel_count(), 0.0), used_(paths.path_count(), false) {}

  void add(PathSetId set, double packets) {
    const auto members = paths_.paths(set);
    const double share = packets / static_cast<double>(members.size());
    for (const PathId path : members) {
      used_[path.value()] = true;
      for (const ChannelId channel : paths_.channels(path)) packets_[channel.value()] += share;
    }
  }

  Coverage coverage() const {
    Coverage coverage{.channels = packets_.size()};
    for (const bool used : used_) coverage.paths += used ? 1 : 0;
    for (std::uint32_t c = 0; c < packets_.size(); ++c) {
      if (packets_[c] >= kEnoughPackets) ++coverage.probed;
      if (packets_[c] == 0) coverage.missing.emplace_back(c);
    }
    return coverage;
  }

 private:
  const PathTable& paths_;
  std::vector<double> packets_;
  std::vector<bool> used_;
};

}  // namespace

Coverage coverage_of(const Fabric& fabric, const Observations& observations) {
  Crossed crossed(fabric, observations.paths);
  for (const Observation& probe : observations.probes) {
    if (probe.sent == 0) continue;
    crossed.add(probe.path, static_cast<double>(probe.sent));
    if (probe.back) crossed.add(*probe.back, static_cast<double>(probe.sent));
  }
  for (const LoadObservation& load : observations.loads) crossed.add(load.path, kEnoughPackets);
  return crossed.coverage();
}

}  // namespace weft
