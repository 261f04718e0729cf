#include "probes/discover/found_fabric.hpp"

#include <fmt/ranges.h>

#include <algorithm>

#include "topology/model/fabric_builder.hpp"
#include "topology/model/tree_levels.hpp"

namespace weft::discover {
namespace {

using files::CableEnd;

constexpr std::size_t kNamed = 8;  // of a list in a sentence

struct End {
  std::string node;
  std::string port;  // its name; of a NIC its interface
  std::optional<IpAddress> address = std::nullopt;
};
struct FoundCable {
  End a;
  End b;
  std::optional<Bandwidth> rate = std::nullopt;
};

template <class Items, class Word>
std::string listed(const Items& items, Word word) {
  std::vector<std::string> words;
  for (const auto& item : items)
    if (words.size() < kNamed) words.push_back(word(item));
  const auto more = items.size() > kNamed ? fmt::format(" and {} more", items.size() - kNamed) : "";
  return fmt::format("{}{}", fmt::join(words, ", "), more);
}
std::string listed(const std::vector<IpAddress>& addresses) {
  return listed(addresses, [](const IpAddress& a) { return to_string(a); });
}

class FabricFinder {
 public:
  explicit FabricFinder(const FoundSources& in) : in_(in), disagreements_(in.listed.disagreements) {
    for (std::size_t h = 0; h < in.hosts.size(); ++h)
      for (std::size_t n = 0; n < in.hosts[h].nics.size(); ++n) nics_.emplace_back(h, n);
  }

  Result<FoundFabric> run() && {
    add_listed();
    if (in_.traced) {
      name_switches();
      for (const TracedCable& cable : in_.traced->cables)
        cable.a.is_nic ? add_nic(cable) : add_between(cable);
      settle_between();
      say_gaps();
    }
    for (const std::string& remark : in_.listed.remarks) gaps_.push_back(remark);
    return build();
  }

 private:
  const HostNics& host_of(std::uint32_t nic) const { return in_.hosts[nics_[nic].first]; }
  const HostNic& nic_at(std::uint32_t nic) const { return host_of(nic).nics[nics_[nic].second]; }
  std::string nic_name(std::uint32_t nic) const {
    return host_of(nic).nics.size() == 1 ? host_of(nic).host
                                         : fmt::format("{} {}", host_of(nic).host, nic_at(nic).interface);
  }
  CableEnd listed_nic(std::uint32_t nic) const { return {host_of(nic).host, nic_at(nic).interface}; }
  const std::string& name_of(std::uint32_t at) const { return names_[at]; }

  End end_of(const CableEnd& listed) const {
    End end{listed.node, listed.port};
    const auto at = in_.listed.address_of_port.find(listed);
    if (at != in_.listed.address_of_port.end()) end.address = at->second;
    return end;
  }

  void add_listed() {
    for (const auto& [near, far] : in_.listed.far) {
      const bool told_by_both = in_.listed.far.contains(far.end);
      if (told_by_both && far.end < near) continue;  // from its other end
      cables_.push_back({end_of(near), end_of(far.end), far.rate});
      for (const CableEnd& end : {near, far.end}) at_port_[end] = cables_.size() - 1;
    }
  }

  /// A traced switch is the device that its NICs' own records, or the addresses of its ports, say.
  void name_switches() {
    const auto& switches = in_.traced->switches;
    std::vector<std::map<std::string, std::vector<std::string>>> votes(switches.size());
    for (const TracedCable& cable : in_.traced->cables) {
      if (!cable.a.is_nic) continue;
      const auto far = in_.listed.far.find(listed_nic(cable.a.index));
      if (far != in_.listed.far.end())
        votes[cable.b.index][far->second.end.node].push_back(
            fmt::format("{} ({})", nic_name(cable.a.index), far->second.source));
    }
    std::map<IpAddress, std::string> owners = in_.listed.known_by;
    for (const auto& [port, address] : in_.listed.address_of_port) owners[address] = port.node;
    for (const auto& [device, address] : in_.listed.address_of_device) owners[address] = device;
    for (std::size_t s = 0; s < switches.size(); ++s)
      for (const IpAddress& address : switches[s].addresses)
        if (const auto at = owners.find(address); at != owners.end())
          votes[s][at->second].push_back(to_string(address));
    names_.assign(switches.size(), "");
    std::set<std::string> taken;
    for (std::size_t s = 0; s < switches.size(); ++s) take_vote(s, votes[s], taken);
    for (std::size_t s = 0; s < switches.size(); ++s) named_.push_back(!names_[s].empty());
    give_names(taken);
  }

