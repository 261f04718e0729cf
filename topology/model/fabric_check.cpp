#include "topology/model/fabric_check.hpp"

#include "topology/base/readable.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "topology/model/fabric.hpp"

namespace weft {
namespace {

/// Lines of one sort, cut off after `most`.
class Lines {
 public:
  Lines(std::size_t most, std::string_view what) : most_(most), what_(what) {}
  void add(std::string line) {
    if (++count_ <= most_) lines_.push_back(std::move(line));
  }
  void move_to(std::vector<std::string>& all) && {
    if (count_ > most_) lines_.push_back(fmt::format("... and {} more {}", count_ - most_, what_));
    all.insert(all.end(), std::make_move_iterator(lines_.begin()), std::make_move_iterator(lines_.end()));
  }

 private:
  std::size_t most_;
  std::string_view what_;
  std::size_t count_ = 0;
  std::vector<std::string> lines_;
};

/// Which switches can reach each other; hosts do not forward. Union-find with path halving.
class Parts {
 public:
  explicit Parts(const Fabric& fabric) : parent_(fabric.node_count()) {
    std::iota(parent_.begin(), parent_.end(), 0u);
    for (std::uint32_t l = 0; l < fabric.link_count(); ++l)
      if (fabric.between_switches(LinkId(l)))
        parent_[root(fabric.source_node(Fabric::a_to_b(LinkId(l))))] =
            root(fabric.target_node(Fabric::a_to_b(LinkId(l))));
  }
  std::uint32_t root(NodeId node) {
    std::uint32_t at = node.value();
    while (parent_[at] != at) at = parent_[at] = parent_[parent_[at]];
    return at;
  }

 private:
  std::vector<std::uint32_t> parent_;
};

void note_separate_parts(const Fabric& fabric, std::size_t most, std::vector<std::string>& all) {
  Parts parts(fabric);
  std::map<std::uint32_t, std::vector<PortId>> nics;  // by the part their switch belongs to
  for (const PortId nic : fabric.nics())
    nics[parts.root(fabric.target_node(*fabric.channel_from(nic)))].push_back(nic);
  if (nics.size() < 2) return;
  const auto largest =
      std::ranges::max_element(nics, {}, [](const auto& part) { return part.second.size(); });
  Lines lines(most, "NICs without a way to the rest");
  for (const auto& part : nics)
    if (part.first != largest->first)
      for (const PortId nic : part.second)
        lines.add(fmt::format("NIC {} has no way to {}", fabric.name_of_nic(nic),
                              fabric.name_of_nic(largest->second.front())));
  std::move(lines).move_to(all);
}

void note_bare_nodes(const Fabric& fabric, std::size_t most, std::vector<std::string>& all) {
  Lines lines(most, "nodes without a cable");
  for (std::uint32_t n = 0; n < fabric.node_count(); ++n) {
    const auto has_cable = [&](PortId port) { return fabric.port(port).link.has_value(); };
    if (std::ranges::none_of(fabric.ports_of(NodeId(n)), has_cable))
      lines.add(fmt::format("{} has no cable", fabric.name_of(NodeId(n))));
  }
  std::move(lines).move_to(all);
}

Bandwidth uplinks_of(const Fabric& fabric, NodeId node) {
  Bandwidth sum;
  for (const PortId port : fabric.ports_of(node))
    if (const auto channel = fabric.channel_from(port))
      if (fabric.node(fabric.target_node(*channel)).tier > fabric.node(node).tier)
        sum = sum + fabric.rate(*channel);
  return sum;
}

/// Switches whose way up is narrower than that of the widest of their tier.
void note_narrow_switches(const Fabric& fabric, Tier tier, std::size_t most, std::vector<std::string>& all) {
  std::vector<std::pair<NodeId, Bandwidth>> uplinks;
  for (std::uint32_t n = 0; n < fabric.node_count(); ++n)
    if (fabric.node(NodeId(n)).tier == tier) uplinks.emplace_back(NodeId(n), uplinks_of(fabric, NodeId(n)));
  if (uplinks.empty()) return;
  const auto widest =
      std::ranges::max_element(uplinks, {}, [](const auto& one) { return one.second; })->second;
  Lines lines(most, "switches with a narrower way up");
  for (const auto& [node, rate] : uplinks)
    if (rate < widest)
      lines.add(fmt::format("{} has {} up, others of its tier {}", fabric.name_of(node), readable(rate),
                            readable(widest)));
  std::move(lines).move_to(all);
}

/// A rate without its unit is one of bits per second.
void note_slow_links(const Fabric& fabric, std::size_t most, std::vector<std::string>& all) {
  const auto slowest_there_is = Bandwidth::bit(1e6);
  Lines lines(most, "links of such a rate");
  for (std::uint32_t l = 0; l < fabric.link_count(); ++l)
    if (const auto rate = fabric.link(LinkId(l)).rate; rate < slowest_there_is)
      lines.add(fmt::format("{} is of {}: is the unit missing, as in 400G?", fabric.name_of(LinkId(l)),
                            readable(rate)));
  std::move(lines).move_to(all);
}

}  // namespace

FabricSummary summarise(const Fabric& fabric) {
  FabricSummary summary{.nics = fabric.nics().size()};
  for (const Tier tier : kTiers)
    if (const auto count = std::ranges::count(fabric.nodes(), tier, &Node::tier))
      summary.nodes.push_back({std::string(to_string(tier)), static_cast<std::size_t>(count)});
  std::map<std::tuple<Tier, Tier, Bandwidth>, std::size_t> sorts;
  for (const Link& link : fabric.links()) {
    const Tier a = fabric.node(fabric.port(link.a).node).tier;
    const Tier b = fabric.node(fabric.port(link.b).node).tier;
    ++sorts[{std::min(a, b), std::max(a, b), link.rate}];
  }
  for (const auto& [sort, count] : sorts)
    summary.links.push_back({fmt::format("{} to {}, {}", to_string(std::get<0>(sort)),
                                         to_string(std::get<1>(sort)), readable(std::get<2>(sort))),
                             count});
  return summary;
}

std::vector<std::string> oddities(const Fabric& fabric, std::size_t most) {
  std::vector<std::string> all;
  if (fabric.nics().size() < 2) all.push_back("fewer than two NICs with a cable: there is nothing to test");
  note_separate_parts(fabric, most, all);
  note_bare_nodes(fabric, most, all);
  note_slow_links(fabric, most, all);
  for (const Tier tier : kTiers)
    if (tier != Tier::host) note_narrow_switches(fabric, tier, most, all);
  return all;
}

}  // namespace weft
