#include "probes/discover/switch_names.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "topology/model/tree_levels.hpp"

namespace weft::discover {
namespace {

using Names = std::set<std::string>;

class SwitchNamer {
 public:
  explicit SwitchNamer(const FoundSources& in) : in_(in), nics_(in.hosts), beside_(switches().size()) {
    result_.names.assign(switches().size(), "");
    for (const HostNics& host : in.hosts) hosts_.insert(host.host);
    for (const auto& [end, far] : in.listed.far) {
      listed_beside_[end.node].insert(far.end.node);
      listed_beside_[far.end.node].insert(end.node);
    }
  }

  SwitchNames run() && {
    take_votes();
    for (bool more = true; more;) {
      look_beside();
      more = match_by_neighbours();
    }
    for (const std::string& name : result_.names) result_.named.push_back(!name.empty());
    find_untold();
    give_names();
    return std::move(result_);
  }

 private:
  using Votes = std::map<std::string, std::vector<std::string>>;  // who says so, by the device's name

  const std::vector<TracedSwitch>& switches() const { return in_.traced->switches; }

  /// A traced switch is the device that its NICs' own records, or the addresses of its ports, say.
  void take_votes() {
    std::vector<Votes> votes(switches().size());
    for (const TracedCable& cable : in_.traced->cables) {
      if (!cable.a.is_nic) continue;
      const std::uint32_t nic = cable.a.index;
      const auto far = in_.listed.far.find(nics_.end(nic));
      const auto beside = listed_beside_.find(nics_.host(nic).host);
      if (far != in_.listed.far.end())
        votes[cable.b.index][far->second.end.node].push_back(
            fmt::format("{} ({})", nics_.name(nic), far->second.source));
      else if (nics_.host(nic).nics.size() == 1 && beside != listed_beside_.end() &&
               beside->second.size() == 1)  // its only cable, by another name of the NIC
        votes[cable.b.index][*beside->second.begin()].push_back(fmt::format("{} (records)", nics_.name(nic)));
    }
    std::map<IpAddress, std::string> owners = in_.listed.known_by;
    for (const auto& [port, address] : in_.listed.address_of_port) owners[address] = port.node;
    for (const auto& [device, address] : in_.listed.address_of_device) owners[address] = device;
    for (std::size_t s = 0; s < switches().size(); ++s)
      for (const IpAddress& address : switches()[s].addresses)
        if (const auto at = owners.find(address); at != owners.end())
          votes[s][at->second].push_back(to_string(address));
    for (std::size_t s = 0; s < switches().size(); ++s) take_vote(s, votes[s]);
  }

  void take_vote(std::size_t s, const Votes& votes) {
    const auto most = std::ranges::max_element(votes, {}, [](const auto& v) { return v.second.size(); });
    if (most == votes.end()) return;
    const auto others = listed(most->second, [](const auto& w) { return w; });
    for (const auto& [name, who] : votes)
      for (std::size_t i = 0; i < who.size() && name != most->first; ++i)
        result_.disagreements.push_back(fmt::format(
            "{}: at {}; traces find it at the switch of {}, which is {}", who[i], name, others, most->first));
    if (taken_.insert(most->first).second)
      result_.names[s] = most->first;
    else
      result_.disagreements.push_back(
          fmt::format("traces find two switches that are both called {}", most->first));
  }

  /// What traces find beside each switch, by name; "" for a switch that has none yet.
  void look_beside() {
    for (Names& names : beside_) names.clear();
    for (const TracedCable& cable : in_.traced->cables) {
      beside_[cable.b.index].insert(cable.a.is_nic ? nics_.host(cable.a.index).host
                                                   : result_.names[cable.a.index]);
      if (!cable.a.is_nic) beside_[cable.a.index].insert(result_.names[cable.b.index]);
    }
  }

  bool is_free(const std::string& device) const {
    return !taken_.contains(device) && !hosts_.contains(device) &&
           (!in_.listed.hosts.contains(device) || in_.listed.switches.contains(device));
  }

