#include "probes/diagnosis/delay/delay_causes.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "topology/model/fabric.hpp"

namespace weft::diagnosis {
namespace {

constexpr double kFaultyChannels = 4.0;  // prior number in a fabric
constexpr double kRareSide = 4.6;        // nats: of a hundred faults one is of a whole side of a switch
constexpr std::uint32_t kMin = 2;        // round trips over a channel: of one alone it may be a whim
// Sides of a switch: by the tier of its peers, all, or the parallel cables to one peer.
constexpr int kToAll = 1000;
constexpr int kToOneNode = 1001;

/// Nearly all: one in eight may be late and fast at once, by a clock or a wrong path.
bool is_suspect(std::uint32_t seen, std::uint32_t late) {
  return seen >= kMin && 8 * static_cast<std::uint64_t>(late) >= 7 * static_cast<std::uint64_t>(seen);
}

using Entries = std::vector<DelayFit::Entry>;

/// The same for columns that are multiples of each other.
std::vector<std::pair<std::uint32_t, float>> shape_of(const Entries& entries) {
  std::vector<std::pair<std::uint32_t, float>> shape;
  for (const auto& entry : entries)
    shape.emplace_back(entry.row, static_cast<float>(entry.weight / entries.front().weight));
  return shape;
}

class Collector {
 public:
  Collector(const Fabric& fabric, const DelayRows& rows, const std::vector<std::uint32_t>& seen,
            const std::vector<std::uint32_t>& late)
      : fabric_(fabric), rows_(rows), seen_(seen), of_channel_(fabric.channel_count()) {
    double crossed = 0;
    for (std::uint32_t c = 0; c < seen.size(); ++c) {
      crossed += seen[c] > 0;
      if (is_suspect(seen[c], late[c])) suspects_.insert(ChannelId(c));
    }
    cost_ = std::log(std::max(crossed, 2 * kFaultyChannels) / kFaultyChannels);
    for (std::uint32_t i = 0; i < rows.rows().size(); ++i)
      for (const ChannelId channel : rows.channels_of(i))
        if (suspects_.contains(channel)) of_channel_[channel.value()].push_back({i, 1.0});
  }

  std::vector<DelayCause> collect() && {
    for (const ChannelId channel : suspects_) add(of_channel_[channel.value()], {channel}, cost_);
    for (std::uint32_t i = 0; i < fabric_.link_count(); ++i) add_cable(LinkId(i));
    for (std::uint32_t n = 0; n < fabric_.node_count(); ++n)
      if (!fabric_.is_host(NodeId(n))) add_sides(NodeId(n));
    add_shared();
    // A side that nothing else imitates is no more than its cables one by one.
    std::erase_if(causes_, [](const DelayCause& cause) {
      return !cause.shared && cause.options.size() == 1 && !are_one_cable(cause.options.front());
    });
    return std::move(causes_);
  }

 private:
  void add(Entries entries, std::vector<ChannelId> option, double cost) {
    const auto [at, is_new] = known_.try_emplace(shape_of(entries), causes_.size());
    if (is_new) causes_.push_back({.column = {std::move(entries), cost}});
    auto& options = causes_[at->second].options;
    if (!option.empty() && std::ranges::find(options, option) == options.end())
      options.push_back(std::move(option));
  }

  /// Both ways of a cable between switches at once: most that are bad are bad both ways.
  void add_cable(LinkId link) {
    const ChannelId there = Fabric::a_to_b(link), back = Fabric::b_to_a(link);
    const bool suspected = suspects_.contains(there) && suspects_.contains(back);
    if (!suspected || !fabric_.between_switches(there)) return;
    if (shape_of(of_channel_[there.value()]) == shape_of(of_channel_[back.value()])) return;
    add_sum({there, back}, cost_);
  }

  Entries sum_of(const std::vector<ChannelId>& channels) const {
    std::map<std::uint32_t, double> sum;
    for (const ChannelId channel : channels)
      for (const auto& entry : of_channel_[channel.value()]) sum[entry.row] += entry.weight;
    Entries entries;
    for (const auto& [row, weight] : sum) entries.push_back({row, weight});
    return entries;
  }

  void add_sum(const std::vector<ChannelId>& channels, double cost) { add(sum_of(channels), channels, cost); }

  /// Its channels by where they lead and which way, and all that come in or go out.
  void add_sides(NodeId node) {
    std::map<std::pair<int, bool>, std::vector<ChannelId>> sides;
    for (const ChannelId out : fabric_.channels_from(node)) {
      const NodeId peer_node = fabric_.target_node(out);
      const Node& peer = fabric_.node(peer_node);
      for (const bool leaves : {true, false}) {
        const ChannelId channel = leaves ? out : Fabric::reverse(out);
        if (seen_[channel.value()] == 0) continue;
        // Round trips cross a host's cable both ways, always.
        const bool to_host = peer.kind == NodeKind::host;
        sides[{to_host ? -1 : static_cast<int>(peer.tier), !to_host && leaves}].push_back(channel);
        sides[{kToAll, leaves}].push_back(channel);
        if (!to_host) sides[{kToOneNode + static_cast<int>(peer_node.value()), leaves}].push_back(channel);
      }
    }
    std::set<std::vector<ChannelId>> distinct;
    for (auto& [side, channels] : sides) {
      std::ranges::sort(channels);
      if (distinct.insert(channels).second) add_side(node, channels);
    }
  }

