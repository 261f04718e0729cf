#include "probes/discover/against_file.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "probes/discover/switch_names.hpp"
#include "topology/model/fabric.hpp"

namespace weft::discover {
namespace {

std::optional<PortId> far_port(const Fabric& fabric, PortId port) {
  const auto channel = fabric.channel_from(port);
  return channel ? std::optional(fabric.target(*channel)) : std::nullopt;
}

std::string some_of(std::size_t count, const std::vector<std::string>& names) {
  return fmt::format("{} of {}", count == 1 ? "one" : std::to_string(count), listed(names, std::identity()));
}

/// Cables from a node to each other node, without those of hosts.
std::map<NodeId, int> switches_beside(const Fabric& fabric, NodeId node) {
  std::map<NodeId, int> beside;
  for (const ChannelId channel : fabric.channels_from(node))
    if (const NodeId far = fabric.target_node(channel); !fabric.is_host(far)) ++beside[far];
  return beside;
}

/// A node of the file that a found one may be.
struct Candidate {
  bool is_clear = false;   // no other is as like
  Tier tier = Tier::host;  // where none is clear, from the top: a core tells the spines of every pod apart
  int likeness = 0;
  auto operator<=>(const Candidate&) const = default;
};

/// Which node of the file each found one is: hosts by name; switches by name where a record told it, else by
/// most of their NICs, addresses and switches that are known already.
class Matching {
 public:
  Matching(const Fabric& found, const AddressBook& addresses, const files::FabricFile& file)
      : found_(found), addresses_(addresses), file_(file), design_(file.fabric) {
    shared_.resize(found.node_count());
    known_found_.resize(found.node_count());
    known_design_.resize(design_.node_count());
    for (const PortId nic : found.nics()) traced_ = traced_ || addresses.address_of(nic);
    match_names();
    count_nics();
    count_addresses();
    while (const auto next = likest()) assign(next->first, next->second);
  }

  /// Whether its name is that of a record; traces give names of their own.
  bool is_named(NodeId found) const {
    return found_.is_host(found) || !traced_ || std::ranges::any_of(found_.ports_of(found), [&](PortId p) {
             return !found_.port(p).name.empty();
           });
  }
  bool is_traced() const { return traced_; }
  std::optional<NodeId> design_node(NodeId found) const {
    const auto at = design_of_.find(found);
    return at == design_of_.end() ? std::nullopt : std::optional(at->second);
  }
  bool was_found(NodeId design) const { return taken_.contains(design); }
  /// By name or by an address, not only by what is beside it.
  bool is_certain(NodeId design) const { return certain_.contains(design); }

  std::optional<PortId> by_address(PortId port) const {
    const auto address = addresses_.address_of(port);
    const auto known = address ? file_.addresses.port_of(*address) : std::nullopt;
    return known && design_node(found_.port(port).node) == design_.port(*known).node ? known : std::nullopt;
  }
  /// By its address, its name, a NIC's by its number. Records alone do not number the NICs of a host.
  std::optional<PortId> design_port(PortId port) const {
    const Port& own = found_.port(port);
    const auto node = design_node(own.node);
    if (!node) return std::nullopt;
    for (const PortId p : design_.ports_of(*node))
      if (!own.name.empty() && design_.port(p).name == own.name) return p;
    if (const auto same = by_address(port)) return same;
    if (!found_.is_host(own.node)) return std::nullopt;
    const auto its = design_.ports_of(*node);
    if (its.size() == 1 && found_.ports_of(own.node).size() == 1) return its.front();
    for (const PortId p : its)
      if (addresses_.address_of(port) && design_.port(p).number == own.number) return p;
    return std::nullopt;
  }

 private:
  void assign(NodeId from, NodeId to) {
    design_of_[from] = to;
    taken_.insert(to);
    if (has_address_of_.contains({from, to})) certain_.insert(to);
    spread(from, to);
  }

  void match_names() {
    for (std::uint32_t n = 0; n < found_.node_count(); ++n) {
      if (!is_named(NodeId(n))) continue;
      const auto same = design_.find_node(found_.name_of(NodeId(n)));
      if (!same) continue;
      certain_.insert(*same);
      assign(NodeId(n), *same);
      names_agree_ = names_agree_ || !found_.is_host(NodeId(n));
    }
  }

