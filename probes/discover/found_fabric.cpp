#include "probes/discover/found_fabric.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <functional>

#include "probes/discover/fabric_of_cables.hpp"
#include "probes/discover/switch_names.hpp"

namespace weft::discover {
namespace {

using files::CableEnd;

std::string listed_addresses(const std::vector<IpAddress>& addresses) {
  return listed(addresses, [](const IpAddress& a) { return to_string(a); });
}

std::vector<FoundCable> cables_of_records(const ListedCables& listed) {
  const auto end_of = [&](const CableEnd& told) {
    FoundEnd end{told.node, told.port};
    const auto at = listed.address_of_port.find(told);
    if (at != listed.address_of_port.end()) end.address = at->second;
    return end;
  };
  std::vector<FoundCable> cables;
  for (const auto& [near, far] : listed.far) {
    const bool reported_by_both = listed.far.contains(far.end);
    if (reported_by_both && far.end < near) continue;  // from its other end
    cables.push_back({end_of(near), end_of(far.end), far.rate, far.source});
  }
  return cables;
}

/// A switch of the traces that may be one of several devices, and these, are never both claimed.
void refuse_untold(const SwitchNames& names, std::vector<FoundCable>& cables, CableRemarks& remarks) {
  if (names.untold_devices.empty()) return;
  const auto devices = listed(names.untold_devices, std::identity());
  if (names.records_stand) {
    remarks.gaps.push_back(fmt::format(
        "which of {} answered from the addresses below: their cables are as the records have them", devices));
    return;
  }
  remarks.gaps.push_back(fmt::format(
      "which switches records call {}: their cables are as traces find them; give LLDP tables of all",
      devices));
  for (FoundCable& cable : cables)
    cable.refused =
        names.untold_devices.contains(cable.a.node) || names.untold_devices.contains(cable.b.node);
}

/// The traced cables of NICs, joined with those that records have of them or added to these.
class NicCables {
 public:
  NicCables(const NamedTraces& traces, std::vector<FoundCable>& cables, CableRemarks& remarks)
      : traces_(traces), nics_(traces.nics), cables_(cables), remarks_(remarks) {
    for (std::size_t c = 0; c < cables.size(); ++c)
      for (const FoundEnd* end : {&cables[c].a, &cables[c].b}) {
        at_port_[{end->node, end->port}] = c;
        if (!cables[c].refused && is_foreign(*end)) foreign_[end->node].push_back(c);
      }
    for (const TracedCable& cable : traces.traced.cables)
      if (cable.a.is_nic && !at_port_.contains(nics_.end(cable.a.index)))
        ++unmatched_[{nics_.host(cable.a.index).host, cable.b.index}];
  }

  void add() && {
    for (const TracedCable& cable : traces_.traced.cables)
      if (cable.a.is_nic) add(cable);
  }

 private:
  /// Of a traced host at a port that is none of its NICs.
  bool is_foreign(const FoundEnd& end) const {
    const auto& hosts = traces_.in.hosts;
    const auto host = std::ranges::find(hosts, end.node, &HostNics::host);
    return host != hosts.end() &&
           std::ranges::find(host->nics, end.port, &HostNic::interface) == host->nics.end();
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
      if (!cables_[c].refused && (only || far == traces_.name_of(traced.b.index))) fitting.push_back(c);
    }
    if (fitting.size() == 1 && unmatched_[{host.host, traced.b.index}] == 1) {
      FoundCable& cable = cables_[fitting.front()];
      (cable.a.node == host.host ? cable.a : cable.b).port = nics_.at(traced.a.index).interface;
      return fitting.front();
    }
    for (const std::size_t c : fitting) {
      cables_[c].refused = true;
      const FoundEnd& end = cables_[c].a.node == host.host ? cables_[c].a : cables_[c].b;
      remarks_.gaps.push_back(
          fmt::format("which NIC of {} is what {} calls '{}': that cable is as traces find it", host.host,
                      cables_[c].source, end.port));
    }
    return std::nullopt;
  }

  void add(const TracedCable& cable) {
    const HostNic& nic = nics_.at(cable.a.index);
    const std::string& at_switch = traces_.name_of(cable.b.index);
    FoundEnd host{nics_.host(cable.a.index).host, nic.interface, nic.address};
    std::optional<std::size_t> known;
    if (const auto at = at_port_.find(nics_.end(cable.a.index)); at == at_port_.end())
      known = adopt(cable);
    else if (!cables_[at->second].refused)
      known = at->second;
    if (!known && traces_.is_left_open(cable.b.index)) {
      remarks_.gaps.push_back(
          fmt::format("where {} is cabled: its switch may be one of several", nics_.name(cable.a.index)));
      return traces_.leave_open(cable.b, remarks_);
    }
    if (!known) {
      cables_.push_back({std::move(host), {at_switch, "", cable.b.port}, nic.rate});
      return;
    }
    FoundCable& listed = cables_[*known];
    const bool near_is_a = listed.a.node == host.node && listed.a.port == host.port;
    (near_is_a ? listed.a : listed.b).address = nic.address;
    FoundEnd& far = near_is_a ? listed.b : listed.a;
    if (traces_.names.named[cable.b.index] && far.node != at_switch)
      far = {at_switch, ""};  // where packets go; that its record says otherwise has been said
    if (far.node == at_switch && !far.address) far.address = cable.b.port;
    if (!listed.rate) listed.rate = nic.rate;
  }

