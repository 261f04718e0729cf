#include "probes/discover/traced_cabling.hpp"

#include <algorithm>

#include "probes/discover/trace_graph.hpp"
#include "topology/base/disjoint_sets.hpp"

namespace weft::discover {
namespace {

constexpr unsigned kMaxLevels = 6;
constexpr unsigned kNotPlaced = 0;

/// Which addresses are one switch, and how far that is from the NICs.
class PlacedSwitches {
 public:
  PlacedSwitches(std::size_t addresses, std::size_t nics)
      : nics_(static_cast<std::uint32_t>(nics)),
        sets_(addresses + nics),
        level_(addresses, kNotPlaced),
        lost_(addresses, false),
        whole_(addresses, false) {}

  std::uint32_t address_count() const { return static_cast<std::uint32_t>(level_.size()); }
  std::uint32_t nic_count() const { return nics_; }
  bool is_placed(AddressIndex address) const { return level_[address] != kNotPlaced; }
  unsigned level(AddressIndex address) const { return level_[address]; }
  /// Its switch answers from it whichever port a probe came in by.
  bool is_whole(AddressIndex address) const { return whole_[address]; }
  /// Neither placed, nor given up.
  bool is_open(AddressIndex address) const { return level_[address] == kNotPlaced && !lost_[address]; }
  std::uint32_t switch_of(AddressIndex address) { return sets_.root(address); }
  /// The switch that a NIC is at.
  std::uint32_t leaf_of(std::uint32_t nic) { return sets_.root(address_count() + nic); }

  void join(AddressIndex a, AddressIndex b) { sets_.join(a, b); }
  void join_nic(AddressIndex address, std::uint32_t nic) { sets_.join(address, address_count() + nic); }
  void join_nics(std::uint32_t a, std::uint32_t b) { sets_.join(address_count() + a, address_count() + b); }
  void place(AddressIndex address, unsigned level, bool whole) {
    level_[address] = level, whole_[address] = whole;
  }
  void lose(AddressIndex address) { level_[address] = kNotPlaced, lost_[address] = true; }

 private:
  std::uint32_t nics_;
  DisjointSets sets_;  // of the addresses, then of the NICs, each of which stands for the switch it is at
  std::vector<unsigned> level_;
  std::vector<bool> lost_;
  std::vector<bool> whole_;
};

/// Joins the addresses that are one switch, level by level from the NICs.
class SwitchFinder {
 public:
  SwitchFinder(const TraceGraph& graph, std::size_t nics)
      : graph_(graph), placed_(graph.addresses.size(), nics) {}

  PlacedSwitches run() && {
    find_leaves();
    if (!graph_.sprays) {
      for (unsigned level = 1; level < kMaxLevels; ++level) find_above(level);
      join_silent_leaves();
    }
    return std::move(placed_);
  }

 private:
  using Switches = std::set<std::uint32_t>;  // by root

  void find_leaves() {
    for (std::uint32_t nic = 0; nic < placed_.nic_count(); ++nic) {
      if (graph_.is_bonded(nic)) continue;
      for (const auto* hops : {&graph_.first[nic], &graph_.last[nic]})
        for (const AddressIndex leaf : *hops) {
          placed_.join_nic(leaf, nic);
          placed_.place(leaf, 1, graph_.at_first_hop[leaf] && graph_.at_later_hop[leaf]);
        }
    }
    for (const auto& [a, b] : graph_.one_switch)
      if (!graph_.is_bonded(a) && !graph_.is_bonded(b)) placed_.join_nics(a, b);
    drop_contradictions(1);
  }

  /// No path crosses a switch twice: addresses that answered in one trace are two switches.
  void drop_contradictions(unsigned level) {
    Switches bad;
    for (const auto& [a, b] : graph_.together)
      if (placed_.level(a) == level && placed_.level(b) == level &&
          placed_.switch_of(a) == placed_.switch_of(b))
        bad.insert(placed_.switch_of(a));
    for (AddressIndex a = 0; a < placed_.address_count(); ++a)
      if (placed_.level(a) == level && bad.contains(placed_.switch_of(a))) placed_.lose(a);
  }

  struct Class {
    std::vector<AddressIndex> members;
    Switches entered_from;  // below
    Switches enters;        // below
    /// It is entered from where it leads to: both ways through it were seen as one switch.
    bool settled() const {
      return std::ranges::any_of(enters, [&](std::uint32_t below) { return entered_from.contains(below); });
    }
  };

