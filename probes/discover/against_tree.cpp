#include "probes/discover/against_tree.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "probes/discover/switch_names.hpp"
#include "topology/base/disjoint_sets.hpp"
#include "topology/model/fabric.hpp"

namespace weft::discover {
namespace {

/// The hosts that have cables to one switch.
struct Together {
  std::vector<std::string> hosts;
  std::set<NodeId> switches;
};

std::string named(const std::vector<std::string>& hosts) { return listed(hosts, std::identity()); }

std::string in_parts(const auto& parts) {
  std::vector<std::string> words;
  for (const auto& [part, hosts] : parts) words.push_back(named(hosts));
  return fmt::format("{}", fmt::join(words, "; "));
}

std::string without_domain(const std::string& name) { return name.substr(0, name.find('.')); }

/// The fabric that was found, asked by the tree's names.
class Found {
 public:
  explicit Found(const Fabric& fabric) : fabric_(fabric) {
    for (std::uint32_t i = 0; i < fabric.node_count(); ++i)
      by_short_name_[without_domain(fabric.name_of(NodeId(i)))].push_back(NodeId(i));
  }

  const Fabric& fabric() const { return fabric_; }

  /// A name with a domain is that of the one node without, and the other way round.
  std::optional<NodeId> node_named(const std::string& name) const {
    if (const auto node = fabric_.find_node(name)) return *node;
    const auto alike = by_short_name_.find(without_domain(name));
    if (alike == by_short_name_.end() || alike->second.size() != 1) return std::nullopt;
    const std::string& its = fabric_.name_of(alike->second.front());
    const bool one_has_none = name.find('.') == std::string::npos || its.find('.') == std::string::npos;
    return one_has_none ? std::optional(alike->second.front()) : std::nullopt;
  }

  std::set<NodeId> switches_of(NodeId host) const {
    std::set<NodeId> switches;
    for (const ChannelId channel : fabric_.channels_from(host))
      if (const NodeId far = fabric_.target_node(channel); !fabric_.is_host(far)) switches.insert(far);
    return switches;
  }

  bool knows_cables_of_switches() const {
    for (std::uint32_t l = 0; l < fabric_.link_count(); ++l)
      if (fabric_.between_switches(LinkId(l))) return true;
    return false;
  }

  /// The names of switches.
  std::string names_of(const std::set<NodeId>& switches) const {
    return listed(switches, [this](NodeId node) { return fabric_.name_of(node); });
  }

 private:
  const Fabric& fabric_;
  std::map<std::string, std::vector<NodeId>> by_short_name_;
};

/// Hosts of the tree at the same switches.
struct Place {
  std::vector<std::string> hosts;
  std::set<NodeId> within;            // switches at most so many steps from them as levels are known
  std::vector<std::uint32_t> joined;  // by level: the same number where switches within join them
};

std::vector<Place> places_of(const Found& found, const files::SwitchTree& tree) {
  std::map<std::set<NodeId>, std::size_t> at;
  std::vector<Place> all;
  for (const files::SwitchOfTree& one : tree.switches)
    for (const std::string& name : one.hosts) {
      const auto host = found.node_named(name);
      auto switches = host && found.fabric().is_host(*host) ? found.switches_of(*host) : std::set<NodeId>{};
      if (switches.empty()) continue;
      const auto [place, is_new] = at.emplace(std::move(switches), all.size());
      if (is_new) all.push_back({{}, place->first, {}});
      all[place->second].hosts.push_back(name);
    }
  for (bool grew = true; grew;) {
    DisjointSets sets(all.size());
    std::map<NodeId, std::uint32_t> first_at;
    for (std::uint32_t i = 0; i < all.size(); ++i)
      for (const NodeId node : all[i].within) sets.join(i, first_at.emplace(node, i).first->second);
    grew = false;
    for (std::uint32_t i = 0; i < all.size(); ++i) {
      all[i].joined.push_back(sets.root(i));
      std::set<NodeId> further;
      for (const NodeId node : all[i].within) further.merge(found.switches_of(node));
      const std::size_t before = all[i].within.size();
      all[i].within.merge(further);
      grew |= all[i].within.size() > before;
    }
  }
  return all;
}

/// Which hosts the tree has under one switch, against those that have cables to one.
class Leaves {
 public:
  Leaves(const Found& found, const files::SwitchTree& tree, TreeComparison& said)
      : found_(found), tree_(tree), said_(said) {}