  void count_nics() {
    for (const PortId nic : found_.nics()) {
      const auto same = design_port(nic);
      if (!same) continue;
      const auto at = far_port(found_, nic), should = far_port(design_, *same);
      if (at) ++known_found_[found_.port(*at).node.value()];
      if (should) ++known_design_[design_.port(*should).node.value()];
      if (at && should) ++shared_[found_.port(*at).node.value()][design_.port(*should).node.value()];
    }
  }

  void count_addresses() {
    const auto count = [&](NodeId from, NodeId to) {
      ++shared_[from.value()][to.value()];
      has_address_of_.emplace(from, to);
    };
    for (std::uint32_t p = 0; p < found_.port_count(); ++p)
      if (const auto address = addresses_.address_of(PortId(p)))
        if (const auto known = file_.addresses.port_of(*address))
          count(found_.port(PortId(p)).node, design_.port(*known).node);
    for (std::uint32_t n = 0; n < found_.node_count(); ++n)
      if (const auto own = addresses_.address_of(NodeId(n)))
        if (const auto known = file_.addresses.node_of(*own)) count(NodeId(n), *known);
  }

  /// What is beside two that are one is more likely one.
  void spread(NodeId from, NodeId to) {
    if (found_.is_host(from)) return;  // by their NICs
    const auto near = switches_beside(found_, from), like = switches_beside(design_, to);
    for (const auto& [u, cables] : near) known_found_[u.value()] += cables;
    for (const auto& [d, cables] : like) known_design_[d.value()] += cables;
    for (const auto& [u, one] : near)
      for (const auto& [d, other] : like)
        if (!taken_.contains(d) && found_.node(u).tier == design_.node(d).tier)
          shared_[u.value()][d.value()] += std::min(one, other);
  }

  std::optional<std::pair<NodeId, NodeId>> likest() const {
    std::optional<std::pair<NodeId, NodeId>> next;
    Candidate best;
    for (std::uint32_t u = 0; u < found_.node_count(); ++u) {
      const bool is_told = found_.is_host(NodeId(u)) || (names_agree_ && is_named(NodeId(u)));
      if (is_told || design_of_.contains(NodeId(u))) continue;
      std::optional<std::uint32_t> like;
      Candidate its;
      for (const auto& [d, shared] : shared_[u]) {
        if (taken_.contains(NodeId(d)) || design_.is_host(NodeId(d))) continue;
        const int likeness = 2 * shared - known_found_[u] - known_design_[d];
        if (like && likeness <= its.likeness) {
          its.is_clear = its.is_clear && likeness < its.likeness;
          continue;
        }
        its = {true, Tier::host, likeness};
        like = d;
      }
      if (!like) continue;
      if (!its.is_clear) its.tier = found_.node(NodeId(u)).tier;
      if (next && its <= best) continue;
      best = its;
      next = {NodeId(u), NodeId(*like)};
    }
    return next;
  }

  const Fabric& found_;
  const AddressBook& addresses_;
  const files::FabricFile& file_;
  const Fabric& design_;
  bool traced_ = false;
  bool names_agree_ = false;  // of some switches: then those of the others are no mere other spelling
  std::vector<std::map<std::uint32_t, int>> shared_;  // by found node, then by the file's: what speaks for it
  std::set<std::pair<NodeId, NodeId>> has_address_of_;
  std::vector<int> known_found_;  // cables to nodes that are matched
  std::vector<int> known_design_;
  std::map<NodeId, NodeId> design_of_;
  std::set<NodeId> taken_;
  std::set<NodeId> certain_;
};

/// Equal of nodes that nothing found tells apart: by what is beside them, and beside that, and so on.
std::vector<int> classes_of(const Fabric& design, const Matching& matching) {
  const auto count = static_cast<std::uint32_t>(design.node_count());
  std::vector<int> classes(count);
  for (std::uint32_t n = 0; n < count; ++n) {
    const bool alone = design.is_host(NodeId(n)) || matching.is_certain(NodeId(n));
    classes[n] = alone ? static_cast<int>(n) + 1 : 0;
  }
  for (std::size_t before = 0, now = 1; now > before;) {
    using Sign = std::pair<int, std::vector<std::pair<int, std::uint32_t>>>;
    std::map<Sign, int> signs;
    std::vector<int> next(count);
    for (std::uint32_t n = 0; n < count; ++n) {
      Sign sign{classes[n], {}};
      for (const ChannelId channel : design.channels_from(NodeId(n))) {
        const NodeId far = design.target_node(channel);
        sign.second.emplace_back(classes[far.value()],
                                 design.is_host(far) ? design.target(channel).value() : 0);
      }
      std::ranges::sort(sign.second);
      next[n] = signs.emplace(std::move(sign), static_cast<int>(signs.size())).first->second;
    }
    before = std::set(classes.begin(), classes.end()).size();
    now = signs.size();
    classes = std::move(next);
  }
  return classes;
}

using Pair = std::pair<NodeId, NodeId>;

/// Both sides, and which of their nodes are one.
struct Sides {
  Sides(const Fabric& found_fabric, const AddressBook& book, const files::FabricFile& file)
      : found(found_fabric),
        addresses(book),
        design(file.fabric),
        matching(found_fabric, book, file),
        class_of(classes_of(design, matching)) {
    for (std::uint32_t n = 0; n < design.node_count(); ++n) members[class_of[n]].push_back(NodeId(n));
  }

