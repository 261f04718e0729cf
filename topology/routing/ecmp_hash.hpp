// The hash by which a device picks one of several equal next hops. Every device has its own seed: with one
// seed for all, devices of one tier would choose alike and leave paths unused (polarisation).
#pragma once

#include <cstdint>

#include "topology/base/ids.hpp"
#include "topology/base/splitmix.hpp"
#include "topology/model/path.hpp"

namespace weft {

/// What a fabric hashes: who sends to whom with which label.
struct FlowKey {
  std::uint64_t ends = 0;
  std::uint64_t label = 0;

  static constexpr FlowKey of(PortId src, PortId dst, PathLabel label) {
    return {std::uint64_t{src.value()} << 32 | dst.value(), label.value()};
  }
};

constexpr std::uint64_t device_seed(std::uint64_t fabric_seed, NodeId device) {
  return mix_bits(fabric_seed ^ mix_bits(device.value() + kSplitMixStep));
}

/// Which of `choices` equal next hops a device takes: 0 ... choices - 1, each as often. Precondition: choices
/// > 0.
constexpr std::uint32_t choose(std::uint64_t seed, FlowKey key, std::uint32_t choices) {
  const std::uint64_t hash = mix_bits(mix_bits(seed ^ key.ends) ^ key.label);
  return static_cast<std::uint32_t>((hash >> 32) * choices >> 32);
}

}  // namespace weft
