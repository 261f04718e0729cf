#include "probes/discover/found_fabric.hpp"

#include <fmt/ranges.h>

#include <algorithm>

#include "probes/discover/cable_claims.hpp"
#include "probes/discover/fabric_of_cables.hpp"
#include "probes/discover/switch_names.hpp"

namespace weft::discover {
namespace {

using files::CableEnd;

std::string listed_addresses(const std::vector<IpAddress>& addresses) {
  return listed(addresses, [](const IpAddress& a) { return to_string(a); });
}

class FabricFinder {
 public:
  explicit FabricFinder(const FoundSources& in)
      : in_(in), nics_(in.hosts), disagreements_(in.listed.disagreements) {}

  Result<FoundFabric> run() && {
    add_listed();
    if (in_.traced) {
      names_ = name_switches(in_);
      for (const std::string& said : names_.disagreements) disagreements_.push_back(said);
      refuse_untold();
      index_foreign();
      for (const TracedCable& cable : in_.traced->cables)
        cable.a.is_nic ? add_nic(cable) : add_between(cable);
      settle_between();
      report_gaps();
    } else {
      report_record_gaps();
    }
    for (const std::string& remark : in_.listed.remarks) gaps_.push_back(remark);
    return build();
  }

 private:
  const std::string& name_of(std::uint32_t at) const { return names_.names[at]; }
  bool is_left_open(std::uint32_t at) const { return names_.untold[at] && names_.records_stand; }

  FoundEnd end_of(const CableEnd& listed) const {
    FoundEnd end{listed.node, listed.port};
    const auto at = in_.listed.address_of_port.find(listed);
    if (at != in_.listed.address_of_port.end()) end.address = at->second;
    return end;
  }

  void add_listed() {
    for (const auto& [near, far] : in_.listed.far) {
      const bool reported_by_both = in_.listed.far.contains(far.end);
      if (reported_by_both && far.end < near) continue;  // from its other end
      cables_.push_back({end_of(near), end_of(far.end), far.rate, far.source});
      for (const CableEnd& end : {near, far.end}) at_port_[end] = cables_.size() - 1;
    }
  }

  /// A switch of the traces that may be one of several devices, and these, are never both claimed.
  void refuse_untold() {
    if (names_.untold_devices.empty()) return;
    const auto devices = listed(names_.untold_devices, [](const auto& name) { return name; });
    if (names_.records_stand) {
      gaps_.push_back(fmt::format(
          "which of {} answered from the addresses below: their cables are as the records have them",
          devices));
      return;
    }
    gaps_.push_back(fmt::format(
        "which switches records call {}: their cables are as traces find them; give LLDP tables of all",
        devices));
    for (FoundCable& cable : cables_)
      cable.refused =
          names_.untold_devices.contains(cable.a.node) || names_.untold_devices.contains(cable.b.node);
  }

  /// Cables that records have of traced hosts at ports that are none of their NICs.
  void index_foreign() {
    for (std::size_t c = 0; c < cables_.size(); ++c)
      for (const FoundEnd* end : {&cables_[c].a, &cables_[c].b})
        if (const auto host = std::ranges::find(in_.hosts, end->node, &HostNics::host);
            host != in_.hosts.end() && !cables_[c].refused &&
            std::ranges::find(host->nics, end->port, &HostNic::interface) == host->nics.end())
          foreign_[end->node].push_back(c);
    for (const TracedCable& cable : in_.traced->cables)
      if (cable.a.is_nic && !at_port_.contains(nics_.end(cable.a.index)))
        ++unmatched_[{nics_.host(cable.a.index).host, cable.b.index}];
  }

  /// The record's cable of a NIC that it knows by another name (a MAC address, an alias), where only one can
  /// be.
  std::optional<std::size_t> adopt(const TracedCable& traced) {
    const auto& host = nics_.host(traced.a.index);
    const auto at = foreign_.find(host.host);
    if (at == foreign_.end()) return std::nullopt;
    std::vector<std::size_t> fitting;
    for (const std::size_t c : at->second) {
      const auto& far = cables_[c].a.node == host.host ? cables_[c].b.node : cables_[c].a.node;
      const bool only = host.nics.size() == 1 && at->second.size() == 1;
      if (!cables_[c].refused && (only || far == name_of(traced.b.index))) fitting.push_back(c);
    }
    if (fitting.size() == 1 && unmatched_[{host.host, traced.b.index}] == 1) {
      FoundCable& cable = cables_[fitting.front()];
      (cable.a.node == host.host ? cable.a : cable.b).port = nics_.at(traced.a.index).interface;
      return fitting.front();
    }
    for (const std::size_t c : fitting) {
      cables_[c].refused = true;
      const FoundEnd& end = cables_[c].a.node == host.host ? cables_[c].a : cables_[c].b;
      gaps_.push_back(fmt::format("which NIC of {} is what {} calls '{}': that cable is as traces find it",
                                  host.host, cables_[c].source, end.port));
    }
    return std::nullopt;
  }

