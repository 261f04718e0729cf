// Culprits: which channels held flows back, where each flow that was held back needs one of a few channels as
// its culprit: all sets of culprits that account for a question's flows, by their weights.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "topology/base/ids.hpp"

namespace weft::diagnosis {

/// Flows that the same channels could have held back.
struct HeldBack {
  std::vector<ChannelId> candidates;  // ascending
  double disturbed = 0;               // nats that it costs to take them all for passing disturbances
};

struct Explanation {
  std::vector<ChannelId> culprits;  // ascending; empty: all were disturbed
  double probability = 0;           // of all explanations of the question together 1
};

/// The likeliest first. Every culprit costs `fault` nats. Exact for questions of a few culprits; of larger
/// ones those explanations are left out that a bounded search does not come to.
std::vector<Explanation> explanations(std::span<const HeldBack> held, double fault);

/// The explanations as independent choices, where they are that: whether a channel is a culprit in one part
/// says nothing of another part. Each part's probabilities sum to 1. One part where they depend on each
/// other.
std::vector<std::vector<Explanation>> independent_parts(std::span<const Explanation> all);

/// Indices of `held` by question: those that share a candidate, directly or by way of others, belong to one.
std::vector<std::vector<std::uint32_t>> questions(std::span<const HeldBack> held);

}  // namespace weft::diagnosis