  void add_side(NodeId node, const std::vector<ChannelId>& channels) {
    const auto suspect = [&](ChannelId c) { return suspects_.contains(c); };
    if (channels.size() < 2 || !std::ranges::all_of(channels, suspect)) return;
    std::set<std::size_t> single;
    for (const ChannelId channel : channels) single.insert(known_.at(shape_of(of_channel_[channel.value()])));
    if (single.size() < 2) return;  // one cause already
    if (single.size() == 2 && mixes_cables(node, single))
      add_to_cables(channels);
    else
      add_sum(channels, cost_ + kRareSide);
  }

  /// A switch with two neighbours: its cables are each other's alternative, and rather than the whole side.
  void add_to_cables(const std::vector<ChannelId>& side) {
    if (const auto at = known_.find(shape_of(sum_of(side))); at != known_.end())
      causes_[at->second].sides.push_back(side);
  }

  bool mixes_cables(NodeId node, const std::set<std::size_t>& single) const {
    return std::ranges::any_of(single, [&](std::size_t cause) {
      std::set<LinkId> cables;
      for (const auto& option : causes_[cause].options)
        for (const ChannelId c : option)
          if (fabric_.source_node(c) == node || fabric_.target_node(c) == node)
            cables.insert(Fabric::link_of(c));
      return cables.size() > 1;
    });
  }

  void add_shared() {
    std::set<std::size_t> lengths;
    for (const DelayKind& kind : rows_.kinds())
      if (kind.shared > 0) lengths.insert(kind.hops);
    for (const std::size_t hops : lengths) {
      Entries entries;
      for (std::uint32_t i = 0; i < rows_.rows().size(); ++i)
        if (rows_.kind_of(i).hops == hops) entries.push_back({i, 1.0});
      const auto shape = shape_of(entries);
      add(std::move(entries), {}, cost_ + kRareSide);
      causes_[known_.at(shape)].shared = true;
    }
  }

  const Fabric& fabric_;
  const DelayRows& rows_;
  const std::vector<std::uint32_t>& seen_;
  std::vector<Entries> of_channel_;
  std::set<ChannelId> suspects_;
  double cost_ = 0;
  std::map<std::vector<std::pair<std::uint32_t, float>>, std::size_t> known_;
  std::vector<DelayCause> causes_;
};

}  // namespace

bool are_one_cable(const std::vector<ChannelId>& channels) {
  return std::ranges::all_of(channels, [&](ChannelId channel) {
    return Fabric::link_of(channel) == Fabric::link_of(channels.front());
  });
}

std::vector<DelayCause> delay_causes(const Fabric& fabric, const DelayRows& rows,
                                     const std::vector<std::uint32_t>& seen,
                                     const std::vector<std::uint32_t>& late) {
  return Collector(fabric, rows, seen, late).collect();
}

void list_sides(std::vector<DelayCause>& causes, const std::vector<std::uint32_t>& at_work) {
  for (const std::uint32_t c : at_work) {
    std::set<ChannelId> own;
    for (const auto& option : causes[c].options) own.insert(option.begin(), option.end());
    const auto shares = [&](std::uint32_t other) {
      return other != c && std::ranges::any_of(causes[other].options, [&](const auto& option) {
               return std::ranges::any_of(option, [&](ChannelId id) { return own.contains(id); });
             });
    };
    if (!std::ranges::any_of(at_work, shares)) continue;
    auto& cause = causes[c];
    cause.options.insert(cause.options.end(), cause.sides.begin(), cause.sides.end());
    cause.sides.clear();
  }
}

bool has_shared_channel(const DelayRows& rows, const std::vector<std::uint32_t>& seen) {
  std::vector<std::uint32_t> of_kind(rows.kinds().size(), 0);
  std::vector<std::vector<std::uint32_t>> crossed(of_kind.size());
  for (auto& by_channel : crossed) by_channel.resize(seen.size());
  for (std::size_t i = 0; i < rows.rows().size(); ++i) {
    const std::uint32_t kind = rows.rows()[i].kind;
    ++of_kind[kind];
    for (const ChannelId channel : rows.channels_of(i)) ++crossed[kind][channel.value()];
  }
  for (std::size_t c = 0; c < seen.size(); ++c) {
    bool on_all = seen[c] > 0;
    for (std::size_t kind = 0; kind < of_kind.size(); ++kind)
      on_all &= crossed[kind][c] == 0 || crossed[kind][c] == of_kind[kind];
    if (on_all) return true;
  }
  return false;
}

}  // namespace weft::diagnosis
