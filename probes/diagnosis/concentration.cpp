#include "probes/diagnosis/concentration.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "topology/model/fabric.hpp"

namespace weft::diagnosis {
namespace {

constexpr double kOneInAMillion = -13.8;         // nats
constexpr std::size_t kMaxConcentrations = 256;  // of a run: more are no cables that come and go
constexpr double kMaxOfOneHost = 0.5;            // of what is odd
constexpr double kMoreThanItsShare = 1.5;        // or of a host's share of all that crossed the channel

class Concentrating {
 public:
  Concentrating(const Fabric& fabric, std::vector<Traversal> traversals, double least)
      : fabric_(fabric),
        traversals_(std::move(traversals)),
        least_(least),
        seen_(fabric.channel_count(), 0),
        odd_(fabric.channel_count(), 0),
        odds_(kOneInAMillion - std::log(static_cast<double>(std::max<std::size_t>(seen_.size(), 1)))) {
    for (const Traversal& traversal : traversals_) {
      all_odd_ += traversal.odd ? 1 : 0;
      for (const ChannelId channel : traversal.channels) {
        ++seen_[channel.value()];
        odd_[channel.value()] += traversal.odd ? 1 : 0;
      }
    }
  }

  std::vector<Concentration> run() {
    std::vector<Concentration> all;
    for (auto at = clearest(); at && all.size() < kMaxConcentrations; at = clearest()) {
      all.push_back(concentration_at(*at));
      for (const std::uint32_t i : all.back().odd) take_out(i);
    }
    return all;
  }

 private:
  void take_out(std::uint32_t i) {
    traversals_[i].odd = false;
    --all_odd_;
    for (const ChannelId channel : traversals_[i].channels) --odd_[channel.value()];
  }
  bool crosses(std::uint32_t i, ChannelId channel) const {
    return std::ranges::count(traversals_[i].channels, channel) > 0;
  }
  bool is_a_hosts(ChannelId channel) const {
    return fabric_.is_host(fabric_.source_node(channel)) || fabric_.is_host(fabric_.target_node(channel));
  }

  /// Absent: none is beyond chance.
  std::optional<ChannelId> clearest() const {
    std::optional<ChannelId> found;
    double lowest = odds_;
    for (std::uint32_t c = 0; c < seen_.size(); ++c) {
      if (odd_[c] == 0) continue;
      const double others = static_cast<double>(traversals_.size()) - seen_[c];
      const double elsewhere = (static_cast<double>(all_odd_) - odd_[c]) / std::max(others, 1.0);
      const double nats = log_tail(odd_[c], seen_[c], std::max(elsewhere, least_));
      if (nats < lowest) lowest = nats, found = ChannelId(c);
    }
    return found;
  }

  Concentration concentration_at(ChannelId channel) const {
    Concentration found{.crossed = seen_[channel.value()]};
    for (std::uint32_t i = 0; i < traversals_.size(); ++i)
      if (traversals_[i].odd && crosses(i, channel)) found.odd.push_back(i);
    for (const ChannelId other : traversals_[found.odd.front()].channels)
      if (odd_[other.value()] == odd_[channel.value()] && seen_[other.value()] == seen_[channel.value()] &&
          std::ranges::all_of(found.odd, [&](std::uint32_t i) { return crosses(i, other); }))
        found.channels.push_back(other);
    std::ranges::sort(found.channels);
    found.channels.erase(std::unique(found.channels.begin(), found.channels.end()), found.channels.end());
    const auto between_switches =
        std::ranges::find_if(found.channels, [&](ChannelId c) { return !is_a_hosts(c); });
    found.of_one_host =
        between_switches == found.channels.end() || is_mostly_one_hosts(*between_switches, found.odd);
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
  bool is_mostly_one_hosts(ChannelId channel, const std::vector<std::uint32_t>& odd) const {
    std::vector<std::uint32_t> all;
    for (std::uint32_t i = 0; i < traversals_.size(); ++i)
      if (crosses(i, channel)) all.push_back(i);
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
  std::vector<std::uint32_t> seen_, odd_;  // by channel
  double odds_;
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
