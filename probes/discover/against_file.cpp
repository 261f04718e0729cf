#include "probes/discover/against_file.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "topology/model/fabric.hpp"

namespace weft::discover {
namespace {

std::optional<PortId> far_port(const Fabric& fabric, PortId port) {
  const auto channel = fabric.channel_from(port);
  return channel ? std::optional(fabric.target(*channel)) : std::nullopt;
}

class Comparison {
 public:
  Comparison(const Fabric& found, const AddressBook& addresses, const files::FabricFile& file)
      : found_(found), addresses_(addresses), file_(file), design_(file.fabric) {}

  std::vector<std::string> run() && {
    match();
    for (std::uint32_t p = 0; p < found_.port_count(); ++p) compare_port(PortId(p));
    compare_pairs();
    return std::move(said_);
  }

 private:
  void match() {
    for (std::uint32_t n = 0; n < found_.node_count(); ++n)
      if (found_.is_host(NodeId(n)))
        if (const auto same = design_.find_node(found_.name_of(NodeId(n)))) design_of_[NodeId(n)] = *same;
    for (std::uint32_t n = 0; n < found_.node_count(); ++n) {
      if (found_.is_host(NodeId(n))) continue;
      auto same = by_addresses(NodeId(n));
      if (!same) same = by_hosts(NodeId(n));
      if (!same)
        if (const auto named = design_.find_node(found_.name_of(NodeId(n)))) same = *named;
      if (same) design_of_[NodeId(n)] = *same;
    }
  }

  static std::optional<NodeId> most(const std::map<NodeId, int>& votes) {
    const auto at = std::ranges::max_element(votes, {}, &std::pair<const NodeId, int>::second);
    return at == votes.end() ? std::nullopt : std::optional(at->first);
  }
  std::optional<NodeId> by_addresses(NodeId node) const {
    std::map<NodeId, int> votes;
    for (const PortId port : found_.ports_of(node))
      if (const auto known = design_port(port)) ++votes[design_.port(*known).node];
    if (const auto own = addresses_.address_of(node))
      if (const auto known = file_.addresses.node_of(*own)) ++votes[*known];
    return most(votes);
  }
  std::optional<NodeId> by_hosts(NodeId node) const {
    std::map<NodeId, int> votes;
    for (const PortId port : found_.ports_of(node)) {
      const auto far = far_port(found_, port);
      if (!far || !found_.is_host(found_.port(*far).node)) continue;
      if (const auto nic = design_port(*far))
        if (const auto leaf = far_port(design_, *nic)) ++votes[design_.port(*leaf).node];
    }
    return most(votes);
  }

  /// By its address; a host's by its number.
  std::optional<PortId> design_port(PortId port) const {
    if (const auto address = addresses_.address_of(port))
      if (const auto known = file_.addresses.port_of(*address)) return known;
    const Port& own = found_.port(port);
    if (!found_.is_host(own.node)) return std::nullopt;
    const auto same = design_.find_port(fmt::format("{}/p{}", found_.name_of(own.node), own.number.value()));
    return same ? std::optional(*same) : std::nullopt;
  }

  std::optional<NodeId> design_node(NodeId found) const {
    const auto at = design_of_.find(found);
    return at == design_of_.end() ? std::nullopt : std::optional(at->second);
  }

  void compare_port(PortId port) {
    const auto same = design_port(port);
    const auto far = far_port(found_, port);
    if (!same || !far) return;
    const auto leads_to = design_node(found_.port(*far).node);
    const auto should = far_port(design_, *same);
    if (!leads_to || (should && design_.port(*should).node == *leads_to)) return;
    const auto address = addresses_.address_of(port);
    said_.push_back(fmt::format("{}{} is cabled to {}; the file says to {}", design_.name_of(*same),
                                address ? fmt::format(" ({})", to_string(*address)) : "",
                                design_.name_of(*leads_to), should ? design_.name_of(*should) : "nothing"));
    named_.insert(std::minmax(design_.port(*same).node, *leads_to));
    if (should) named_.insert(std::minmax(design_.port(*same).node, design_.port(*should).node));
  }

  using Pair = std::pair<NodeId, NodeId>;
  static std::map<Pair, int> pairs_of(const Fabric& fabric, const std::map<NodeId, NodeId>* names) {
    std::map<Pair, int> pairs;
    for (const Link& link : fabric.links()) {
      NodeId a = fabric.port(link.a).node, b = fabric.port(link.b).node;
      if (names) {
        if (!names->contains(a) || !names->contains(b)) continue;
        a = names->at(a);
        b = names->at(b);
      }
      ++pairs[std::minmax(a, b)];
    }
    return pairs;
  }

  /// What no port told already.
  void compare_pairs() {
    const auto found = pairs_of(found_, &design_of_);
    const auto design = pairs_of(design_, nullptr);
    std::set<NodeId> matched;
    for (const auto& [from, to] : design_of_) matched.insert(to);
    const auto say = [&](const Pair& pair, const char* what) {
      if (!named_.contains(pair))
        said_.push_back(
            fmt::format("{}--{}: {}", design_.name_of(pair.first), design_.name_of(pair.second), what));
    };
    for (const auto& [pair, count] : found)
      if (!design.contains(pair)) say(pair, "found, and not in the file");
    for (const auto& [pair, count] : design)
      if (matched.contains(pair.first) && matched.contains(pair.second) && !found.contains(pair))
        say(pair, "in the file, and not found");
  }

  const Fabric& found_;
  const AddressBook& addresses_;
  const files::FabricFile& file_;
  const Fabric& design_;
  std::map<NodeId, NodeId> design_of_;
  std::set<Pair> named_;
  std::vector<std::string> said_;
};

}  // namespace

std::vector<std::string> differences_from_file(const Fabric& found, const AddressBook& addresses,
                                               const files::FabricFile& design) {
  return Comparison(found, addresses, design).run();
}

}  // namespace weft::discover
