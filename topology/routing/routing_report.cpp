#include "topology/routing/routing_report.hpp"

#include <algorithm>
#include <bitset>

#include "topology/model/fabric.hpp"

namespace weft::routing {
namespace {

using Ports = std::bitset<256>;

/// Looks for a ring of channels whose packets wait for room in the next.
class CreditLoop {
 public:
  CreditLoop(const Fabric& fabric, const ForwardingTables& tables, const std::vector<Ports>& waits_for)
      : fabric_(fabric),
        tables_(tables),
        waits_for_(waits_for),
        state_(fabric.channel_count(), State::unseen) {}

  /// Depth-first. Empty: there is none.
  std::vector<ChannelId> find() {
    for (std::uint32_t start = 0; start < fabric_.channel_count(); ++start)
      if (state_[start] == State::unseen)
        if (auto found = descend(start); !found.empty()) return found;
    return {};
  }

 private:
  enum class State : std::uint8_t { unseen, on_the_way, done };

  std::vector<ChannelId> descend(std::uint32_t start) {
    std::vector<std::pair<std::uint32_t, unsigned>> stack{{start, 0}};
    state_[start] = State::on_the_way;
    while (!stack.empty()) {
      auto& [channel, port] = stack.back();
      const auto at = tables_.index_of(fabric_.target_node(ChannelId(channel)));
      while (at && port < 255 && !waits_for_[channel].test(port)) ++port;
      if (!at || port >= 255) {
        state_[channel] = State::done;
        stack.pop_back();
        continue;
      }
      const auto behind = tables_.behind(*at, static_cast<std::uint8_t>(port++));
      if (behind.to < 0) continue;
      if (state_[behind.channel] == State::on_the_way) {
        auto from = std::find_if(stack.begin(), stack.end(),
                                 [&](const auto& s) { return s.first == behind.channel; });
        std::vector<ChannelId> loop;
        for (; from != stack.end(); ++from) loop.emplace_back(from->first);
        return loop;
      }
      if (state_[behind.channel] == State::unseen) {
        state_[behind.channel] = State::on_the_way;
        stack.emplace_back(behind.channel, 0U);
      }
    }
    return {};
  }

  const Fabric& fabric_;
  const ForwardingTables& tables_;
  const std::vector<Ports>& waits_for_;  // by channel: the ports at its end that its packets go on to
  std::vector<State> state_;             // by channel
};

/// `load`: routes over each channel.
RoutingReport::TierUse top_tier_of(const Fabric& fabric, const ForwardingTables& tables,
                                   const std::vector<std::uint64_t>& load) {
  Tier top = Tier::host;
  for (std::size_t s = 0; s < tables.switch_count(); ++s)
    top = std::max(top, fabric.node(tables.switch_at(s)).tier);
  RoutingReport::TierUse use;
  std::uint64_t sum = 0, most = 0;
  for (std::size_t s = 0; s < tables.switch_count(); ++s) {
    if (fabric.node(tables.switch_at(s)).tier != top) continue;
    std::uint64_t through = 0;
    for (const PortId port : fabric.ports_of(tables.switch_at(s)))
      if (const auto in = fabric.channel_into(port)) through += load[in->value()];
    use.switches.emplace_back(tables.switch_at(s), through);
    sum += through;
    most = std::max(most, through);
  }
  if (sum > 0)
    use.busiest_over_mean =
        static_cast<double>(most) * static_cast<double>(use.switches.size()) / static_cast<double>(sum);
  return use;
}

RoutingReport::Adaptive count_adaptive(const ForwardingTables& tables) {
  RoutingReport::Adaptive adaptive;
  for (std::size_t s = 0; s < tables.switch_count(); ++s) switch (tables.adaptive(s)) {
      case AdaptiveRouting::on:
        ++adaptive.on;
        break;
      case AdaptiveRouting::other_service_levels:
        ++adaptive.other_service_levels;
        break;
      case AdaptiveRouting::off:
        ++adaptive.off;
        break;
      case AdaptiveRouting::unknown:
        ++adaptive.unknown;
        break;
    }
  return adaptive;
}

/// The routes to one LID form a forest over the switches: each sends to one next switch. Weights (source
/// NICs) flow down it from the leaves.
class Analysis {
 public:
  Analysis(const InfinibandFabric& whole, const ForwardingTables& tables)
      : fabric_(whole.fabric),
        tables_(tables),
        own_(tables.switch_count()),
        weight_(tables.switch_count()),
        degree_(tables.switch_count()),
        climbs_(tables.switch_count()) {
    report_.load.assign(fabric_.channel_count(), 0);
    waits_for_.resize(fabric_.channel_count());
    for (const PortId nic : fabric_.nics())
      if (const auto leaf = leaf_of(nic)) ++own_[*leaf];
    for (std::size_t s = 0; s < tables_.switch_count(); ++s)
      tier_.push_back(fabric_.node(tables_.switch_at(s)).tier);
  }

