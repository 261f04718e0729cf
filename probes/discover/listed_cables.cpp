#include "probes/discover/listed_cables.hpp"

#include <algorithm>

namespace weft::discover {
namespace {

std::string text_of(const files::CableEnd& end) {
  return end.port.empty() ? end.node : fmt::format("{} {}", end.node, end.port);
}

class ListMerger {
 public:
  explicit ListMerger(std::span<const std::string> hosts) : known_(hosts.begin(), hosts.end()) {}

  void learn_names(const files::CableList& list) { known_.insert(list.devices.begin(), list.devices.end()); }

  void add(const files::CableList& list) {
    for (const auto& device : list.devices) result_.devices.insert(canonical(device));
    for (const auto& name : list.switches) result_.switches.insert(canonical(name));
    for (const auto& name : list.hosts) result_.hosts.insert(canonical(name));
    for (const auto& remark : list.remarks)
      result_.remarks.push_back(fmt::format("{}: {}", list.source, remark));
    for (const auto& [device, address] : list.known_by)
      result_.known_by.emplace(address, canonical(device.node));
    const std::set<std::string> own(list.devices.begin(), list.devices.end());
    for (const files::Cable& cable : list.cables) {
      const files::CableEnd a{canonical(cable.a.node), cable.a.port};
      const files::CableEnd b{canonical(cable.b.node), cable.b.port};
      if (a.node == b.node) {
        result_.remarks.push_back(
            fmt::format("{}: {} is cabled to itself: left out", list.source, text_of(a)));
        continue;
      }
      note(a, {b, list.source, list.is_live, cable.rate}, own.contains(cable.b.node));
      note(b, {a, list.source, list.is_live, cable.rate}, own.contains(cable.a.node));
    }
    for (const auto& [port, address] : list.addresses) note_address(port, address, list.source);
  }

  ListedCables take() && {
    for (const files::CableEnd& end : refused_) drop(end);
    return std::move(result_);
  }

 private:
  std::string canonical(const std::string& name) const {
    const auto dot = name.find('.');
    if (known_.contains(name) || dot == std::string::npos) return name;
    const auto first = name.substr(0, dot);
    return known_.contains(first) ? first : name;
  }

  /// `own_port`: the far port is named by its own device.
  void note(const files::CableEnd& end, FarEnd far, bool own_port) {
    if (end.port.empty()) return;  // which port of it is told by another record, or not at all
    const auto at = result_.far.find(end);
    if (at == result_.far.end()) {
      result_.far.emplace(end, std::move(far));
      return;
    }
    FarEnd& known = at->second;
    if (!known.rate) known.rate = far.rate;
    if (known.end == far.end) return;
    if (known.end.node == far.end.node && (known.end.port.empty() || far.end.port.empty() || own_port ||
                                           result_.devices.contains(far.end.node))) {
      if (own_port || known.end.port.empty()) known.end.port = far.end.port;
      return;  // one port under two names: its own device knows best
    }
    result_.disagreements.push_back(fmt::format("{}: {} says it leads to {}, {} to {}", text_of(end),
                                                known.source, text_of(known.end), far.source,
                                                text_of(far.end)));
    if (known.is_live && far.is_live) refused_.insert(end);
    if (!known.is_live && far.is_live) known = std::move(far);
  }

  void note_address(const files::CableEnd& port, const IpAddress& address, const std::string& source) {
    const auto [at, is_new] = owners_.emplace(address, std::pair(canonical(port.node), source));
    if (!is_new) {
      if (at->second.first != canonical(port.node))
        result_.disagreements.push_back(fmt::format("{}: {} says {} has it, {} says {}", to_string(address),
                                                    at->second.second, at->second.first, source, port.node));
      return;
    }
    if (port.port.empty())
      result_.address_of_device.emplace(canonical(port.node), address);
    else
      result_.address_of_port.emplace(files::CableEnd{canonical(port.node), port.port}, address);
  }

  void drop(const files::CableEnd& end) {
    std::erase_if(result_.far,
                  [&](const auto& entry) { return entry.first == end || entry.second.end == end; });
  }

  std::set<std::string> known_;
  std::set<files::CableEnd> refused_;
  std::map<IpAddress, std::pair<std::string, std::string>> owners_;
  ListedCables result_;
};

}  // namespace

ListedCables listed_cables(std::span<const files::CableList> lists, std::span<const std::string> hosts) {
  ListMerger merger(hosts);
  for (const files::CableList& list : lists) merger.learn_names(list);
  for (const bool live : {true, false})  // what is on the wire first
    for (const files::CableList& list : lists)
      if (list.is_live == live) merger.add(list);
  return std::move(merger).take();
}

}  // namespace weft::discover