  std::map<std::uint32_t, Class> classes_above(unsigned level) {
    std::map<std::uint32_t, Class> classes;
    std::set<AddressIndex> members;
    for (AddressIndex here = 0; here < placed_.address_count(); ++here)
      for (const auto& [from, count] : graph_.before[here]) {
        if (placed_.level(here) == level && placed_.is_open(from)) {
          members.insert(from);
          classes[placed_.switch_of(from)].enters.insert(placed_.switch_of(here));
        }
        if (placed_.level(from) == level && placed_.is_open(here)) {
          members.insert(here);
          classes[placed_.switch_of(here)].entered_from.insert(placed_.switch_of(from));
        }
      }
    if (level == 1)
      for (AddressIndex here = 0; here < placed_.address_count(); ++here)
        for (const std::uint32_t nic : graph_.behind_silent_first[here])
          if (placed_.is_open(here) && graph_.first[nic].empty()) {
            members.insert(here);
            classes[placed_.switch_of(here)].entered_from.insert(placed_.leaf_of(nic));
          }
    for (const AddressIndex member : members) classes[placed_.switch_of(member)].members.push_back(member);
    return classes;
  }

  void find_above(unsigned level) {
    for (AddressIndex port = 0; port < placed_.address_count(); ++port) {
      if (placed_.level(port) != level || placed_.is_whole(port)) continue;
      std::optional<AddressIndex> first;  // what enters one port is one switch
      for (const auto& [from, count] : graph_.before[port])
        if (placed_.is_open(from)) placed_.join(from, first.value_or(from)), first = first.value_or(from);
    }
    for (const auto& [root, found] : classes_above(level))
      if (!found.settled()) join_by_numbering(found, level);
    for (const auto& [root, found] : classes_above(level))
      for (const AddressIndex member : found.members) {
        if (found.settled())
          placed_.place(member, level + 1, comes_from_several(member, level));
        else
          placed_.lose(member);
      }
    drop_contradictions(level + 1);
  }

  /// Whether an address that is entered from a switch of `level` is entered from elsewhere too: one port has
  /// one cable. (Entered from further up alone, addresses of no known place may yet be one switch.)
  bool comes_from_several(AddressIndex address, unsigned level) {
    Switches below;
    Switches elsewhere;
    for (const auto& [before, count] : graph_.before[address])
      (placed_.level(before) == level ? below : elsewhere).insert(placed_.switch_of(before));
    elsewhere.erase(placed_.switch_of(address));
    std::erase_if(elsewhere, [&](std::uint32_t root) { return below.contains(root); });
    const bool from_silent =
        level == 1 && std::ranges::any_of(graph_.behind_silent_first[address], [&](std::uint32_t nic) {
          return graph_.first[nic].empty();  // its leaf never answers
        });
    return below.size() > 1 || (below.size() == 1 && (!elsewhere.empty() || from_silent));
  }

  /// The other end of the port's own subnet lies on the switch that it is entered from: what enters there is
  /// this switch.
  void join_by_numbering(const Class& found, unsigned level) {
    for (const AddressIndex member : found.members) {
      std::set<AddressIndex> below;
      for (AddressIndex port = 0; port < placed_.address_count(); ++port)
        if (placed_.level(port) == level && !placed_.is_whole(port) &&
            found.entered_from.contains(placed_.switch_of(port)))
          below.insert(port);
      if (const auto port = sibling(graph_, member, below))
        for (const auto& [from, count] : graph_.before[*port])
          if (placed_.is_open(from)) placed_.join(from, member);
    }
  }

  /// NICs behind leaves that never answer enter one port: they are at one leaf.
  void join_silent_leaves() {
    std::map<std::uint32_t, std::size_t> sizes;
    for (AddressIndex a = 0; a < placed_.address_count(); ++a)
      if (placed_.is_placed(a)) ++sizes[placed_.switch_of(a)];
    for (AddressIndex port = 0; port < placed_.address_count(); ++port) {
      if (placed_.level(port) != 2 || placed_.is_whole(port) || sizes[placed_.switch_of(port)] < 2) continue;
      std::optional<std::uint32_t> first;
      for (const std::uint32_t nic : graph_.behind_silent_first[port]) {
        if (!graph_.first[nic].empty()) continue;
        placed_.join_nics(nic, first.value_or(nic));
        first = first.value_or(nic);
      }
    }
  }

