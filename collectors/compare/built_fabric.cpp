#include "collectors/compare/built_fabric.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <queue>
#include <tuple>

#include "collectors/compare/measured_run.hpp"
#include "topology/base/readable.hpp"

namespace weft::compare {
namespace {

/// Where channels are of one group: the tier that is crossed, upwards or down, and the switch, or the pod,
/// that all of it leaves or enters.
using GroupKey = std::tuple<int, bool, bool, std::uint32_t>;  // tier, upwards, is a pod, its number

GroupKey group_of(const Fabric& fabric, ChannelId channel) {
  constexpr int kOfHost = -1;
  if (!fabric.between_switches(channel)) return {kOfHost, false, false, channel.value()};
  const NodeId from = fabric.source_node(channel), to = fabric.target_node(channel);
  const bool upwards = fabric.node(from).tier <= fabric.node(to).tier;
  const NodeId below = upwards ? from : to;
  const Node& node = fabric.node(below);
  const bool is_pod = node.tier > Tier::leaf && node.pod;
  return {static_cast<int>(node.tier), upwards, is_pod, is_pod ? *node.pod : below.value()};
}

/// "4 x 400 Gbit/s", of several rates one after the other.
std::string cables_text(const std::map<double, std::size_t>& by_rate) {
  std::string text;
  for (const auto& [rate, count] : by_rate)
    text += fmt::format("{}{} x {}", text.empty() ? "" : " and ", count, readable(Bandwidth::bit(rate)));
  return text;
}

void note_leaf(const Fabric& fabric, NodeId leaf, BuiltFabric& built) {
  std::map<double, std::size_t> to_hosts, up;  // by rate, how many
  double down_rate = 0, up_rate = 0;
  for (const ChannelId channel : fabric.channels_from(leaf)) {
    const double rate = fabric.rate(channel).bits_per_second();
    const NodeId other = fabric.target_node(channel);
    if (fabric.is_host(other))
      ++to_hosts[rate], down_rate += rate;
    else if (fabric.node(other).tier > fabric.node(leaf).tier)
      ++up[rate], up_rate += rate;
  }
  if (down_rate <= 0 || up_rate <= 0 || down_rate / up_rate <= built.oversubscription) return;
  built.oversubscription = down_rate / up_rate;
  built.widest_leaf =
      fmt::format("{}: {} to hosts, {} up", fabric.name_of(leaf), cables_text(to_hosts), cables_text(up));
}

/// What a flow may get of its share of all paths, where it wanted what it may on its own: shares are of rates
/// as built. One that asks for less than its share gets what it asks for, and one that its sender held back
/// what that put on the wire. (Others offer little because little was planned on a path that they share.)
double spread_right(const MeasuredRun& run, const MeasuredFlow& flow, double taken, double spread) {
  constexpr double kAsksForLess = 0.6;  // of its share; what is planned is 0.95 of it
  const double unit = run.built->host_rate > 0 ? run.line_rate / run.built->host_rate : 0;
  if (unit > 0 && flow.wanted < kAsksForLess * taken * unit) return std::min(flow.wanted, spread * unit);
  const double right = flow.wanted * spread / taken;
  const bool is_held_back = flow.offered && flow.sender_stalled;
  return is_held_back ? std::min(right, std::max(*flow.offered, flow.wanted)) : right;
}

}  // namespace

BuiltFabric built_fabric(const Fabric& fabric) {
  BuiltFabric built;
  std::map<GroupKey, std::uint32_t> groups;
  for (std::uint32_t i = 0; i < fabric.channel_count(); ++i) {
    const ChannelId channel(i);
    const double rate = fabric.rate(channel).bits_per_second();
    const auto number = static_cast<std::uint32_t>(built.groups.size());
    const auto [group, is_new] = groups.try_emplace(group_of(fabric, channel), number);
    if (is_new) built.groups.emplace_back();
    built.groups[group->second].push_back(rate);
    built.channels[fabric.name_of(channel)] = {rate, group->second};
    if (!fabric.between_switches(channel)) built.host_rate = std::max(built.host_rate, rate);
  }
  for (std::uint32_t i = 0; i < fabric.node_count(); ++i)
    if (!fabric.is_host(NodeId(i))) note_leaf(fabric, NodeId(i), built);
  return built;
}

std::vector<double> best_shares(std::span<const double> rates, std::size_t flows) {
  struct Channel {
    double rate;
    std::size_t flows = 0;
    std::size_t number = 0;
    double next_share() const { return rate / static_cast<double>(flows + 1); }
  };
  const auto is_less = [](const Channel& a, const Channel& b) {
    return a.next_share() != b.next_share() ? a.next_share() < b.next_share() : a.number > b.number;
  };
  std::priority_queue<Channel, std::vector<Channel>, decltype(is_less)> best(is_less);
  for (const double rate : rates) best.push({rate, 0, best.size()});
  std::vector<std::size_t> on(flows), count(rates.size());
  for (std::size_t& channel : on) {
    Channel taken = best.top();
    best.pop();
    channel = taken.number;
    ++taken.flows, ++count[channel];
    best.push(taken);
  }
  std::vector<double> shares;
  for (const std::size_t channel : on) shares.push_back(rates[channel] / static_cast<double>(count[channel]));
  return shares;
}

std::optional<std::vector<double>> spread_evenly(const MeasuredRun& run) {
  if (!run.built) return std::nullopt;
  std::vector<const BuiltFabric::Channel*> channels;
  for (const std::string& name : run.channels) {
    const auto at = run.built->channels.find(name);
    channels.push_back(at == run.built->channels.end() ? nullptr : &at->second);
  }
  using RoundAnd = std::pair<std::uint32_t, std::uint32_t>;  // and the number of a channel or a group
  std::map<RoundAnd, std::vector<std::size_t>> over_channel, over_group;  // flows
  for (std::size_t i = 0; i < run.flows.size(); ++i)
    for (const std::uint32_t channel : run.flows[i].path) {
      if (!channels[channel]) return std::nullopt;
      over_channel[{run.flows[i].round, channel}].push_back(i);
      auto& flows = over_group[{run.flows[i].round, channels[channel]->group}];
      if (flows.empty() || flows.back() != i) flows.push_back(i);
    }
  // Shares of each flow: on its path, and of all paths of its pair. None: its packets take several paths and
  // are spread already.
  constexpr double kNone = std::numeric_limits<double>::infinity();
  std::vector<double> taken(run.flows.size(), kNone), spread(run.flows.size(), kNone);
  for (const auto& [key, flows] : over_channel)
    for (const std::size_t i : flows)
      taken[i] = std::min(taken[i], channels[key.second]->rate / static_cast<double>(flows.size()));
  for (const auto& [key, flows] : over_group) {
    const auto shares = best_shares(run.built->groups[key.second], flows.size());
    for (std::size_t k = 0; k < flows.size(); ++k) spread[flows[k]] = std::min(spread[flows[k]], shares[k]);
  }
  std::vector<double> rates;
  for (std::size_t i = 0; i < run.flows.size(); ++i)
    rates.push_back(taken[i] < kNone ? spread_right(run, run.flows[i], taken[i], spread[i])
                                     : run.flows[i].wanted);
  return rates;
}

}  // namespace weft::compare
