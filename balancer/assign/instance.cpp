#include "balancer/assign/instance.hpp"

#include <algorithm>
#include <set>
#include <unordered_map>

#include "balancer/assign/known_paths.hpp"
#include "topology/base/check.hpp"
#include "topology/model/fabric.hpp"

namespace weft::assign {
namespace {

std::uint64_t key_of(std::uint32_t a, std::uint32_t b) { return std::uint64_t{a} << 32 | b; }

class InstanceMaker {
 public:
  InstanceMaker(const Fabric& fabric, const Capacities& capacities, const Routes& routes,
                const std::vector<demand::Flow>& flows, std::uint32_t qps, const PathMap* paths)
      : fabric_(fabric), capacities_(capacities), routes_(routes), flows_(flows) {
    instance_.qps = qps;
    instance_.labelled = paths != nullptr;
    if (paths) known_.emplace(fabric, capacities, *paths);
    for (std::uint32_t c = 0; c < fabric.channel_count(); ++c)
      instance_.weight.push_back(capacities[ChannelId(c)] / capacities.reference().bits_per_second());
  }

  Instance make() && {
    instance_.crossings.reserve(flows_.size());
    for (std::uint32_t f = 0; f < flows_.size(); ++f)
      if (const auto why = add(f); !why.empty())
        instance_.unassigned.push_back({describe(fabric_, flows_[f]), why});
    for (const CrossingFlow& crossing : instance_.crossings) {
      instance_.equal = instance_.equal && crossing.bytes == instance_.crossings.front().bytes;
      instance_.quantum = std::max(instance_.quantum, crossing.bytes);
    }
    return std::move(instance_);
  }

 private:
  /// Empty, or why the flow cannot be assigned.
  std::string add(std::uint32_t index) {
    const demand::Flow& flow = flows_[index];
    if (flow.src == flow.dst) return "source and destination are the same NIC";
    if (flow.bytes.count() <= 0) return "nothing to send: expected 1 byte and more";
    for (const ChannelId channel : {*fabric_.channel_from(flow.src), *fabric_.channel_into(flow.dst)})
      if (!capacities_.usable(channel)) return fmt::format("{} is to be avoided", fabric_.name_of(channel));
    const auto from = routes_.leaf_of(flow.src);
    const auto to = routes_.leaf_of(flow.dst);
    if (!from || !to) return "a NIC's cable leads to no switch";
    if (*from == *to) return instance_.local.push_back(index), "";
    const auto group = instance_.labelled ? by_nics(flow, *from, *to) : by_leaves(*from, *to);
    if (!group) return group.error().message;
    FlowGroup& found = instance_.groups[*group];
    found.flows++;
    found.bytes += static_cast<double>(flow.bytes.count());
    instance_.crossings.push_back(
        {index, *group, static_cast<double>(flow.bytes.count()) / static_cast<double>(instance_.qps)});
    return "";
  }

  Result<std::uint32_t> by_leaves(LeafId from, LeafId to) {
    const auto [at, is_new] =
        group_of_.try_emplace(key_of(from.value(), to.value()), static_cast<std::uint32_t>(groups_made()));
    if (is_new) instance_.groups.push_back({.from = from, .to = to});
    if (!routes_.connected(from, to))
      return fail(ErrorKind::not_found, "no usable path from {} to {}: {}",
                  fabric_.name_of(routes_.node_of(from)), fabric_.name_of(routes_.node_of(to)),
                  why_not_connected_ ? *why_not_connected_ : why_not_connected_.emplace(why_not_connected()));
    return at->second;
  }

  /// Paths up and down three tiers are all that there are in a tree of three levels alone.
  std::string_view why_not_connected() const {
    const auto same_tier = [this](const Link& link) {
      const Node& a = fabric_.node(fabric_.port(link.a).node);
      const Node& b = fabric_.node(fabric_.port(link.b).node);
      return a.kind == NodeKind::switch_ && b.kind == NodeKind::switch_ && a.tier == b.tier;
    };
    if (std::ranges::any_of(fabric_.links(), same_tier))
      return "switches of one tier are cabled to each other (a torus, a Dragonfly?): that shape is not "
             "supported, only trees are";
    if (std::ranges::any_of(fabric_.nodes(), [](const Node& node) { return node.tier > Tier::core; }))
      return "the fabric is a tree of more than three levels, which is not supported";
    return "the fabric is cut between them";
  }

  Result<std::uint32_t> by_nics(const demand::Flow& flow, LeafId from, LeafId to) {
    const auto key = key_of(flow.src.value(), flow.dst.value());
    if (const auto at = group_of_.find(key); at != group_of_.end()) return at->second;
    WEFT_TRY(auto routes, known_->routes(flow.src, flow.dst));
    const auto group = static_cast<std::uint32_t>(groups_made());
    instance_.groups.push_back({.from = from, .to = to, .routes = std::move(routes)});
    group_of_.emplace(key, group);
    return group;
  }

  std::size_t groups_made() const { return instance_.groups.size(); }

  const Fabric& fabric_;
  const Capacities& capacities_;
  const Routes& routes_;
  const std::vector<demand::Flow>& flows_;
  Instance instance_;
  std::optional<KnownPaths> known_;
  std::unordered_map<std::uint64_t, std::uint32_t> group_of_;
  std::optional<std::string_view> why_not_connected_;
};

}  // namespace

void Instance::fill_routes(const Routes& routes_between) {
  for (FlowGroup& group : groups)
    if (group.routes.empty() && group.flows > 0) group.routes = routes_between.between(group.from, group.to);
}

Instance make_instance(const Fabric& fabric, const Capacities& capacities, const Routes& routes,
                       const std::vector<demand::Flow>& flows, std::uint32_t qps, const PathMap* paths) {
  WEFT_CHECK(qps > 0);
  return InstanceMaker(fabric, capacities, routes, flows, qps, paths).make();
}

}  // namespace weft::assign