  void take_vote(std::size_t s, const std::map<std::string, std::vector<std::string>>& votes,
                 std::set<std::string>& taken) {
    const auto most = std::ranges::max_element(votes, {}, [](const auto& v) { return v.second.size(); });
    if (most == votes.end()) return;
    const auto others = listed(most->second, [](const auto& w) { return w; });
    for (const auto& [name, who] : votes)
      for (std::size_t i = 0; i < who.size() && name != most->first; ++i)
        disagreements_.push_back(fmt::format("{}: at {}; traces find it at the switch of {}, which is {}",
                                             who[i], name, others, most->first));
    if (taken.insert(most->first).second)
      names_[s] = most->first;
    else
      disagreements_.push_back(fmt::format("traces find two switches that are both called {}", most->first));
  }

  void give_names(std::set<std::string> taken) {
    for (const HostNics& host : in_.hosts) taken.insert(host.host);
    for (const auto& [end, far] : in_.listed.far) taken.insert({end.node, far.end.node});
    std::map<unsigned, unsigned> counts;
    for (std::size_t s = 0; s < names_.size(); ++s)
      while (names_[s].empty() || (!named_[s] && taken.contains(names_[s]))) {
        const unsigned level = in_.traced->switches[s].level;
        names_[s] = fmt::format("{}{}", to_string(tier_of_level(level)), ++counts[level]);
        if (taken.insert(names_[s]).second) break;
        names_[s].clear();
      }
  }

  void add_nic(const TracedCable& cable) {
    const auto known = at_port_.find(listed_nic(cable.a.index));
    const HostNic& nic = nic_at(cable.a.index);
    End host{host_of(cable.a.index).host, nic.interface, nic.address};
    if (known == at_port_.end()) {
      cables_.push_back({std::move(host), {name_of(cable.b.index), "", cable.b.port}, nic.rate});
      return;
    }
    FoundCable& listed = cables_[known->second];
    const bool near_is_a = listed.a.node == host.node && listed.a.port == host.port;
    (near_is_a ? listed.a : listed.b).address = nic.address;
    End& far = near_is_a ? listed.b : listed.a;
    if (named_[cable.b.index] && far.node != name_of(cable.b.index))
      far = {name_of(cable.b.index), ""};  // where packets go; that its record says otherwise has been said
    if (far.node == name_of(cable.b.index) && !far.address) far.address = cable.b.port;
    if (!listed.rate) listed.rate = nic.rate;
  }

  /// Between switches: kept by pair until all are known.
  void add_between(const TracedCable& cable) { between_[{cable.a.index, cable.b.index}].push_back(cable); }

  void settle_between() {
    std::map<std::pair<std::string, std::string>, std::vector<std::size_t>> known;
    for (std::size_t c = 0; c < cables_.size(); ++c)
      known[std::minmax(cables_[c].a.node, cables_[c].b.node)].push_back(c);
    for (const auto& [ends, traced] : between_) {
      const auto& a = name_of(ends.first);
      const auto& b = name_of(ends.second);
      const auto at = known.find(std::minmax(a, b));
      if (named_[ends.first] && named_[ends.second] && at != known.end())
        join(traced, at->second);
      else
        add_unlisted(ends.first, ends.second, traced);
    }
  }

  /// Traced cables between two switches whose records know theirs: one each is the same.
  void join(const std::vector<TracedCable>& traced, const std::vector<std::size_t>& known) {
    const auto by_address = [&](const TracedEnd& end) {
      return std::ranges::any_of(known, [&](std::size_t c) {
        return end.port && (cables_[c].a.address == end.port || cables_[c].b.address == end.port);
      });
    };
    if (traced.size() != 1 || known.size() != 1) {
      for (const TracedCable& cable : traced)
        for (const TracedEnd* end : {&cable.a, &cable.b})
          if (end->port && !by_address(*end)) open_[name_of(end->index)].push_back(*end->port);
      return;
    }
    FoundCable& cable = cables_[known.front()];
    for (const TracedEnd* end : {&traced.front().a, &traced.front().b}) {
      End& there = cable.a.node == name_of(end->index) ? cable.a : cable.b;
      if (there.address && end->port && *there.address != *end->port)
        disagreements_.push_back(fmt::format("{} {}: its record says {}, traces from {} enter by {}",
                                             there.node, there.port, to_string(*there.address),
                                             cable.a.node == there.node ? cable.b.node : cable.a.node,
                                             to_string(*end->port)));
      else if (!there.address)
        there.address = end->port;
    }
  }

