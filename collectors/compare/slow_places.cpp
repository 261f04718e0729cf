#include "collectors/compare/slow_places.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "collectors/compare/comparison.hpp"
#include "collectors/compare/effect.hpp"
#include "topology/base/statistics.hpp"

namespace weft::compare {
namespace {

constexpr double kMinTold = 0.05;  // less is not worth a word
constexpr double kMinGot = 1e-3;   // of a right; nothing at all has no logarithm

/// Places of one kind, of which the worst is told.
enum class Kind { sends, receives, rail, trips };

std::string_view node_of(std::string_view port) { return port.substr(0, port.find('/')); }

/// The nodes that a channel "leaf1->spine2", or "leaf1/p6->spine2/p1", leaves and enters.
std::pair<std::string_view, std::string_view> ends_of(std::string_view channel) {
  const auto middle = channel.find("->");
  if (middle == std::string_view::npos) return {};
  return {node_of(channel.substr(0, middle)), node_of(channel.substr(middle + 2))};
}

/// Logarithms of one run, by place: how its own are, and how all are.
class Measured {
 public:
  void add(Kind kind, std::set<std::string> places, double value) {
    ++all_[kind].count, all_[kind].sum += value;
    for (const std::string& place : places) {
      Sum& sum = by_place_[{kind, place}];
      ++sum.count, sum.sum += value;
    }
  }
  /// By place the mean of its own less the mean of the others.
  std::map<std::pair<Kind, std::string>, double> excess() const {
    std::map<std::pair<Kind, std::string>, double> found;
    for (const auto& [key, own] : by_place_) {
      const Sum& all = all_.at(key.first);
      if (own.count < all.count)
        found[key] = own.sum / own.count - (all.sum - own.sum) / (all.count - own.count);
    }
    return found;
  }

 private:
  struct Sum {
    double count = 0, sum = 0;
  };
  std::map<Kind, Sum> all_;
  std::map<std::pair<Kind, std::string>, Sum> by_place_;
};

void add_flows(const MeasuredRun& run, Measured& measured) {
  for (const MeasuredFlow& flow : run.flows) {
    if (!(flow.wanted > 0)) continue;
    const double got = -std::log(std::max(flow.delivered / flow.wanted, kMinGot));  // above: it is slow
    std::set<std::string> from{"from " + std::string(node_of(flow.src))};
    std::set<std::string> to{"to " + std::string(node_of(flow.dst))};
    if (flow.path.size() > 1) {
      from.insert(fmt::format("from {}", ends_of(run.channels[flow.path.front()]).second));
      to.insert(fmt::format("to {}", ends_of(run.channels[flow.path.back()]).first));
    }
    measured.add(Kind::sends, std::move(from), got);
    measured.add(Kind::receives, std::move(to), got);
    if (const auto slash = flow.src.find('/'); slash != std::string::npos)
      measured.add(Kind::rail, {"of rail " + flow.src.substr(slash + 1)}, got);
  }
}

/// Trips of one distance and size are compared.
void add_trips(const MeasuredRun& run, Measured& measured) {
  std::map<std::pair<std::size_t, Bytes>, std::vector<double>> all;
  for (const RoundTrip& trip : run.trips)
    if (is_comparable(trip.p50)) all[{trip.hops, trip.size}].push_back(std::log(trip.p50));
  std::map<std::pair<std::size_t, Bytes>, double> usual;
  for (auto& [key, values] : all) usual[key] = median(values);
  for (const RoundTrip& trip : run.trips) {
    if (trip.hops == 0 || trip.hops > trip.path.size() || !is_comparable(trip.p50)) continue;
    const auto [src, first] = ends_of(run.channels[trip.path.front()]);
    const auto [last, dst] = ends_of(run.channels[trip.path[trip.hops - 1]]);
    std::set<std::string> places;
    for (const std::string_view node : {src, first, last, dst}) places.insert(fmt::format("of {}", node));
    measured.add(Kind::trips, std::move(places), std::log(trip.p50) - usual.at({trip.hops, trip.size}));
  }
}

}  // namespace

std::vector<SlowPlace> slow_places(std::span<const MeasuredRun> runs) {
  std::map<std::pair<Kind, std::string>, std::vector<double>> excess;
  std::map<Kind, std::size_t> places;
  for (const MeasuredRun& run : runs) {
    Measured measured;
    add_flows(run, measured);
    add_trips(run, measured);
    for (const auto& [key, value] : measured.excess()) excess[key].push_back(value);
  }
  for (const auto& [key, values] : excess) ++places[key.first];
  std::map<Kind, std::pair<double, std::string>> worst;
  for (const auto& [key, values] : excess) {
    if (values.size() < kMinUnits || values.size() < runs.size()) continue;
    const Effect effect = block_effect(values);
    const double half = half_width(effect, kLevel / static_cast<double>(places[key.first]));
    if (effect.log_ratio - half <= 0 || effect.log_ratio < std::log1p(kMinTold)) continue;
    auto& found = worst[key.first];
    if (effect.log_ratio > found.first) found = {effect.log_ratio, key.second};
  }
  std::vector<SlowPlace> slow;
  for (const auto& [kind, place] : worst)
    slow.push_back(kind == Kind::trips ? SlowPlace{"round trips " + place.second, std::exp(place.first)}
                                       : SlowPlace{"flows " + place.second, std::exp(-place.first)});
  return slow;
}

std::string to_string(const SlowPlace& place) {
  return place.ratio < 1
             ? fmt::format("{} get {:.0f} % less than others", place.what, (1 - place.ratio) * 100)
             : fmt::format("{} take {:.0f} % longer than others", place.what, (place.ratio - 1) * 100);
}

}  // namespace weft::compare
