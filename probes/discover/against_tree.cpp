#include "probes/discover/against_tree.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
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

class Comparison {
 public:
  Comparison(const Fabric& found, const files::SwitchTree& tree) : found_(found), tree_(tree) {}

  std::vector<std::string> take() && {
    for (std::size_t i = 0; i < tree_.switches.size(); ++i) compare(i);
    std::map<Under, std::set<NodeId>> joined;
    for (const auto& [node, under] : hosts_at_)
      if (under.size() > 1) joined[under].insert(node);
    for (const auto& [under, nodes] : joined) tell_joined(nodes, under);
    if (!any_found_) said_.push_back(fmt::format("{}: none of its hosts was found", tree_.source));
    return std::move(said_);
  }

 private:
  using Under = std::vector<std::pair<std::size_t, std::string>>;  // switches of the tree, and a host of each

  std::set<NodeId> switches_of(NodeId host) const {
    std::set<NodeId> switches;
    for (const ChannelId channel : found_.channels_from(host))
      if (const NodeId far = found_.target_node(channel); !found_.is_host(far)) switches.insert(far);
    return switches;
  }

  std::vector<Together> groups_of(const files::SwitchOfTree& one) const {
    std::vector<Together> alone;
    std::map<NodeId, std::uint32_t> first_at;
    for (const std::string& name : one.hosts)
      if (const auto host = found_.find_node(name); host && found_.is_host(*host))
        if (auto switches = switches_of(*host); !switches.empty())
          alone.push_back({{name}, std::move(switches)});
    DisjointSets joined(alone.size());
    for (std::uint32_t i = 0; i < alone.size(); ++i)
      for (const NodeId node : alone[i].switches) joined.join(i, first_at.emplace(node, i).first->second);
    std::vector<Together> groups;
    for (const auto& members : joined.sets()) {
      Together& group = groups.emplace_back();
      for (const std::uint32_t i : members) {
        group.hosts.push_back(std::move(alone[i].hosts.front()));
        group.switches.merge(alone[i].switches);
      }
    }
    std::ranges::stable_sort(groups, std::ranges::greater{},
                             [](const Together& g) { return g.hosts.size(); });
    return groups;
  }

  void compare(std::size_t i) {
    const files::SwitchOfTree& one = tree_.switches[i];
    const auto groups = groups_of(one);
    any_found_ = any_found_ || !groups.empty();
    if (!groups.empty())  // most of its hosts are there
      for (const NodeId node : groups.front().switches)
        hosts_at_[node].emplace_back(i, groups.front().hosts.front());
    if (groups.size() < 2) return;
    std::vector<std::string> parts;
    for (const Together& group : groups)
      parts.push_back(fmt::format("{} at {}", named(group.hosts), at(group.switches)));
    said_.push_back(
        fmt::format("{} has them all under {}: {}", tree_.source, one.name, listed(parts, std::identity())));
  }

  void tell_joined(const std::set<NodeId>& nodes, const Under& under) {
    std::vector<std::string> parts;
    for (const auto& [i, host] : under)
      parts.push_back(fmt::format("{} (of {})", tree_.switches[i].name, host));
    said_.push_back(fmt::format("{} has them apart, and their hosts are all at {}: {}", tree_.source,
                                at(nodes), listed(parts, std::identity())));
  }

  static std::string named(const std::vector<std::string>& hosts) { return listed(hosts, std::identity()); }
  std::string at(const std::set<NodeId>& switches) const {
    return listed(switches, [this](NodeId node) { return found_.name_of(node); });
  }

  const Fabric& found_;
  const files::SwitchTree& tree_;
  std::map<NodeId, Under> hosts_at_;  // by switch, whose hosts of the tree are there as a rule
  bool any_found_ = false;
  std::vector<std::string> said_;
};

}  // namespace

std::vector<std::string> differences_from_tree(const Fabric& found, const files::SwitchTree& tree) {
  return Comparison(found, tree).take();
}

}  // namespace weft::discover