  /// The one switch and the one device that are cabled to all the same.
  bool match_by_neighbours() {
    std::map<Names, std::pair<std::vector<std::size_t>, std::vector<std::string>>> alike;
    for (std::size_t s = 0; s < switches().size(); ++s)
      if (result_.names[s].empty() && !beside_[s].empty() && !beside_[s].contains(""))
        alike[beside_[s]].first.push_back(s);
    for (const auto& [device, beside] : listed_beside_)
      if (const auto at = alike.find(beside); at != alike.end() && is_free(device))
        at->second.second.push_back(device);
    bool matched = false;
    for (const auto& [beside, both] : alike)
      if (both.first.size() == 1 && both.second.size() == 1) {
        result_.names[both.first.front()] = both.second.front();
        taken_.insert(both.second.front());
        matched = true;
      }
    return matched;
  }

  /// Not where traces know a neighbour of the device, and this switch beside none of these.
  bool could_be(std::size_t s, const Names& beside_device) const {
    bool placed = false;
    for (const std::string& name : beside_device) {
      if (beside_[s].contains(name)) return true;
      placed = placed || taken_.contains(name) || hosts_.contains(name);
    }
    return !placed;
  }

  void find_untold() {
    result_.untold.assign(switches().size(), false);
    for (const auto& [device, beside] : listed_beside_)
      for (std::size_t s = 0; s < switches().size() && is_free(device); ++s)
        if (!result_.named[s] && could_be(s, beside)) {
          result_.untold[s] = true;
          result_.untold_devices.insert(device);
        }
    std::size_t by_traces = 0, by_records = 0;
    for (const TracedCable& cable : in_.traced->cables)
      by_traces +=
          result_.untold[cable.b.index] || (!cable.a.is_nic && result_.untold[cable.a.index]) ? 1 : 0;
    for (const auto& [end, far] : in_.listed.far) {
      const bool is_second = in_.listed.far.contains(far.end) && far.end < end;
      const bool is_untold =
          result_.untold_devices.contains(end.node) || result_.untold_devices.contains(far.end.node);
      by_records += is_untold && !is_second ? 1 : 0;
    }
    result_.records_stand = by_records >= by_traces;  // the side that tells more
    if (by_records == by_traces) compare_untold();
  }

  /// Whichever is which: there must be as many devices as switches that are cabled to the same.
  void compare_untold() {
    std::multiset<Names> by_traces, by_records;
    for (std::size_t s = 0; s < switches().size(); ++s)
      if (result_.untold[s]) by_traces.insert(beside_[s]);
    for (const std::string& device : result_.untold_devices) by_records.insert(listed_beside_[device]);
    const auto is_whole = [](const Names& names) { return !names.contains(""); };
    if (by_traces == by_records || !std::ranges::all_of(by_traces, is_whole)) return;
    result_.records_stand = false;  // where packets go
    result_.disagreements.push_back(
        fmt::format("records have cables of {} that no switch which traces find has, whichever is which",
                    listed(result_.untold_devices, [](const auto& name) { return name; })));
  }

  void give_names() {
    taken_.insert(hosts_.begin(), hosts_.end());
    for (const auto& [device, beside] : listed_beside_) taken_.insert(device);
    std::map<unsigned, unsigned> counts;
    for (std::size_t s = 0; s < switches().size(); ++s)
      while (result_.names[s].empty()) {
        const unsigned level = switches()[s].level;
        const auto name = fmt::format("{}{}", to_string(tier_of_level(level)), ++counts[level]);
        if (taken_.insert(name).second) result_.names[s] = name;
      }
  }

  const FoundSources& in_;
  TracedNics nics_;
  std::vector<Names> beside_;  // by traced switch
  std::map<std::string, Names> listed_beside_;
  Names hosts_;
  Names taken_;
  SwitchNames result_;
};

}  // namespace

SwitchNames name_switches(const FoundSources& sources) { return SwitchNamer(sources).run(); }

}  // namespace weft::discover