  RoutingReport run() {
    for (const PortId nic : fabric_.nics()) {
      const auto lids = tables_.lids_of(nic);
      if (!lids) continue;
      measure_distances(nic);
      for (std::uint32_t i = 0; i < lids->count(); ++i)
        follow(nic, Lid(static_cast<std::uint16_t>(lids->base.value() + i)));
    }
    report_.credit_loop = CreditLoop(fabric_, tables_, waits_for_).find();
    report_.top = top_tier_of(fabric_, tables_, report_.load);
    report_.adaptive = count_adaptive(tables_);
    return std::move(report_);
  }

 private:
  std::optional<std::size_t> leaf_of(PortId nic) const {
    const auto out = fabric_.channel_from(nic);
    return out ? tables_.index_of(fabric_.target_node(*out)) : std::nullopt;
  }

  /// Hops from every switch to the NIC, by the cables alone. The same for all NICs of a leaf.
  void measure_distances(PortId nic) {
    const auto leaf = leaf_of(nic);
    if (leaf == measured_from_) return;
    measured_from_ = leaf;
    distance_.assign(tables_.switch_count(), kFar);
    if (!leaf) return;
    std::vector<std::size_t> frontier{*leaf};
    distance_[*leaf] = 1;
    while (!frontier.empty()) {
      std::vector<std::size_t> further;
      for (const std::size_t at : frontier)
        for (unsigned port = 1; port < 255; ++port)
          if (const auto to = tables_.behind(at, static_cast<std::uint8_t>(port)).to;
              to >= 0 && distance_[static_cast<std::size_t>(to)] == kFar) {
            distance_[static_cast<std::size_t>(to)] = distance_[at] + 1;
            further.push_back(static_cast<std::size_t>(to));
          }
      frontier = std::move(further);
    }
  }

  ForwardingTables::Behind next(std::size_t at, Lid lid) const {
    const auto port = tables_.entry(at, lid);
    return port == ForwardingTables::kNone || port == 0 ? ForwardingTables::Behind{}
                                                        : tables_.behind(at, port);
  }

  void follow(PortId nic, Lid lid) {
    const std::size_t n = tables_.switch_count();
    std::fill(degree_.begin(), degree_.end(), 0U);
    for (std::size_t s = 0; s < n; ++s)
      if (const auto to = next(s, lid).to; to >= 0) ++degree_[static_cast<std::size_t>(to)];
    weight_ = own_;
    if (const auto leaf = leaf_of(nic)) --weight_[*leaf];  // it does not send to itself
    report_.routes += fabric_.nics().size() - 1;
    order_.clear();
    for (std::size_t s = 0; s < n; ++s)
      if (degree_[s] == 0) order_.push_back(s);
    for (std::size_t i = 0; i < order_.size(); ++i) pass_on_weight(order_[i], nic, lid);
    for (std::size_t s = 0; s < n; ++s)
      if (degree_[s] > 0) lose(s, lid, RouteEnd::loop);
    mark_turns(lid);
  }