  void add_unlisted(std::uint32_t a, std::uint32_t b, const std::vector<TracedCable>& traced) {
    const auto has_record = [&](std::uint32_t s) {
      return named_[s] && in_.listed.devices.contains(name_of(s));
    };
    if (has_record(a) && has_record(b))
      disagreements_.push_back(fmt::format("traces go from {} to {}; the records of both know no such cable",
                                           name_of(a), name_of(b)));
    if (traced.size() > 1) parallel_.push_back(fmt::format("{} and {}", name_of(a), name_of(b)));
    // A switch that records know by a name, and traces by addresses: which is which is not told.
    const bool open = (has_record(a) && !named_[b]) || (has_record(b) && !named_[a]);
    for (const TracedCable& cable : traced) {
      if (!open) {
        cables_.push_back({{name_of(a), "", cable.a.port}, {name_of(b), "", cable.b.port}});
        continue;
      }
      for (const TracedEnd* end : {&cable.a, &cable.b})
        if (end->port) {
          open_[named_[end->index] ? name_of(end->index) : "one switch beside " + beside(end->index)]
              .push_back(*end->port);
        }
    }
  }

  /// The switches that a traced one has cables to.
  std::string beside(std::uint32_t at) const {
    std::set<std::string> names;
    for (const auto& [ends, traced] : between_)
      if (ends.first == at || ends.second == at)
        names.insert(name_of(ends.first == at ? ends.second : ends.first));
    return fmt::format("{} ({})", listed(names, [](const auto& name) { return name; }), at);
  }

  void say_gaps() {
    std::vector<std::string> as_one, untraced;
    for (const TracedGap& gap : in_.traced->gaps) {
      const auto nics = listed(gap.nics, [this](std::uint32_t nic) { return nic_name(nic); });
      switch (gap.kind) {
        case GapKind::unplaced_address:
          gaps_.push_back(fmt::format("which switches answered from {}", listed(gap.addresses)));
          open_["a switch that is not known"] = gap.addresses;
          break;
        case GapKind::silent_above:
          gaps_.push_back(fmt::format("what is above {} behind {}: it never answers", name_of(*gap.at),
                                      listed(gap.addresses)));
          break;
        case GapKind::silent_switch:
          gaps_.push_back(fmt::format("the addresses of {} (the switch of {}): it never answers",
                                      name_of(*gap.at), nics));
          break;
        case GapKind::several_first_hops:
          gaps_.push_back(fmt::format("the cables of {}: it enters the fabric by several ports", nics));
          break;
        case GapKind::untraced_nic:
          untraced.push_back(nics);
          break;
        case GapKind::sprayed:
          gaps_.emplace_back(
              "the cables between switches: packets of one flow take several paths; give LLDP tables");
          break;
        case GapKind::cables_as_one:
          as_one.push_back(name_of(*gap.at));
          break;
      }
    }
    const auto itself = [](const auto& name) { return name; };
    if (!parallel_.empty())
      gaps_.push_back(
          fmt::format("whether several cables join {}, or a switch answers from another port than packets "
                      "enter by (Linux: "
                      "icmp_errors_use_inbound_ifaddr=0), and switches look like one: give LLDP tables",
                      listed(parallel_, itself)));
    if (!untraced.empty())
      gaps_.push_back(
          fmt::format("where {} are cabled: no trace from or to them was answered (NICs of another "
                      "network? --subnet leaves them out)",
                      listed(untraced, itself)));
    if (!open_.empty()) gaps_.emplace_back("which ports have the addresses below");
    if (!as_one.empty())
      gaps_.push_back(
          fmt::format("the ports of {}: each answers from one address, and parallel cables count "
                      "as one",
                      listed(as_one, itself)));
  }

  bool is_host(const std::string& node) const {
    const auto is_it = [&](const HostNics& host) { return host.host == node; };
    return std::ranges::any_of(in_.hosts, is_it) ||
           (in_.listed.hosts.contains(node) && !in_.listed.switches.contains(node));
  }

  Result<std::map<std::string, NodeId>> add_nodes(FabricBuilder& builder) const {
    std::vector<std::string> order;
    std::map<std::string, std::uint32_t> index;
    const auto add = [&](const std::string& name) {
      if (index.emplace(name, static_cast<std::uint32_t>(order.size())).second) order.push_back(name);
    };
    for (const HostNics& host : in_.hosts) add(host.host);
    for (const std::string& name : names_) add(name);
    for (const FoundCable& cable : cables_)
      for (const End* end : {&cable.a, &cable.b}) add(end->node);
    CabledNodes nodes{std::vector<bool>(order.size()), std::vector<std::vector<std::uint32_t>>(order.size())};
    for (const std::string& name : order) nodes.is_host[index[name]] = is_host(name);
    for (const FoundCable& cable : cables_) {
      nodes.neighbours[index[cable.a.node]].push_back(index[cable.b.node]);
      nodes.neighbours[index[cable.b.node]].push_back(index[cable.a.node]);
    }
    const auto levels = tree_levels(nodes);
    std::ranges::stable_sort(
        order, {}, [&](const std::string& name) { return std::pair(!is_host(name), levels[index[name]]); });
    std::map<std::string, NodeId> ids;
    for (const std::string& name : order) {
      if (!is_host(name) && nodes.neighbours[index[name]].empty()) continue;  // a switch of no cable
      const bool host = is_host(name);
      const Tier tier = host ? Tier::host : tier_of_level(std::max(1U, levels[index[name]]));
      WEFT_TRY(const auto id, builder.add_node({name, host ? NodeKind::host : NodeKind::switch_, tier}));
      ids.emplace(name, id);
    }
    return ids;
  }

