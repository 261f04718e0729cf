// Where what is odd lies on some channels and not elsewhere: for what comes and goes, so that most of what
// crossed a channel shows nothing of it, and no model of a fault that stays explains it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "topology/base/ids.hpp"

namespace weft {
class Fabric;
}

namespace weft::diagnosis {

/// Natural logarithm of P(k or more of n), at share p, by Chernoff's bound.
double log_tail(double k, double n, double p);

/// Something seen on its way over some channels.
struct Traversal {
  std::span<const ChannelId> channels;
  bool odd = false;
};

struct Concentration {
  std::vector<ChannelId> channels;  // which of them it is, their traversals do not tell; ascending
  std::vector<std::uint32_t> odd;   // of the traversals, by their index
  std::uint32_t crossed = 0;        // by how many in all
  /// A host's own cable, or mostly one host's traversals: its loop may have been late for a while, and hit
  /// what it had under way then.
  bool of_one_host = false;
};

/// The channels that have more of what is odd than elsewhere, where a share `least` of everything may be odd
/// by itself, at odds of one in a million over the whole run; the clearest first, and what lies on it counts
/// for no other.
std::vector<Concentration> concentrations(const Fabric& fabric, std::vector<Traversal> traversals,
                                          double least);

}  // namespace weft::diagnosis
