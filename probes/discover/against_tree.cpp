#include "probes/discover/against_tree.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <ranges>
#include <set>
#include <utility>

#include "probes/discover/switch_names.hpp"
#include "topology/base/disjoint_sets.hpp"
#include "topology/model/fabric.hpp"

namespace weft::discover {
namespace {

constexpr std::size_t kShown = 8;  // groups

/// The hosts that have cables to one switch.
struct Together {
  std::vector<std::string> hosts;
  std::set<NodeId> switches;
};

class Comparison {
 public:
  Comparison(const Fabric& found, const files::SwitchTree& tree) : found_(found), tree_(tree) {
    for (const auto& one : tree.switches) with_hosts_[one.name] = &one;
    for (const auto& one : tree.above) {
      above_[one.name] = &one;
      under_another_.insert(one.children.begin(), one.children.end());
    }
    for (std::uint32_t i = 0; i < found.node_count(); ++i)
      by_short_name_[without_domain(found.name_of(NodeId(i)))].push_back(NodeId(i));
  }

  TreeComparison take() && {
    if (found_.hosts().empty())
      return {
          {},
          {fmt::format("{}: not compared: of no node found is it known that it is a host", tree_.source)}};
    for (std::size_t i = 0; i < tree_.switches.size(); ++i) compare(i);
    std::map<Under, std::set<NodeId>> shared;
    for (const auto& [node, under] : hosts_at_)
      if (under.size() > 1) shared[under].insert(node);
    for (const auto& [under, nodes] : shared) tell_joined(nodes, under);
    // What is above all says only that there is one fabric.
    for (const files::SwitchAbove& one : tree_.above)
      if (under_another_.contains(one.name)) compare_above(one);
    tell_missing();
    return std::move(said_);
  }

 private:
  using Under = std::vector<std::pair<std::size_t, std::string>>;  // switches of the tree, and a host of each

  static std::string without_domain(const std::string& name) { return name.substr(0, name.find('.')); }

  /// A name with a domain is that of the one node without, and the other way round.
  std::optional<NodeId> node_named(const std::string& name) const {
    if (const auto node = found_.find_node(name)) return *node;
    const auto alike = by_short_name_.find(without_domain(name));
    if (alike == by_short_name_.end() || alike->second.size() != 1) return std::nullopt;
    const std::string& its = found_.name_of(alike->second.front());
    const bool one_has_none = name.find('.') == std::string::npos || its.find('.') == std::string::npos;
    return one_has_none ? std::optional(alike->second.front()) : std::nullopt;
  }

  std::set<NodeId> switches_of(NodeId host) const {
    std::set<NodeId> switches;
    for (const ChannelId channel : found_.channels_from(host))
      if (const NodeId far = found_.target_node(channel); !found_.is_host(far)) switches.insert(far);
    return switches;
  }

  /// The hosts under one switch by the switches that they share.
  std::vector<Together> groups_of(const files::SwitchOfTree& one) {
    std::vector<Together> alone;
    for (const std::string& name : one.hosts) {
      const auto host = node_named(name);
      if (!host) {
        missing_.push_back(name);
      } else if (!found_.is_host(*host)) {
        said_.disagreements.push_back(
            fmt::format("{} has {} as a node under {}, and it is a switch", tree_.source, name, one.name));
      } else {
        named_.insert(*host);
        if (auto switches = switches_of(*host); !switches.empty())
          alone.push_back({{name}, std::move(switches)});
      }
    }
    return joined(std::move(alone));
  }

  static std::vector<Together> joined(std::vector<Together> alone) {
    std::map<NodeId, std::uint32_t> first_at;
    DisjointSets sets(alone.size());
    for (std::uint32_t i = 0; i < alone.size(); ++i)
      for (const NodeId node : alone[i].switches) sets.join(i, first_at.emplace(node, i).first->second);
    std::vector<Together> groups;
    for (const auto& members : sets.sets()) {
      Together& group = groups.emplace_back();
      for (const std::uint32_t i : members) {
        std::ranges::move(alone[i].hosts, std::back_inserter(group.hosts));
        group.switches.merge(alone[i].switches);
      }
    }
    std::ranges::stable_sort(groups, std::ranges::greater{},
                             [](const Together& g) { return g.hosts.size(); });
    return groups;
  }

  /// A switch of the tree, all hosts under it, and how many switches up it is from them.
  struct Below {
    std::vector<std::string> hosts;
    std::size_t levels = 1;
  };
  Below below(const std::string& name) const {
    if (const auto leaf = with_hosts_.find(name); leaf != with_hosts_.end()) return {leaf->second->hosts, 1};
    Below all;
    const auto above = above_.find(name);
    if (above == above_.end()) return all;
    for (const std::string& child : above->second->children) {
      const Below its = below(child);
      all.levels = std::max(all.levels, its.levels + 1);
      std::ranges::copy(its.hosts, std::back_inserter(all.hosts));
    }
    return all;
  }