  const TraceGraph& graph_;
  PlacedSwitches placed_;
};

/// Whether anything told of the switch that a NIC is at.
bool has_leaf(const TraceGraph& graph, const PlacedSwitches& switches, std::uint32_t nic) {
  if (graph.is_bonded(nic)) return false;
  const auto pair = [&](const auto& both) { return both.first == nic || both.second == nic; };
  const auto placed = [&](AddressIndex a) { return switches.is_placed(a); };
  const auto silent = [&](const auto& nics) { return nics.contains(nic); };
  return std::ranges::any_of(graph.first[nic], placed) || std::ranges::any_of(graph.last[nic], placed) ||
         (graph.first[nic].empty() && graph.last[nic].empty() &&
          (std::ranges::any_of(graph.one_switch, pair) ||
           std::ranges::any_of(graph.behind_silent_first, silent)));
}

/// Cables and gaps between the switches that were found.
class CableFinder {
 public:
  CableFinder(const TraceGraph& graph, PlacedSwitches& found) : graph_(graph), found_(found) {}

  TracedCabling run() && {
    number_switches();
    add_nic_cables();
    if (graph_.sprays)
      result_.gaps.push_back({GapKind::sprayed});
    else
      add_switch_cables();
    std::ranges::sort(result_.cables);
    note_silence();
    return std::move(result_);
  }

 private:
  using Ports = std::set<std::optional<AddressIndex>>;  // absent: not told which

  void number_switches() {
    std::map<std::uint32_t, TracedSwitch> by_root;
    for (std::uint32_t nic = 0; nic < found_.nic_count(); ++nic)
      if (has_leaf(graph_, found_, nic)) by_root[found_.leaf_of(nic)];
    for (AddressIndex a = 0; a < found_.address_count(); ++a) {
      if (!found_.is_placed(a)) continue;
      TracedSwitch& at = by_root[found_.switch_of(a)];
      at.level = found_.level(a);
      at.addresses.push_back(graph_.addresses[a]);
      at.answers_from_one = at.answers_from_one || found_.is_whole(a);
    }
    std::map<std::uint32_t, std::uint32_t> first_nic;
    for (std::uint32_t nic = found_.nic_count(); nic-- > 0;)
      if (has_leaf(graph_, found_, nic)) first_nic[found_.leaf_of(nic)] = nic;
    std::vector<std::uint32_t> order;
    for (const auto& [root, at] : by_root) order.push_back(root);
    const auto key = [&](std::uint32_t root) {
      const TracedSwitch& at = by_root[root];
      const std::uint32_t nic = first_nic.contains(root) ? first_nic[root] : found_.nic_count();
      return std::tuple(at.level, nic, at.addresses.empty() ? IpAddress() : at.addresses.front());
    };
    std::ranges::sort(order, {}, key);
    for (const std::uint32_t root : order) {
      index_[root] = static_cast<std::uint32_t>(result_.switches.size());
      result_.switches.push_back(std::move(by_root[root]));
    }
  }

  void add_nic_cables() {
    std::map<AddressIndex, std::uint32_t> entered;
    for (const auto& hops : graph_.first)
      for (const AddressIndex hop : hops) ++entered[hop];
    for (std::uint32_t nic = 0; nic < found_.nic_count(); ++nic) {
      if (!has_leaf(graph_, found_, nic)) {
        result_.gaps.push_back({graph_.is_bonded(nic) ? GapKind::several_first_hops : GapKind::untraced_nic,
                                std::nullopt,
                                {nic}});
        continue;
      }
      std::optional<IpAddress> port;
      for (const AddressIndex hop : graph_.first[nic])
        if (!found_.is_whole(hop) && entered[hop] == 1) port = graph_.addresses[hop];
      result_.cables.push_back({{true, nic}, {false, index_.at(found_.leaf_of(nic)), port}});
    }
  }

  void add_switch_cables() {
    std::map<std::pair<std::uint32_t, std::uint32_t>, Ports> entries;  // from, to: ports there
    const auto note = [&](std::uint32_t from, AddressIndex port) {
      const std::uint32_t to = index_.at(found_.switch_of(port));
      if (from != to) entries[{from, to}].insert(found_.is_whole(port) ? std::nullopt : std::optional(port));
    };
    for (AddressIndex port = 0; port < found_.address_count(); ++port) {
      if (!found_.is_placed(port)) continue;
      for (const auto& [from, count] : graph_.before[port])
        if (found_.is_placed(from)) note(index_.at(found_.switch_of(from)), port);
      for (const std::uint32_t nic : graph_.behind_silent_first[port])
        if (graph_.first[nic].empty() && has_leaf(graph_, found_, nic))
          note(index_.at(found_.leaf_of(nic)), port);
    }
    for (const auto& [ends, there] : entries) {
      const auto back = entries.find({ends.second, ends.first});
      if (back != entries.end() && ends.first > ends.second) continue;  // with the other way
      pair_up(ends.first, back == entries.end() ? Ports() : back->second, ends.second, there);
    }
  }