  void compare_all() {
    for (std::size_t i = 0; i < tree_.switches.size(); ++i) compare(i);
    std::map<Under, std::set<NodeId>> shared;
    for (const auto& [node, under] : hosts_at_)
      if (under.size() > 1) shared[under].insert(node);
    for (const auto& [under, nodes] : shared) report_joined(nodes, under);
  }

  void report_missing() {
    if (!missing_.empty())
      said_.gaps.push_back(fmt::format("{}: {} of its nodes were not found: {}", tree_.source,
                                       missing_.size(), named(missing_)));
    std::vector<std::string> others;
    for (const NodeId host : found_.fabric().hosts())
      if (!named_.contains(host)) others.push_back(found_.fabric().name_of(host));
    if (!others.empty())
      said_.gaps.push_back(
          fmt::format("{}: it has none of {} hosts: {}", tree_.source, others.size(), named(others)));
  }

 private:
  using Under = std::vector<std::pair<std::size_t, std::string>>;  // switches of the tree, and a host of each

  void compare(std::size_t i) {
    const files::SwitchOfTree& one = tree_.switches[i];
    const auto groups = groups_of(one);
    if (!groups.empty())  // most of its hosts are there
      for (const NodeId node : groups.front().switches)
        hosts_at_[node].emplace_back(i, host_at(groups.front(), node));
    if (groups.size() < 2) return;
    std::vector<std::string> parts;
    for (const Together& group : groups)
      parts.push_back(fmt::format("{} at {}", named(group.hosts), found_.names_of(group.switches)));
    said_.disagreements.push_back(
        fmt::format("{} has them all under {}: {}", tree_.source, one.name, listed(parts, std::identity())));
  }

  /// The hosts under one switch by the switches that they share.
  std::vector<Together> groups_of(const files::SwitchOfTree& one) {
    std::vector<Together> alone;
    for (const std::string& name : one.hosts) {
      const auto host = found_.node_named(name);
      if (!host) {
        missing_.push_back(name);
      } else if (!found_.fabric().is_host(*host)) {
        said_.disagreements.push_back(
            fmt::format("{} has {} as a node under {}, and it is a switch", tree_.source, name, one.name));
      } else {
        named_.insert(*host);
        if (auto switches = found_.switches_of(*host); !switches.empty())
          alone.push_back({{name}, std::move(switches)});
      }
    }
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

  const std::string& host_at(const Together& group, NodeId node) const {
    return *std::ranges::find_if(group.hosts, [&](const std::string& name) {
      return found_.switches_of(*found_.node_named(name)).contains(node);
    });
  }

  void report_joined(const std::set<NodeId>& nodes, const Under& under) {
    std::vector<std::string> parts;
    for (const auto& [i, host] : under)
      parts.push_back(fmt::format("{} (of {})", tree_.switches[i].name, host));
    said_.disagreements.push_back(fmt::format("{} has them apart, and hosts of theirs share {}: {}",
                                              tree_.source, found_.names_of(nodes),
                                              listed(parts, std::identity())));
  }

  const Found& found_;
  const files::SwitchTree& tree_;
  TreeComparison& said_;
  std::map<NodeId, Under> hosts_at_;  // by switch, whose hosts of the tree are there as a rule
  std::vector<std::string> missing_;
  std::set<NodeId> named_;
};

/// What the tree has together above its lowest switches, against what cables between switches join.
class Levels {
 public:
  Levels(const Found& found, const files::SwitchTree& tree, TreeComparison& said)
      : found_(found), tree_(tree), said_(said), places_(places_of(found, tree)) {
    for (const auto& one : tree.switches) with_hosts_[one.name] = &one;
    for (const auto& one : tree.above) above_[one.name] = &one;
  }

  void compare_all() {
    for (const files::SwitchAbove& one : tree_.above) compare_above(one);
    compare_tops();
  }

 private:
  /// All hosts under a switch of the tree.
  std::set<std::string_view> below(std::string_view name) const {
    std::set<std::string_view> all;
    if (const auto leaf = with_hosts_.find(name); leaf != with_hosts_.end())
      all.insert(leaf->second->hosts.begin(), leaf->second->hosts.end());
    if (const auto above = above_.find(name); above != above_.end())
      for (const std::string& child : above->second->children) all.merge(below(child));
    return all;
  }

