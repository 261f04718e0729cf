// Labels that are predicted to cross channels which no trace was seen on. They are for tracing: what a trace
// then sees is known, what it contradicts is taken back, and nothing else rests on the prediction. Pure.
#pragma once

#include <span>
#include <vector>

#include "probes/plan/path_learner.hpp"
#include "probes/plan/switch_hashes.hpp"
#include "probes/plan/trace_plan.hpp"

namespace weft::plan {

class PredictedTraces {
 public:
  /// Learner, fabric and addresses must outlive it.
  PredictedTraces(PathLearner& learner, const Fabric& fabric, const AddressBook& addresses)
      : learner_(&learner), hashes_(fabric, addresses, learner.ways(), kHashConfidence) {}

  /// Learns from the routes of these pairs that it has not seen yet; then up to kLabelsPerChannel labels for
  /// each channel of `unseen`, of pairs that may cross it. Empty where nothing is predicted.
  std::vector<TracePlan> next(std::span<const NicPair> pairs, std::span<const ChannelId> unseen,
                              std::uint64_t seed);
  /// Learns from them alone.
  void learn(std::span<const NicPair> pairs);
  /// Groups of next hops that had predicted, and went otherwise.
  std::size_t taken_back() const { return hashes_.taken_back(); }

 private:
  PathLearner* learner_;
  SwitchHashes hashes_;
  std::map<NicPair, std::size_t> learned_;  // routes of a pair
};

}  // namespace weft::plan
