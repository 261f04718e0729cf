#include "probes/diagnosis/concentration.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "topology/model/fabric.hpp"

namespace weft::diagnosis {
namespace {

constexpr double kOneInAMillion = -13.8;         // nats
constexpr std::size_t kMaxConcentrations = 256;  // of a run: more are no cables that come and go
constexpr double kMaxOfOneHost = 0.5;            // of what is odd
constexpr double kMoreThanItsShare = 1.5;        // or of a host's share of all that crossed the channel

/// A direction of a cable, or both: what comes and goes on both lies on either with half of what is odd, and
/// all of it on the channels before and after.
struct Unit {
  LinkId link;
  std::optional<ChannelId> channel = std::nullopt;
  std::uint32_t seen = 0;
  std::uint32_t odd = 0;
};

class Concentrating {
 public:
  Concentrating(const Fabric& fabric, std::vector<Traversal> traversals, double least)
      : fabric_(fabric), traversals_(std::move(traversals)), least_(least) {
    for (std::uint32_t l = 0; l < fabric.link_count(); ++l)
      for (const std::optional<ChannelId> channel :
           {std::optional(Fabric::a_to_b(LinkId(l))), std::optional(Fabric::b_to_a(LinkId(l))),
            std::optional<ChannelId>()})
        units_.push_back({LinkId(l), channel});
    odds_ = kOneInAMillion - std::log(static_cast<double>(std::max<std::size_t>(units_.size(), 1)));
    for (std::uint32_t i = 0; i < traversals_.size(); ++i) {
      const Traversal& traversal = traversals_[i];
      if (traversal.odd) odd_.push_back(i);
      all_odd_ += traversal.odd ? 1 : 0;
      for (Unit* unit : units_of(traversal)) {
        ++unit->seen;
        unit->odd += traversal.odd ? 1 : 0;
      }
    }
  }

  std::vector<Concentration> run() {
    std::vector<Concentration> all;
    for (const Unit* at = clearest(); at != nullptr && all.size() < kMaxConcentrations; at = clearest()) {
      all.push_back(concentration_at(*at));
      for (const std::uint32_t i : all.back().odd) take_out(i);
    }
    return all;
  }

 private:
  /// Each once: a round trip may cross a cable there and back.
  std::vector<Unit*> units_of(const Traversal& traversal) {
    std::vector<Unit*> units;
    const auto add = [&](std::size_t at) {
      if (std::ranges::find(units, &units_[at]) == units.end()) units.push_back(&units_[at]);
    };
    for (const ChannelId channel : traversal.channels) {
      const std::size_t first = 3 * Fabric::link_of(channel).value();
      add(first + (*units_[first].channel == channel ? 0 : 1));
      add(first + 2);
    }
    return units;
  }
  void take_out(std::uint32_t i) {
    traversals_[i].odd = false;
    --all_odd_;
    for (Unit* unit : units_of(traversals_[i])) --unit->odd;
  }
  bool crosses(std::uint32_t i, const Unit& unit) const {
    return std::ranges::any_of(traversals_[i].channels, [&](ChannelId channel) {
      return unit.channel ? channel == *unit.channel : Fabric::link_of(channel) == unit.link;
    });
  }
  bool is_a_hosts(const Unit& unit) const { return !fabric_.between_switches(unit.link); }

  /// Null: none is beyond chance.
  const Unit* clearest() const {
    const Unit* found = nullptr;
    double lowest = odds_;
    for (const Unit& unit : units_) {
      if (unit.odd == 0) continue;
      const double others = static_cast<double>(traversals_.size()) - unit.seen;
      const double elsewhere = (static_cast<double>(all_odd_) - unit.odd) / std::max(others, 1.0);
      const double nats = log_tail(unit.odd, unit.seen, std::max(elsewhere, least_));
      if (nats < lowest) lowest = nats, found = &unit;
    }
    return found;
  }

  /// With the units that cannot be told from it: of as many traversals, and of all that are odd.
  Concentration concentration_at(const Unit& clearest) const {
    Concentration found{.crossed = clearest.seen};
    for (const std::uint32_t i : odd_)
      if (traversals_[i].odd && crosses(i, clearest)) found.odd.push_back(i);
    const Unit* between_switches = nullptr;
    for (const Unit& unit : units_) {
      if (unit.odd != clearest.odd || unit.seen != clearest.seen || (!unit.channel && clearest.channel) ||
          !std::ranges::all_of(found.odd, [&](std::uint32_t i) { return crosses(i, unit); }))
        continue;
      if (between_switches == nullptr && !is_a_hosts(unit)) between_switches = &unit;
      if (unit.channel)
        found.channels.push_back(*unit.channel);
      else
        found.channels.insert(found.channels.end(), {Fabric::a_to_b(unit.link), Fabric::b_to_a(unit.link)});
    }
    std::ranges::sort(found.channels);
    found.channels.erase(std::unique(found.channels.begin(), found.channels.end()), found.channels.end());
    found.of_one_host = between_switches == nullptr || is_mostly_one_hosts(*between_switches, found.odd);
    return found;
  }

  /// By host: how many of these it is an end of.
  std::map<NodeId, double> ends_of(const std::vector<std::uint32_t>& traversals) const {
    std::map<NodeId, double> ends;
    for (const std::uint32_t i : traversals) {
      const auto channels = traversals_[i].channels;
      std::vector<NodeId> hosts;
      for (const ChannelId channel : channels)
        for (const NodeId node : {fabric_.source_node(channel), fabric_.target_node(channel)})
          if (fabric_.is_host(node) && std::ranges::count(hosts, node) == 0) hosts.push_back(node);
      for (const NodeId host : hosts) ++ends[host];
    }
    return ends;
  }
  bool is_mostly_one_hosts(const Unit& unit, const std::vector<std::uint32_t>& odd) const {
    std::vector<std::uint32_t> all;
    for (std::uint32_t i = 0; i < traversals_.size(); ++i)
      if (crosses(i, unit)) all.push_back(i);
    const auto of_all = ends_of(all);
    for (const auto& [host, count] : ends_of(odd)) {
      const double usual = of_all.at(host) / static_cast<double>(all.size());
      if (count / static_cast<double>(odd.size()) > std::max(kMaxOfOneHost, kMoreThanItsShare * usual))
        return true;
    }
    return false;
  }

  const Fabric& fabric_;
  std::vector<Traversal> traversals_;
  double least_;
  std::vector<std::uint32_t> odd_;  // of the traversals, those that were odd at first
  std::vector<Unit> units_;         // three of each link
  double odds_ = 0;
  std::size_t all_odd_ = 0;
};

}  // namespace

double log_tail(double k, double n, double p) {
  const double q = k / n;
  if (q <= p) return 0;
  const double other = q < 1 ? (1 - q) * std::log((1 - q) / (1 - p)) : 0.0;
  return -n * (q * std::log(q / p) + other);
}

std::vector<Concentration> concentrations(const Fabric& fabric, std::vector<Traversal> traversals,
                                          double least) {
  if (std::ranges::none_of(traversals, &Traversal::odd)) return {};
  return Concentrating(fabric, std::move(traversals), least).run();
}

}  // namespace weft::diagnosis