  TracedEnd end_at(std::uint32_t at, std::optional<AddressIndex> port) const {
    return {false, at, port ? std::optional(graph_.addresses[*port]) : std::nullopt};
  }
  void add(std::uint32_t a, std::optional<AddressIndex> port_a, std::uint32_t b,
           std::optional<AddressIndex> port_b) {
    const auto ends = std::minmax({end_at(a, port_a), end_at(b, port_b)});
    result_.cables.push_back({ends.first, ends.second});
  }

  /// The ports of two switches by which each is entered from the other: pairs by their numbers; one that is
  /// left at each end is one cable.
  void pair_up(std::uint32_t a, const Ports& ports_a, std::uint32_t b, const Ports& ports_b) {
    std::set<AddressIndex> left_a, left_b;
    for (const auto& port : ports_a)
      if (port) left_a.insert(*port);
    for (const auto& port : ports_b)
      if (port) left_b.insert(*port);
    if (left_a.size() == 1 && left_b.size() == 1) return add(a, *left_a.begin(), b, *left_b.begin());
    for (auto at = left_a.begin(); at != left_a.end();) {
      const auto far = sibling(graph_, *at, left_b);
      if (far) {
        add(a, *at, b, *far);
        left_b.erase(*far);
      }
      at = far ? left_a.erase(at) : std::next(at);
    }
    if (left_a.size() == 1 && left_b.size() == 1) return add(a, *left_a.begin(), b, *left_b.begin());
    const bool more_at_a =
        left_a.size() > left_b.size();  // each port has a cable; which lead to which is open
    for (const AddressIndex port : more_at_a ? left_a : left_b)
      more_at_a ? add(a, port, b, std::nullopt) : add(a, std::nullopt, b, port);
    if (ports_a.size() + ports_b.size() ==
        (ports_a.contains(std::nullopt) ? 1U : 0U) + (ports_b.contains(std::nullopt) ? 1U : 0U))
      add(a, std::nullopt, b, std::nullopt);
  }

  void note_silence() {
    std::map<std::uint32_t, std::vector<IpAddress>> above;
    std::vector<IpAddress> unplaced;
    for (AddressIndex a = 0; a < found_.address_count(); ++a) {
      if (!found_.is_placed(a))
        unplaced.push_back(graph_.addresses[a]);
      else if (graph_.before[a].empty() && !graph_.behind_silent[a].empty())
        above[index_.at(found_.switch_of(a))].push_back(graph_.addresses[a]);
    }
    for (auto& [at, ports] : above) result_.gaps.push_back({GapKind::silent_above, at, {}, std::move(ports)});
    if (!unplaced.empty())
      result_.gaps.push_back({GapKind::unplaced_address, std::nullopt, {}, std::move(unplaced)});
    for (std::uint32_t s = 0; s < result_.switches.size(); ++s) {
      const TracedSwitch& at = result_.switches[s];
      if (at.answers_from_one) result_.gaps.push_back({GapKind::cables_as_one, s});
      if (!at.addresses.empty()) continue;
      TracedGap gap{GapKind::silent_switch, s};
      for (std::uint32_t nic = 0; nic < found_.nic_count(); ++nic)
        if (has_leaf(graph_, found_, nic) && index_.at(found_.leaf_of(nic)) == s) gap.nics.push_back(nic);
      result_.gaps.push_back(std::move(gap));
    }
  }

  const TraceGraph& graph_;
  PlacedSwitches& found_;
  std::map<std::uint32_t, std::uint32_t> index_;  // of a switch, by its root
  TracedCabling result_;
};

}  // namespace

TracedCabling cabling_of_traces(std::span<const TracedNic> nics, std::span<const Trace> traces) {
  const TraceGraph graph = graph_of(nics, traces);
  PlacedSwitches switches = SwitchFinder(graph, nics.size()).run();
  return CableFinder(graph, switches).run();
}

}  // namespace weft::discover
