// SwitchWays: which switches of a fabric still have a way to each other, up the tiers and down as routing
// engines for trees have it, while links are taken out of its routes one after the other. Pure.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "topology/model/fabric.hpp"

namespace weft::exports {

class SwitchWays {
 public:
  using Links = std::vector<bool>;  // by link
  /// `kept`, by node: must keep its ways. `out`: links without a way of packets, from the start. The fabric
  /// must outlive it.
  SwitchWays(const Fabric& fabric, std::vector<bool> kept, Links out)
      : fabric_(fabric), kept_(std::move(kept)), from_start_(std::move(out)), out_(from_start_) {}

  /// Two that must keep their ways and have one, and none without this link; absent: there are no such.
  std::optional<std::pair<NodeId, NodeId>> lost_without(LinkId link) const;

  /// Whatever is asked from now on, this link is out of use.
  void take_out(LinkId link) { out_[link.value()] = true; }
  /// All that was taken out is in use again.
  void restart() { out_ = from_start_; }
  const Links& out() const { return out_; }

 private:
  std::vector<bool> reached_from(NodeId start, const Links& out) const;
  std::vector<NodeId> kept_below(LinkId link) const;

  const Fabric& fabric_;
  std::vector<bool> kept_;
  Links from_start_;
  Links out_;  // these, and what was taken out
};

}  // namespace weft::exports
