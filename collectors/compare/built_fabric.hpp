// What a fabric is built for, by its file: the rates of its channels, and which of them share what crosses a
// tier. Of flows it tells what each could get if all were spread evenly: fewer or slower cables between
// switches lessen that, collisions do not. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "topology/model/fabric.hpp"

namespace weft::compare {

struct MeasuredRun;

struct BuiltFabric {
  struct Channel {
    double rate = 0;  // bits per second, as designed
    std::uint32_t group = 0;
  };
  std::map<std::string, Channel, std::less<>> channels;  // by name
  /// By group the rates of its channels. A group is what leaves a leaf upwards, what comes down into one, the
  /// same of the spines of a pod together, or one channel of a host. Paths of one pair cross the same groups.
  std::vector<std::vector<double>> groups;
  double host_rate = 0;  // of the fastest cable of a host
  /// Of the leaf with the most for its uplinks: what its hosts' cables carry over what its uplinks do. Above
  /// 1 not all hosts can send upwards at their full rate. 0: no leaf has both.
  double oversubscription = 0;
  std::string widest_leaf;  // that leaf, in words: "leaf1: 4 x 400 Gbit/s to hosts, 2 x 400 Gbit/s up"
};

BuiltFabric built_fabric(const Fabric& fabric);

/// What each of `flows` flows gets of channels of these rates (not empty), one channel each, spread so that
/// the least of them is as large as can be.
std::vector<double> best_shares(std::span<const double> rates, std::size_t flows);

/// What each flow of the run would want (bits per second) if the flows of its round were spread evenly over
/// each group that they cross (best_shares). Absent: the fabric is not known, or not the one that the run was
/// on.
std::optional<std::vector<double>> spread_evenly(const MeasuredRun& run);

}  // namespace weft::compare