  void add_nic(const TracedCable& cable) {
    const HostNic& nic = nics_.at(cable.a.index);
    FoundEnd host{nics_.host(cable.a.index).host, nic.interface, nic.address};
    std::optional<std::size_t> known;
    if (const auto at = at_port_.find(nics_.end(cable.a.index)); at == at_port_.end())
      known = adopt(cable);
    else if (!cables_[at->second].refused)
      known = at->second;
    if (!known && is_left_open(cable.b.index)) {
      gaps_.push_back(
          fmt::format("where {} is cabled: its switch may be one of several", nics_.name(cable.a.index)));
      leave_open({cable.b});
      return;
    }
    if (!known) {
      cables_.push_back({std::move(host), {name_of(cable.b.index), "", cable.b.port}, nic.rate});
      return;
    }
    FoundCable& listed = cables_[*known];
    const bool near_is_a = listed.a.node == host.node && listed.a.port == host.port;
    (near_is_a ? listed.a : listed.b).address = nic.address;
    FoundEnd& far = near_is_a ? listed.b : listed.a;
    if (names_.named[cable.b.index] && far.node != name_of(cable.b.index))
      far = {name_of(cable.b.index), ""};  // where packets go; that its record says otherwise has been said
    if (far.node == name_of(cable.b.index) && !far.address) far.address = cable.b.port;
    if (!listed.rate) listed.rate = nic.rate;
  }

  void leave_open(std::initializer_list<TracedEnd> ends) {
    for (const TracedEnd& end : ends) {
      const auto& one = in_.traced->switches[end.index];
      const auto of = names_.named[end.index] ? name_of(end.index) : "one switch beside " + beside(end.index);
      if (end.port)
        open_[of].push_back(*end.port);
      else if (is_left_open(end.index) && one.answers_from_one && !open_.contains(of))
        open_[of].push_back(one.addresses.front());
    }
  }

  /// Between switches: kept by pair until all are known.
  void add_between(const TracedCable& cable) { between_[{cable.a.index, cable.b.index}].push_back(cable); }

  void settle_between() {
    for (std::size_t c = 0; c < cables_.size(); ++c)
      for (const FoundEnd* end : {&cables_[c].a, &cables_[c].b})
        if (end->address && !cables_[c].refused) by_address_.emplace(*end->address, c);
    for (auto& [ends, traced] : between_)
      if (names_.named[ends.first] && names_.named[ends.second])
        std::erase_if(traced, [this](const TracedCable& cable) { return contradicts(cable); });
    std::map<std::pair<std::string, std::string>, std::vector<std::size_t>> known;
    for (std::size_t c = 0; c < cables_.size(); ++c)
      if (!cables_[c].refused && !cables_[c].source.empty())
        known[std::minmax(cables_[c].a.node, cables_[c].b.node)].push_back(c);
    for (const auto& [pair, cables] : known)
      if (!is_host(pair.first) && !is_host(pair.second))
        for (const auto& name : {pair.first, pair.second}) listed_between_[name] += cables.size();
    for (const auto& [ends, traced] : between_)
      for (const std::uint32_t end : {ends.first, ends.second})
        traced_between_[name_of(end)] += traced.size();
    for (const auto& [ends, traced] : between_) {
      const auto at = known.find(std::minmax(name_of(ends.first), name_of(ends.second)));
      if (traced.empty()) continue;
      if (names_.named[ends.first] && names_.named[ends.second] && at != known.end())
        join(traced, at->second);
      else
        add_unlisted(ends.first, ends.second, traced);
    }
  }

  /// The record's cable at the port that has this address, of this switch.
  std::optional<std::size_t> cable_at(const TracedEnd& end) const {
    const auto at = end.port ? by_address_.find(*end.port) : by_address_.end();
    if (at == by_address_.end()) return std::nullopt;
    const FoundCable& cable = cables_[at->second];
    const auto& owner = cable.a.address == end.port ? cable.a.node : cable.b.node;
    return owner == name_of(end.index) ? std::optional(at->second) : std::nullopt;
  }