  /// Hosts under one switch are no further from each other than from any other host: how many levels a tree
  /// has between them tells nothing, for those with one switch may be left out.
  void compare_above(const files::SwitchAbove& one) {
    const auto inside = below(one.name);
    std::map<std::size_t, std::vector<std::string>> its;  // by place
    for (std::size_t i = 0; i < places_.size(); ++i)
      std::ranges::copy_if(places_[i].hosts, std::back_inserter(its[i]),
                           [&](const std::string& host) { return inside.contains(host); });
    std::erase_if(its, [](const auto& at) { return at.second.empty(); });
    if (its.size() < 2) return;
    const auto& first = places_[its.begin()->first].joined;
    const auto is_joined_at = [&](std::size_t level) {
      return std::ranges::all_of(
          its, [&](const auto& at) { return places_[at.first].joined[level] == first[level]; });
    };
    std::size_t apart = 0;  // levels at which its hosts are in several parts
    while (apart < first.size() && !is_joined_at(apart)) ++apart;
    if (apart == 0) return;
    if (apart == first.size() && !found_.knows_cables_of_switches())
      return;  // it is told once that none is known
    std::map<std::uint32_t, std::vector<std::string>> parts, others;
    for (std::size_t i = 0; i < places_.size(); ++i)
      for (const std::string& host : places_[i].hosts)
        (inside.contains(host) ? parts : others)[places_[i].joined[apart - 1]].push_back(host);
    for (const auto& [part, hosts] : parts)
      if (const auto nearer = others.find(part); nearer != others.end()) {
        std::vector<std::string> rest;
        for (const auto& [other, its_hosts] : parts)
          if (other != part) std::ranges::copy(its_hosts, std::back_inserter(rest));
        said_.disagreements.push_back(fmt::format(
            "{} has {} and {} together under {}, and the first are nearer to {}, which it has elsewhere",
            tree_.source, named(hosts), named(rest), one.name, named(nearer->second)));
        return;
      }
    if (apart == first.size())
      said_.disagreements.push_back(fmt::format("{} has them together under {}, and no cables join them: {}",
                                                tree_.source, one.name, in_parts(parts)));
  }

  /// What no switch of the tree is above, Slurm gives no job together.
  void compare_tops() {
    if (!found_.knows_cables_of_switches()) {
      if (tree_.switches.size() > 1)
        said_.gaps.push_back(fmt::format(
            "{}: what it has above switches with nodes: no cables between switches are known", tree_.source));
      return;
    }
    std::set<std::string_view> below_some;
    for (const files::SwitchAbove& one : tree_.above)
      below_some.insert(one.children.begin(), one.children.end());
    std::map<std::string_view, std::string_view> top_of;  // by host
    const auto note = [&](const std::string& name) {
      if (below_some.contains(name)) return;
      for (const std::string_view host : below(name)) top_of.emplace(host, name);
    };
    for (const auto& one : tree_.switches) note(one.name);
    for (const auto& one : tree_.above) note(one.name);
    std::map<std::uint32_t, std::map<std::string_view, std::vector<std::string>>> joined;
    for (const Place& place : places_)
      for (const std::string& host : place.hosts)
        joined[place.joined.back()][top_of.at(host)].push_back(host);
    for (const auto& [part, tops] : joined)
      if (tops.size() > 1)
        said_.disagreements.push_back(
            fmt::format("{} has no switch above all of them, so no job of Slurm spans them, and cables join "
                        "them: {}",
                        tree_.source, in_parts(tops)));
  }

  const Found& found_;
  const files::SwitchTree& tree_;
  TreeComparison& said_;
  std::vector<Place> places_;
  std::map<std::string_view, const files::SwitchOfTree*> with_hosts_;
  std::map<std::string_view, const files::SwitchAbove*> above_;
};

}  // namespace

TreeComparison compare_with_tree(const Fabric& found, const files::SwitchTree& tree) {
  if (found.hosts().empty())
    return {{},
            {fmt::format("{}: not compared: of no node found is it known that it is a host", tree.source)}};
  TreeComparison said;
  const Found by_name(found);
  Leaves leaves(by_name, tree, said);
  leaves.compare_all();
  Levels(by_name, tree, said).compare_all();
  leaves.report_missing();
  return said;
}

}  // namespace weft::discover