  /// All that is at most so many switches from a host.
  std::set<NodeId> switches_within(NodeId host, std::size_t levels) const {
    std::set<NodeId> all = switches_of(host), last = all;
    for (std::size_t level = 1; level < levels; ++level) {
      std::set<NodeId> next;
      for (const NodeId node : last)
        for (const NodeId far : switches_of(node))
          if (all.insert(far).second) next.insert(far);
      last = std::move(next);
    }
    return all;
  }

  /// Hosts under a switch further up are to share one that is as far from them.
  void compare_above(const files::SwitchAbove& one) {
    const Below all = below(one.name);
    std::map<std::set<NodeId>, std::vector<std::string>> at;  // hosts by the switches that they are at
    for (const std::string& name : all.hosts)
      if (const auto host = node_named(name); host && found_.is_host(*host))
        at[switches_of(*host)].push_back(name);
    std::vector<Together> alone;
    for (auto& [switches, hosts] : at)
      if (!switches.empty()) {
        auto within = switches_within(*node_named(hosts.front()), all.levels);
        alone.push_back({std::move(hosts), std::move(within)});
      }
    const auto groups = joined(std::move(alone));
    if (groups.size() < 2) return;
    std::string parts;
    for (const Together& group : groups | std::views::take(kShown))
      parts += (parts.empty() ? "" : " | ") + named(group.hosts);
    if (groups.size() > kShown) parts += fmt::format(" and {} more", groups.size() - kShown);
    said_.disagreements.push_back(
        fmt::format("{} has them all under {}, {} switches up, and no switch so near joins them: {}",
                    tree_.source, one.name, all.levels, parts));
  }

  void compare(std::size_t i) {
    const files::SwitchOfTree& one = tree_.switches[i];
    const auto groups = groups_of(one);
    if (!groups.empty())  // most of its hosts are there
      for (const NodeId node : groups.front().switches)
        hosts_at_[node].emplace_back(i, host_at(groups.front(), node));
    if (groups.size() < 2) return;
    std::vector<std::string> parts;
    for (const Together& group : groups)
      parts.push_back(fmt::format("{} at {}", named(group.hosts), at(group.switches)));
    said_.disagreements.push_back(
        fmt::format("{} has them all under {}: {}", tree_.source, one.name, listed(parts, std::identity())));
  }

  const std::string& host_at(const Together& group, NodeId node) const {
    return *std::ranges::find_if(
        group.hosts, [&](const std::string& name) { return switches_of(*node_named(name)).contains(node); });
  }

  void tell_missing() {
    if (!missing_.empty())
      said_.gaps.push_back(fmt::format("{}: {} of its nodes were not found: {}", tree_.source,
                                       missing_.size(), named(missing_)));
    std::vector<std::string> others;
    for (const NodeId host : found_.hosts())
      if (!named_.contains(host)) others.push_back(found_.name_of(host));
    if (!others.empty())
      said_.gaps.push_back(
          fmt::format("{}: it has none of {} hosts: {}", tree_.source, others.size(), named(others)));
  }

  void tell_joined(const std::set<NodeId>& nodes, const Under& under) {
    std::vector<std::string> parts;
    for (const auto& [i, host] : under)
      parts.push_back(fmt::format("{} (of {})", tree_.switches[i].name, host));
    said_.disagreements.push_back(fmt::format("{} has them apart, and hosts of theirs share {}: {}",
                                              tree_.source, at(nodes), listed(parts, std::identity())));
  }

  static std::string named(const std::vector<std::string>& hosts) { return listed(hosts, std::identity()); }
  std::string at(const std::set<NodeId>& switches) const {
    return listed(switches, [this](NodeId node) { return found_.name_of(node); });
  }

  const Fabric& found_;
  const files::SwitchTree& tree_;
  std::map<std::string, std::vector<NodeId>> by_short_name_;
  std::map<std::string_view, const files::SwitchOfTree*> with_hosts_;
  std::map<std::string_view, const files::SwitchAbove*> above_;
  std::set<std::string_view> under_another_;
  std::map<NodeId, Under> hosts_at_;  // by switch, whose hosts of the tree are there as a rule
  std::vector<std::string> missing_;
  std::set<NodeId> named_;
  TreeComparison said_;
};

}  // namespace

TreeComparison compare_with_tree(const Fabric& found, const files::SwitchTree& tree) {
  return Comparison(found, tree).take();
}

}  // namespace weft::discover
