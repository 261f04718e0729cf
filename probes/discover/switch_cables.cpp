// Cables between traced switches, beside those that records have of them.
#include <fmt/format.h>

#include <algorithm>

#include "probes/discover/cable_claims.hpp"
#include "probes/discover/fabric_of_cables.hpp"

namespace weft::discover {
namespace {

class SwitchCables {
 public:
  SwitchCables(const NamedTraces& traces, std::vector<FoundCable>& cables, CableRemarks& remarks)
      : traces_(traces), cables_(cables), remarks_(remarks) {}

  std::vector<std::string> add() && {
    for (std::size_t c = 0; c < cables_.size(); ++c)
      for (const FoundEnd* end : {&cables_[c].a, &cables_[c].b})
        if (end->address && !cables_[c].refused) by_address_.emplace(*end->address, c);
    auto between = traces_.between;
    for (auto& [ends, traced] : between)
      if (is_named(ends.first) && is_named(ends.second))
        std::erase_if(traced, [this](const TracedCable& cable) { return contradicts(cable); });
    std::map<std::pair<std::string, std::string>, std::vector<std::size_t>> known;
    for (std::size_t c = 0; c < cables_.size(); ++c)
      if (!cables_[c].refused && !cables_[c].source.empty())
        known[std::minmax(cables_[c].a.node, cables_[c].b.node)].push_back(c);
    for (const auto& [pair, cables] : known)
      if (!is_host(traces_.in, pair.first) && !is_host(traces_.in, pair.second))
        for (const auto& name : {pair.first, pair.second}) listed_between_[name] += cables.size();
    for (const auto& [ends, traced] : between)
      for (const std::uint32_t end : {ends.first, ends.second})
        traced_between_[name_of(end)] += traced.size();
    for (const auto& [ends, traced] : between) {
      const auto at = known.find(std::minmax(name_of(ends.first), name_of(ends.second)));
      if (traced.empty()) continue;
      if (is_named(ends.first) && is_named(ends.second) && at != known.end())
        join(traced, at->second);
      else
        add_unlisted(ends.first, ends.second, traced);
    }
    return std::move(parallel_);
  }

 private:
  const std::string& name_of(std::uint32_t at) const { return traces_.name_of(at); }
  bool is_named(std::uint32_t at) const { return traces_.names.named[at]; }

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
      remarks_.disagreements.push_back(
          fmt::format("{} ({}): {} says it leads to {}, traces to {}", text_of({near->node, near->port}),
                      to_string(*near->address), cables_[*at].source, text_of({told->node, told->port}),
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
          if (end->port && !by_address(*end)) remarks_.open[name_of(end->index)].push_back(*end->port);
      return;
    }
    FoundCable& cable = cables_[known.front()];
    for (const TracedEnd* end : {&traced.front().a, &traced.front().b}) {
      FoundEnd& there = cable.a.node == name_of(end->index) ? cable.a : cable.b;
      if (there.address && end->port && *there.address != *end->port)
        remarks_.disagreements.push_back(fmt::format("{} {}: its record says {}, traces from {} enter by {}",
                                                     there.node, there.port, to_string(*there.address),
                                                     cable.a.node == there.node ? cable.b.node : cable.a.node,
                                                     to_string(*end->port)));
      else if (!there.address)
        there.address = end->port;
    }
  }

  void add_unlisted(std::uint32_t a, std::uint32_t b, const std::vector<TracedCable>& traced) {
    const auto has_record = [&](std::uint32_t at) {
      return is_named(at) &&
             (traces_.in.listed.devices.contains(name_of(at)) || listed_between_.contains(name_of(at)));
    };
    // Of a switch that records know fewer cables of than traces find, one is only missing there.
    const auto is_short = [&](std::uint32_t at) {
      return listed_between_[name_of(at)] < traced_between_[name_of(at)];
    };
    if (has_record(a) && has_record(b)) {
      remarks_.disagreements.push_back(fmt::format(
          "traces go from {} to {}; the records of both know no such cable", name_of(a), name_of(b)));
      if (!is_short(a) && !is_short(b)) return;  // it stands elsewhere in them
    }
    const bool is_open = traces_.is_left_open(a) || traces_.is_left_open(b);
    if (traced.size() > 1 && !is_open) parallel_.push_back(fmt::format("{} and {}", name_of(a), name_of(b)));
    for (const TracedCable& cable : traced)
      if (is_open)
        for (const TracedEnd* end : {&cable.a, &cable.b}) traces_.leave_open(*end, remarks_);
      else
        cables_.push_back({{name_of(a), "", cable.a.port}, {name_of(b), "", cable.b.port}});
  }

  const NamedTraces& traces_;
  std::vector<FoundCable>& cables_;
  CableRemarks& remarks_;
  std::map<IpAddress, std::size_t> by_address_;                         // of ports of records' cables
  std::map<std::string, std::size_t> listed_between_, traced_between_;  // cables to switches, by switch
  std::vector<std::string> parallel_;
};

/// The switches that a traced one has cables to.
std::string beside(const NamedTraces& traces, std::uint32_t at) {
  std::set<std::string> names;
  for (const auto& [ends, traced] : traces.between)
    if (ends.first == at || ends.second == at)
      names.insert(traces.name_of(ends.first == at ? ends.second : ends.first));
  return fmt::format("{} ({})", listed(names, [](const auto& name) { return name; }), at);
}

}  // namespace

NamedTraces::NamedTraces(const FoundSources& sources)
    : in(sources), traced(*sources.traced), nics(sources.hosts), names(name_switches(sources)) {
  for (const TracedCable& cable : traced.cables)
    if (!cable.a.is_nic) between[{cable.a.index, cable.b.index}].push_back(cable);
}

void NamedTraces::leave_open(const TracedEnd& end, CableRemarks& remarks) const {
  const TracedSwitch& one = traced.switches[end.index];
  const auto of =
      names.named[end.index] ? name_of(end.index) : "one switch beside " + beside(*this, end.index);
  if (end.port)
    remarks.open[of].push_back(*end.port);
  else if (is_left_open(end.index) && one.answers_from_one && !remarks.open.contains(of))
    remarks.open[of].push_back(one.addresses.front());
}

std::vector<std::string> add_switch_cables(const NamedTraces& traces, std::vector<FoundCable>& cables,
                                           CableRemarks& remarks) {
  return SwitchCables(traces, cables, remarks).add();
}

}  // namespace weft::discover
