#include "balancer/export/slurm_topology.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "balancer/export/slurm_node.hpp"
#include "topology/base/disjoint_sets.hpp"

namespace weft::exports {
namespace {

constexpr std::size_t kNamed = 5;  // of those that are missing

/// The hosts that are meant.
Result<std::vector<NodeId>> chosen_hosts(const Fabric& fabric,
                                         const std::optional<std::vector<std::string>>& nodes) {
  const std::span<const NodeId> all = fabric.hosts();
  if (!nodes) return std::vector<NodeId>(all.begin(), all.end());
  std::set<std::string_view> left(nodes->begin(), nodes->end());
  std::vector<NodeId> chosen;
  for (const NodeId host : all)
    if (left.erase(fabric.name_of(host)) > 0) chosen.push_back(host);
  if (left.empty()) return chosen;
  std::vector<std::string_view> first(left.begin(), left.end());
  const std::size_t count = first.size();
  first.resize(std::min(count, kNamed));
  return fail(ErrorKind::invalid_input,
              "{}{}: no host of fabric {}, and a node beneath no switch is given to no job with others: "
              "correct the fabric file, or leave the node out of --nodes",
              fmt::join(first, ", "), count > kNamed ? fmt::format(" and {} more", count - kNamed) : "",
              fabric.name());
}

/// Joins tier by tier what is cabled there, and makes a switch of what that joins anew.
class TreeBuilder {
 public:
  TreeBuilder(const Fabric& fabric, const std::vector<NodeId>& hosts)
      : fabric_(fabric), joined_(fabric.node_count()), links_(kTiers.size()), switches_(kTiers.size()) {
    for (const NodeId host : hosts) tops_.push_back({host, fabric.name_of(host), true});
    const auto tier_of = [&](PortId port) { return fabric.node(fabric.port(port).node).tier; };
    for (std::uint32_t i = 0; i < fabric.link_count(); ++i) {
      const Link& link = fabric.link(LinkId(i));
      links_[static_cast<std::size_t>(std::max(tier_of(link.a), tier_of(link.b)))].push_back(LinkId(i));
    }
    for (std::uint32_t i = 0; i < fabric.node_count(); ++i)
      if (const Node& node = fabric.node(NodeId(i)); node.kind == NodeKind::switch_)
        switches_[static_cast<std::size_t>(node.tier)].push_back(NodeId(i));
  }

  SlurmTopology build() && {
    for (std::size_t tier = 1; tier < kTiers.size(); ++tier) join(tier);
    for (const Top& top : tops_) (top.is_host ? built_.unconnected : built_.roots).push_back(top.name);
    return std::move(built_);
  }

 private:
  /// What nothing joins with others yet.
  struct Top {
    NodeId member;  // its first host
    std::string name;
    bool is_host = false;
  };

  void join(std::size_t tier) {
    for (const LinkId link : links_[tier])
      joined_.join(fabric_.port(fabric_.link(link).a).node.value(),
                   fabric_.port(fabric_.link(link).b).node.value());
    std::map<std::uint32_t, std::vector<std::string>> names;
    for (const NodeId node : switches_[tier])
      names[joined_.root(node.value())].push_back(fabric_.name_of(node));
    std::map<std::uint32_t, std::vector<Top>> parts;
    for (Top& top : tops_) parts[joined_.root(top.member.value())].push_back(std::move(top));
    tops_.clear();
    for (auto& [root, below] : parts) tops_.push_back(top_of(std::move(below), names[root]));
    std::ranges::sort(tops_, {}, &Top::member);
  }

  /// One host at a switch stands beneath it; a switch that joins nothing else is left out.
  Top top_of(std::vector<Top> below, const std::vector<std::string>& names) {
    if (names.empty() || (below.size() == 1 && !below.front().is_host)) return std::move(below.front());
    SlurmSwitch made{names.size() == 1 ? names.front() : names.front() + "-" + names.back()};
    for (const Top& top : below) (top.is_host ? made.nodes : made.switches).push_back(top.name);
    if (!made.nodes.empty() && !made.switches.empty()) {  // Slurm's have either
      SlurmSwitch beside{made.name + "_nodes", std::exchange(made.nodes, {})};
      made.switches.push_back(keep(std::move(beside)));
    }
    return {below.front().member, keep(std::move(made))};
  }

  /// Its name, which no other has.
  std::string keep(SlurmSwitch made) {
    while (!taken_.insert(made.name).second) made.name += '_';
    built_.switches.push_back(std::move(made));
    return built_.switches.back().name;
  }

  const Fabric& fabric_;
  DisjointSets joined_;
  std::vector<std::vector<LinkId>> links_;     // by the higher tier of their ends
  std::vector<std::vector<NodeId>> switches_;  // by tier
  std::vector<Top> tops_;
  std::set<std::string> taken_;
  SlurmTopology built_;
};

Result<void> check_names(const SlurmTopology& topology) {
  const auto check = [](const std::string& name) -> Result<void> {
    if (is_slurm_name(name)) return {};
    return fail(ErrorKind::usage,
                "'{}' is no name that Slurm takes for one node or switch: rename it in "
                "the fabric file",
                name);
  };
  for (const SlurmSwitch& one : topology.switches) {
    WEFT_TRY_VOID(check(one.name));
    for (const std::string& node : one.nodes) WEFT_TRY_VOID(check(node));
  }
  return {};
}

}  // namespace

Result<SlurmTopology> slurm_topology(const Fabric& fabric,
                                     const std::optional<std::vector<std::string>>& nodes) {
  WEFT_TRY(const auto hosts, chosen_hosts(fabric, nodes));
  auto topology = TreeBuilder(fabric, hosts).build();
  WEFT_TRY_VOID(check_names(topology));
  if (topology.switches.empty())
    return fail(ErrorKind::invalid_input, "fabric {} joins none of {} hosts: there is no tree to write",
                fabric.name(), hosts.size());
  return topology;
}

std::string topology_conf(const SlurmTopology& topology) {
  std::string text;
  for (const SlurmSwitch& one : topology.switches)
    text += one.nodes.empty()
                ? fmt::format("SwitchName={} Switches={}\n", one.name, fmt::join(one.switches, ","))
                : fmt::format("SwitchName={} Nodes={}\n", one.name, fmt::join(one.nodes, ","));
  return text;
}

std::string topology_yaml(const SlurmTopology& topology) {
  std::string text = "---\n- topology: weft\n  cluster_default: true\n  tree:\n    switches:\n";
  for (const SlurmSwitch& one : topology.switches)
    text += one.nodes.empty() ? fmt::format("      - switch: \"{}\"\n        children: \"{}\"\n", one.name,
                                            fmt::join(one.switches, ","))
                              : fmt::format("      - switch: \"{}\"\n        nodes: \"{}\"\n", one.name,
                                            fmt::join(one.nodes, ","));
  return text;
}

}  // namespace weft::exports