  const NamedTraces& traces_;
  const TracedNics& nics_;
  std::vector<FoundCable>& cables_;
  CableRemarks& remarks_;
  std::map<CableEnd, std::size_t> at_port_;                              // of the records' cables
  std::map<std::string, std::vector<std::size_t>> foreign_;              // by host
  std::map<std::pair<std::string, std::uint32_t>, unsigned> unmatched_;  // NICs of a host at a switch
};

/// Of one switch, one NIC or one group of addresses.
void note_gap(const NamedTraces& traces, const TracedGap& gap, CableRemarks& remarks) {
  const auto nics = listed(gap.nics, [&](std::uint32_t nic) { return traces.nics.name(nic); });
  switch (gap.kind) {
    case GapKind::unplaced_address:
      remarks.gaps.push_back(fmt::format("which switches answered from {}", listed_addresses(gap.addresses)));
      remarks.open["a switch that is not known"] = gap.addresses;
      break;
    case GapKind::silent_above:
      remarks.gaps.push_back(fmt::format("what is above {} behind {}: it never answers",
                                         traces.name_of(*gap.at), listed_addresses(gap.addresses)));
      break;
    case GapKind::silent_switch:
      remarks.gaps.push_back(fmt::format("the addresses of {} (the switch of {}): it never answers",
                                         traces.name_of(*gap.at), nics));
      break;
    case GapKind::several_first_hops:
      remarks.gaps.push_back(fmt::format("the cables of {}: it enters the fabric by several ports", nics));
      break;
    case GapKind::sprayed:
      remarks.gaps.emplace_back(
          "the cables between switches: packets of one flow take several paths; give LLDP tables");
      break;
    case GapKind::untraced_nic:
    case GapKind::cables_as_one:
      break;  // in one sentence, of all of them
  }
}

/// `parallel`: pairs of switches, in words.
void note_gaps(const NamedTraces& traces, const std::vector<std::string>& parallel, CableRemarks& remarks) {
  std::vector<std::string> as_one, untraced;
  for (const TracedGap& gap : traces.traced.gaps) {
    note_gap(traces, gap, remarks);
    if (gap.kind == GapKind::cables_as_one) as_one.push_back(traces.name_of(*gap.at));
    if (gap.kind == GapKind::untraced_nic)
      untraced.push_back(listed(gap.nics, [&](std::uint32_t nic) { return traces.nics.name(nic); }));
  }
  if (!parallel.empty())
    remarks.gaps.push_back(
        fmt::format("whether several cables join {}, or a switch answers from another port than packets "
                    "enter by (Linux: "
                    "icmp_errors_use_inbound_ifaddr=0), and switches look like one: give LLDP tables",
                    listed(parallel, std::identity())));
  if (!untraced.empty())
    remarks.gaps.push_back(
        fmt::format("where {} are cabled: no trace from or to them was answered (NICs of another "
                    "network? --subnet leaves them out)",
                    listed(untraced, std::identity())));
  if (!remarks.open.empty()) remarks.gaps.emplace_back("which ports have the addresses below");
  if (!as_one.empty())
    remarks.gaps.push_back(
        fmt::format("the ports of {}: each answers from one address, and parallel cables count "
                    "as one",
                    listed(as_one, std::identity())));
}

/// Of records alone.
void note_record_gaps(const FoundSources& in, const std::vector<FoundCable>& cables, CableRemarks& remarks) {
  const auto& devices = in.listed.devices;
  const auto is_any_host = [&](const FoundCable& c) {
    return is_host(in, c.a.node) || is_host(in, c.b.node);
  };
  const auto is_reported_twice = [&](const FoundCable& c) {
    return devices.contains(c.a.node) && devices.contains(c.b.node);
  };
  const bool hosts_known = std::ranges::any_of(cables, is_any_host);
  if (!hosts_known)
    remarks.gaps.emplace_back("which nodes are hosts: no record says it (--hosts names them, and traces)");
  if (devices.size() == 1 ||
      (!devices.empty() && !hosts_known && std::ranges::none_of(cables, is_reported_twice)))
    remarks.gaps.push_back(fmt::format("the cables of other devices: only {} told neighbours",
                                       listed(devices, std::identity())));
}

Result<FoundFabric> built(const FoundSources& in, std::vector<FoundCable> cables,
                          const std::vector<std::string>& switches, CableRemarks remarks) {
  auto made = fabric_of_cables(in, std::move(cables), switches);
  if (!made && !remarks.disagreements.empty())  // it is all that there is to say
    return fail(made.error().kind, "{}; contradicted were: {}", made.error().message,
                fmt::join(remarks.disagreements, "; "));
  if (!made) return pass_on(made);
  FoundFabric found{std::move(made->fabric),
                    std::move(made->addresses),
                    std::move(remarks.gaps),
                    std::move(remarks.disagreements),
                    {},
                    made->rates_assumed,
                    in.rate};
  for (auto& [of, addresses] : remarks.open) found.open.push_back({std::move(addresses), of});
  return found;
}

}  // namespace

Result<FoundFabric> found_fabric(const FoundSources& sources) {
  CableRemarks remarks{.gaps = {}, .disagreements = sources.listed.disagreements, .open = {}};
  auto cables = cables_of_records(sources.listed);
  std::vector<std::string> switches;
  if (sources.traced) {
    const NamedTraces traces(sources);
    switches = traces.names.names;
    for (const std::string& said : traces.names.disagreements) remarks.disagreements.push_back(said);
    refuse_untold(traces.names, cables, remarks);
    NicCables(traces, cables, remarks).add();
    note_gaps(traces, add_switch_cables(traces, cables, remarks), remarks);
  } else {
    note_record_gaps(sources, cables, remarks);
  }
  for (const std::string& remark : sources.listed.remarks) remarks.gaps.push_back(remark);
  return built(sources, std::move(cables), switches, std::move(remarks));
}

}  // namespace weft::discover