  /// Packets enter by a port whose record leads elsewhere: they are believed.
  bool contradicts(const TracedCable& traced) {
    const auto at_a = cable_at(traced.a), at_b = cable_at(traced.b);
    const auto end_at = [&](const TracedEnd& end, std::optional<std::size_t> at) {
      if (!at) return std::pair(FoundEnd{name_of(end.index), "", end.port}, FoundEnd{});
      const FoundCable& cable = cables_[*at];
      return cable.a.address == end.port ? std::pair(cable.a, cable.b) : std::pair(cable.b, cable.a);
    };
    const auto [a, far_of_a] = end_at(traced.a, at_a);
    const auto [b, far_of_b] = end_at(traced.b, at_b);
    const bool is_other = (at_a && far_of_a.node != b.node) || (at_b && far_of_b.node != a.node);
    if (!is_other && (!at_a || !at_b || at_a == at_b)) return false;
    for (const auto& [at, near, told, found] :
         {std::tuple(at_a, &a, &far_of_a, &b), std::tuple(at_b, &b, &far_of_b, &a)}) {
      if (!at) continue;
      cables_[*at].refused = true;
      disagreements_.push_back(fmt::format("{} ({}): {} says it leads to {}, traces to {}",
                                           text_of({near->node, near->port}), to_string(*near->address),
                                           cables_[*at].source, text_of({told->node, told->port}),
                                           text_of({found->node, found->port})));
    }
    cables_.push_back({a, b});
    return true;
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
      FoundEnd& there = cable.a.node == name_of(end->index) ? cable.a : cable.b;
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
    const auto has_record = [&](std::uint32_t at) {
      return names_.named[at] &&
             (in_.listed.devices.contains(name_of(at)) || listed_between_.contains(name_of(at)));
    };
    // Of a switch that records know fewer cables of than traces find, one is only missing there.
    const auto is_short = [&](std::uint32_t at) {
      return listed_between_[name_of(at)] < traced_between_[name_of(at)];
    };
    if (has_record(a) && has_record(b)) {
      disagreements_.push_back(fmt::format("traces go from {} to {}; the records of both know no such cable",
                                           name_of(a), name_of(b)));
      if (!is_short(a) && !is_short(b)) return;  // it stands elsewhere in them
    }
    if (traced.size() > 1 && !is_left_open(a) && !is_left_open(b))
      parallel_.push_back(fmt::format("{} and {}", name_of(a), name_of(b)));
    for (const TracedCable& cable : traced)
      if (is_left_open(a) || is_left_open(b))
        leave_open({cable.a, cable.b});
      else
        cables_.push_back({{name_of(a), "", cable.a.port}, {name_of(b), "", cable.b.port}});
  }

  /// The switches that a traced one has cables to.
  std::string beside(std::uint32_t at) const {
    std::set<std::string> names;
    for (const auto& [ends, traced] : between_)
      if (ends.first == at || ends.second == at)
        names.insert(name_of(ends.first == at ? ends.second : ends.first));
    return fmt::format("{} ({})", listed(names, [](const auto& name) { return name; }), at);
  }

  void report_gaps() {
    std::vector<std::string> as_one, untraced;
    for (const TracedGap& gap : in_.traced->gaps) {
      const auto nics = listed(gap.nics, [this](std::uint32_t nic) { return nics_.name(nic); });
      switch (gap.kind) {
        case GapKind::unplaced_address:
          gaps_.push_back(fmt::format("which switches answered from {}", listed_addresses(gap.addresses)));
          open_["a switch that is not known"] = gap.addresses;
          break;
        case GapKind::silent_above:
          gaps_.push_back(fmt::format("what is above {} behind {}: it never answers", name_of(*gap.at),
                                      listed_addresses(gap.addresses)));
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

  /// Records alone.
  void report_record_gaps() {
    const auto& devices = in_.listed.devices;
    const auto is_any_host = [&](const FoundCable& c) { return is_host(c.a.node) || is_host(c.b.node); };
    const auto is_reported_twice = [&](const FoundCable& c) {
      return devices.contains(c.a.node) && devices.contains(c.b.node);
    };
    const bool hosts_known = std::ranges::any_of(cables_, is_any_host);
    if (!hosts_known)
      gaps_.emplace_back("which nodes are hosts: no record says it (--hosts names them, and traces)");
    if (devices.size() == 1 ||
        (!devices.empty() && !hosts_known && std::ranges::none_of(cables_, is_reported_twice)))
      gaps_.push_back(fmt::format("the cables of other devices: only {} told neighbours",
                                  listed(devices, [](const auto& name) { return name; })));
  }

  bool is_host(const std::string& node) const { return discover::is_host(in_, node); }

  Result<FoundFabric> build() {
    auto made = fabric_of_cables(in_, std::move(cables_), names_.names);
    if (!made && !disagreements_.empty())  // it is all that there is to say
      return fail(made.error().kind, "{}; contradicted were: {}", made.error().message,
                  fmt::join(disagreements_, "; "));
    if (!made) return pass_on(made);
    FoundFabric found{std::move(made->fabric),
                      std::move(made->addresses),
                      std::move(gaps_),
                      std::move(disagreements_),
                      {},
                      made->rates_assumed,
                      in_.rate};
    for (auto& [of, addresses] : open_) found.open.push_back({std::move(addresses), of});
    return found;
  }

  const FoundSources& in_;
  TracedNics nics_;
  SwitchNames names_;
  std::vector<FoundCable> cables_;
  std::map<CableEnd, std::size_t> at_port_;
  std::map<IpAddress, std::size_t> by_address_;                          // of ports of records' cables
  std::map<std::string, std::vector<std::size_t>> foreign_;              // by host
  std::map<std::pair<std::string, std::uint32_t>, unsigned> unmatched_;  // NICs of a host at a switch
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<TracedCable>> between_;
  std::map<std::string, std::size_t> listed_between_, traced_between_;  // cables to switches, by switch
  std::vector<std::string> parallel_;                                   // pairs of switches, by traces alone
  std::map<std::string, std::vector<IpAddress>> open_;
  std::vector<std::string> gaps_;
  std::vector<std::string> disagreements_;
};

}  // namespace

Result<FoundFabric> found_fabric(const FoundSources& sources) { return FabricFinder(sources).run(); }

}  // namespace weft::discover