  void pass_on_weight(std::size_t at, PortId nic, Lid lid) {
    const auto behind = next(at, lid);
    if (behind.to < 0) {
      const bool home = behind.to == ForwardingTables::host_end(nic);
      if (!home)
        lose(at, lid,
             behind.to != ForwardingTables::kNowhere             ? RouteEnd::strayed
             : tables_.entry(at, lid) == ForwardingTables::kNone ? RouteEnd::no_entry
                                                                 : RouteEnd::dead_port);
      if (home) report_.load[behind.channel] += weight_[at];
      return;
    }
    const auto to = static_cast<std::size_t>(behind.to);
    report_.load[behind.channel] += weight_[at];
    weight_[to] += weight_[at];
    if (--degree_[to] == 0) order_.push_back(to);
    if (weight_[at] == 0) return;
    report_.shortest = report_.shortest && distance_[to] < distance_[at];
    waits_for_[behind.channel].set(tables_.entry(to, lid));
  }

  /// Up again after down: from the destination backwards, whether a switch's route still climbs.
  void mark_turns(Lid lid) {
    for (std::size_t i = order_.size(); i-- > 0;) {
      const std::size_t at = order_[i];
      const auto to = next(at, lid).to;
      if (to < 0) {
        climbs_[at] = false;
        continue;
      }
      const auto up = tier_[static_cast<std::size_t>(to)] > tier_[at];
      const bool later = climbs_[static_cast<std::size_t>(to)];
      if (!up && later && weight_[at] > 0) report_.up_down = false;
      climbs_[at] = up || later;
    }
  }

  void lose(std::size_t at, Lid lid, RouteEnd end) {
    if (weight_[at] == 0) return;
    report_.unreachable += weight_[at];
    if (end == RouteEnd::loop) report_.looping += weight_[at];
    if (report_.broken.size() < kMaxExamples) report_.broken.push_back({tables_.switch_at(at), lid, end});
  }

  static constexpr unsigned kFar = 0xFFFF;

  const Fabric& fabric_;
  const ForwardingTables& tables_;
  RoutingReport report_;
  std::vector<std::uint64_t> own_;     // NICs at each switch
  std::vector<Tier> tier_;             // of each switch
  std::vector<std::uint64_t> weight_;  // NICs whose route to the LID at hand passes each switch
  std::vector<unsigned> degree_;
  std::vector<bool> climbs_;  // the route from this switch on goes up somewhere
  std::vector<std::size_t> order_;
  std::vector<unsigned> distance_;
  std::optional<std::size_t> measured_from_;
  std::vector<Ports> waits_for_;  // by channel: the ports at its end that its packets go on to
};

}  // namespace

RoutingReport report_routing(const InfinibandFabric& fabric, const ForwardingTables& tables) {
  return Analysis(fabric, tables).run();
}

std::string describe_adaptive(const RoutingReport::Adaptive& adaptive) {
  const auto all = adaptive.on + adaptive.other_service_levels + adaptive.off + adaptive.unknown;
  if (adaptive.unknown == all) return "not known (switches of Mellanox and NVIDIA can tell)";
  std::string text = adaptive.on == 0 ? "off"
                                      : fmt::format(
                                            "on at {} of {} switches: there a label takes any of the "
                                            "shortest ways",
                                            adaptive.on, all);
  if (adaptive.other_service_levels > 0)
    text += fmt::format("; at {} not for service level 0", adaptive.other_service_levels);
  if (adaptive.unknown > 0) text += fmt::format("; not known of {}", adaptive.unknown);
  return text;
}

std::string describe_engine(const RoutingReport& report) {
  if (report.routes == report.unreachable) return "no routes: no subnet manager has set the tables";
  if (!report.credit_loop.empty())  // which no route that goes up, then down, can close
    return report.shortest
               ? "shortest paths that close a ring: as minhop routes a torus or a tree with missing cables"
               : "detours that close a ring: none of updn, ftree or a deadlock-free engine on one lane";
  if (report.shortest && report.up_down)
    return "shortest paths, up then down: as minhop, updn and ftree route";
  if (report.shortest)
    return "shortest paths, with turns from down to up: as minhop routes where cables are missing";
  if (report.up_down) return "up then down, with detours: as updn routes where cables are missing";
  return "detours and turns: none of minhop, updn, ftree on a tiered fabric";
}

}  // namespace weft::routing