  const std::vector<NodeId>& alike(NodeId node) const { return members.at(class_of[node.value()]); }
  std::string label(NodeId node) const {
    std::vector<std::string> names;
    for (const NodeId one : alike(node)) names.push_back(design.name_of(one));
    return names.size() == 1 ? names.front() : some_of(1, names);
  }
  /// Of the file, as cables are called.
  std::string name_of(Pair pair) const {
    if (design.is_host(pair.second)) std::swap(pair.first, pair.second);
    return fmt::format("{}--{}", design.name_of(pair.first), design.name_of(pair.second));
  }

  const Fabric& found;
  const AddressBook& addresses;
  const Fabric& design;
  const Matching matching;
  const std::vector<int> class_of;  // by the file's node
  std::map<int, std::vector<NodeId>> members;
};

/// `missing` of all that are alike: each by name where all are.
void say_missing(std::vector<std::string>& said, const std::vector<std::string>& missing,
                 const std::vector<std::string>& all) {
  if (missing.size() < all.size())
    said.push_back(some_of(missing.size(), all) + ": in the file, and not found");
  else
    for (const auto& name : missing) said.push_back(name + ": in the file, and not found");
}

void say_missing_nodes(std::vector<std::string>& said, const Sides& sides) {
  for (const auto& [kind, nodes] : sides.members) {
    std::vector<std::string> missing, all;
    for (const NodeId node : nodes) {
      if (sides.design.channels_from(node).empty()) continue;
      all.push_back(sides.design.name_of(node));
      if (!sides.matching.was_found(node)) missing.push_back(all.back());
    }
    if (!missing.empty()) say_missing(said, missing, all);
  }
}

/// What is beside a node that was found: hosts, else switches, as the file calls them.
std::string beside(const Sides& sides, NodeId node) {
  const Fabric& found = sides.found;
  std::set<std::string> hosts, switches;
  for (const ChannelId channel : found.channels_from(node)) {
    const NodeId far = found.target_node(channel);
    const auto same = sides.matching.design_node(far);
    if (found.is_host(far) || same)
      (found.is_host(far) ? hosts : switches).insert(same ? sides.label(*same) : found.name_of(far));
  }
  return listed(hosts.empty() ? switches : hosts, std::identity());
}

void say_new_nodes(std::vector<std::string>& said, const Sides& sides) {
  for (std::uint32_t n = 0; n < sides.found.node_count(); ++n) {
    const NodeId node(n);
    if (sides.matching.design_node(node)) continue;
    const bool is_named = sides.matching.is_named(node);
    const auto what = is_named ? sides.found.name_of(node) : "a switch beside " + beside(sides, node);
    said.push_back(what + ": found, and not in the file");
  }
}

/// Of the right node, another port than the file's: by its name, or both ends by their addresses.
bool is_other_port(const Sides& sides, PortId near, PortId far, PortId should) {
  const auto& name = sides.found.port(far).name;
  if (!name.empty() && !sides.design.port(should).name.empty()) return name != sides.design.port(should).name;
  const auto same = sides.matching.by_address(far);
  return sides.matching.by_address(near) && same && *same != should;
}

std::string port_label(const Sides& sides, PortId found, NodeId node) {
  if (const auto& name = sides.found.port(found).name; !name.empty())
    return fmt::format("{}/{}", sides.design.name_of(node), name);
  const auto same = sides.matching.by_address(found);
  return same ? sides.design.name_of(*same) : sides.design.name_of(node);
}

/// Cables that lead elsewhere. Returns the pairs of the file's nodes of which that tells all.
std::set<Pair> say_moved_cables(std::vector<std::string>& said, const Sides& sides) {
  const Fabric& design = sides.design;
  std::set<Pair> told;
  for (std::uint32_t p = 0; p < sides.found.port_count(); ++p) {
    const PortId port(p);
    const auto same = sides.matching.design_port(port);
    const auto far = far_port(sides.found, port);
    const auto node = far ? sides.matching.design_node(sides.found.port(*far).node) : std::nullopt;
    if (!same || !node || sides.alike(*node).size() > 1) continue;
    const auto should = far_port(design, *same);
    const bool same_node = should && design.port(*should).node == *node;
    if (same_node && !is_other_port(sides, port, *far, *should)) continue;
    const auto address = sides.addresses.address_of(port);
    const auto to = same_node ? port_label(sides, *far, *node) : design.name_of(*node);
    const auto expected = should ? design.name_of(*should) : "nothing";
    said.push_back(fmt::format("{}{} is cabled to {}; the file says to {}", design.name_of(*same),
                               address ? fmt::format(" ({})", to_string(*address)) : "", to, expected));
    told.insert(std::minmax(design.port(*same).node, *node));
    if (should) told.insert(std::minmax(design.port(*same).node, design.port(*should).node));
  }
  return told;
}

/// Cables between two of the file's nodes.
struct Count {
  int found = 0;
  int design = 0;
  bool may_be_more = false;  // parallel cables of which traces see one
};

std::map<Pair, Count> count_cables(const Sides& sides) {
  const Fabric &found = sides.found, &design = sides.design;
  std::map<Pair, Count> pairs;
  for (const Link& link : found.links()) {
    const auto a = sides.matching.design_node(found.port(link.a).node);
    const auto b = sides.matching.design_node(found.port(link.b).node);
    if (!a || !b) continue;
    Count& count = pairs[std::minmax(*a, *b)];
    ++count.found;
    for (const PortId end : {link.a, link.b})
      if (sides.matching.is_traced() && found.port(end).name.empty() && !sides.addresses.address_of(end))
        count.may_be_more = true;
  }
  for (const Link& link : design.links())
    ++pairs[std::minmax(design.port(link.a).node, design.port(link.b).node)].design;
  return pairs;
}

std::string count_text(const Sides& sides, const Pair& pair, const Count& count) {
  const auto& [a, b] = pair;
  const bool is_clear = sides.alike(a).size() == 1 && sides.alike(b).size() == 1;
  const auto name =
      is_clear ? sides.name_of(pair) : fmt::format("between {} and {}", sides.label(a), sides.label(b));
  if (count.design == 0) return name + ": found, and not in the file";
  return fmt::format("{}: {} {} found, {} in the file", name, count.found,
                     count.found == 1 ? "cable" : "cables", count.design);
}

/// Pairs that are not `told` yet.
void say_counts(std::vector<std::string>& said, const Sides& sides, const std::set<Pair>& told) {
  std::map<std::pair<int, int>, std::vector<std::string>> missing, all;
  for (const auto& [pair, count] : count_cables(sides)) {
    const std::pair<int, int> kind =
        std::minmax(sides.class_of[pair.first.value()], sides.class_of[pair.second.value()]);
    if (count.design > 0) all[kind].push_back(sides.name_of(pair));
    if (!sides.matching.was_found(pair.first) || !sides.matching.was_found(pair.second) ||
        told.contains(pair) || count.found == count.design)
      continue;
    if (count.found == 0)
      missing[kind].push_back(sides.name_of(pair));
    else if (count.found > count.design || !count.may_be_more)
      said.push_back(count_text(sides, pair, count));
  }
  for (const auto& [kind, names] : missing) say_missing(said, names, all[kind]);
}

}  // namespace

std::vector<std::string> differences_from_file(const Fabric& found, const AddressBook& addresses,
                                               const files::FabricFile& design) {
  const Sides sides(found, addresses, design);
  std::vector<std::string> said;
  say_missing_nodes(said, sides);
  say_new_nodes(said, sides);
  say_counts(said, sides, say_moved_cables(said, sides));
  return said;
}

}  // namespace weft::discover