  Result<PortId> add_port(FabricBuilder& builder, NodeId node, const End& end) {
    const auto host = std::ranges::find(in_.hosts, end.node, &HostNics::host);
    if (host != in_.hosts.end())
      for (std::size_t n = 0; n < host->nics.size(); ++n)
        if (host->nics[n].interface == end.port) {
          WEFT_TRY(const auto nic, builder.add_port(node, PortNumber(static_cast<std::uint16_t>(n + 1))));
          addresses_.emplace_back(nic, host->nics[n].address);
          return nic;
        }
    const auto name = split_port(end.node + "/" + end.port);
    const bool is_free = name && name->port && !builder.find_port(node, *name->port) &&
                         name->port->value() > 0 && name->port->value() < 60'000;
    PortId port;
    if (is_free && !is_host(end.node)) {  // its device numbers its ports as fabric files do
      WEFT_TRY(port, builder.add_port(node, *name->port));
    } else {
      port = builder.add_next_port(node);
    }
    if (is_port_name(end.port) && !is_host(end.node)) WEFT_TRY_VOID(builder.name_port(port, end.port));
    if (end.address) addresses_.emplace_back(port, *end.address);
    return port;
  }

  Result<FoundFabric> build() {
    if (cables_.empty()) return fail(ErrorKind::invalid_input, "no cable was found");
    FabricBuilder builder(in_.name, FabricKind::roce);
    WEFT_TRY(const auto ids, add_nodes(builder));
    for (const FoundCable& cable : cables_) {
      WEFT_TRY(const auto a, add_port(builder, ids.at(cable.a.node), cable.a));
      WEFT_TRY(const auto b, add_port(builder, ids.at(cable.b.node), cable.b));
      WEFT_TRY_VOID(builder.add_link(a, b, cable.rate.value_or(in_.rate)));
    }
    Fabric fabric = std::move(builder).build();
    auto book = book_of(fabric, ids);
    FoundFabric found{std::move(fabric), std::move(book), std::move(gaps_), std::move(disagreements_), {}};
    for (auto& [of, addresses] : open_) found.open.push_back({std::move(addresses), of});
    return found;
  }

  AddressBook book_of(const Fabric& fabric, const std::map<std::string, NodeId>& ids) {
    std::vector<std::optional<IpAddress>> by_port(fabric.port_count()), by_node(fabric.node_count());
    std::set<IpAddress> given;
    for (const auto& [port, address] : addresses_)
      if (given.insert(address).second) by_port[port.value()] = address;
    const auto give = [&](const std::string& name, const IpAddress& address) {
      if (const auto at = ids.find(name); at != ids.end() && given.insert(address).second)
        by_node[at->second.value()] = address;
    };
    for (std::size_t s = 0; s < names_.size(); ++s)
      if (in_.traced->switches[s].answers_from_one)
        give(names_[s], in_.traced->switches[s].addresses.front());
    for (const auto& [device, address] : in_.listed.address_of_device)
      if (const auto at = ids.find(device); at != ids.end() && !by_node[at->second.value()])
        give(device, address);
    return AddressBook(std::move(by_port), std::move(by_node));
  }

  const FoundSources& in_;
  std::vector<std::pair<std::size_t, std::size_t>> nics_;  // host and NIC of the traces' indices
  std::vector<std::string> names_;                         // of the traced switches
  std::vector<bool> named_;                                // by a record
  std::vector<FoundCable> cables_;
  std::map<CableEnd, std::size_t> at_port_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<TracedCable>> between_;
  std::vector<std::string> parallel_;  // pairs of switches, by traces alone
  std::map<std::string, std::vector<IpAddress>> open_;
  std::vector<std::pair<PortId, IpAddress>> addresses_;
  std::vector<std::string> gaps_;
  std::vector<std::string> disagreements_;
};

}  // namespace

Result<FoundFabric> found_fabric(const FoundSources& sources) { return FabricFinder(sources).run(); }

}  // namespace weft::discover
