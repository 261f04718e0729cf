#include "probes/discover/listed_cables.hpp"

#include <algorithm>

#include "probes/discover/cable_claims.hpp"
#include "topology/model/fabric_builder.hpp"

namespace weft::discover {
namespace {

bool can_be_a_node(const std::string& name) {
  return FabricBuilder("", FabricKind::roce).add_node({name, NodeKind::switch_, Tier::leaf}).has_value();
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
    std::set<std::string> own;
    for (const auto& device : list.devices) own.insert(canonical(device));
    for (const files::Cable& cable : list.cables) {
      CableClaim claim{{canonical(cable.a.node), cable.a.port},
                       {canonical(cable.b.node), cable.b.port},
                       list.source,
                       list.is_live,
                       {},
                       cable.rate};
      if (!fits(claim)) continue;
      for (const files::CableEnd* end : {&claim.a, &claim.b})
        if (own.contains(end->node)) claim.told_by.insert(end->node);
      claims_.push_back(std::move(claim));
    }
    for (const auto& [port, address] : list.addresses) note_address(port, address, list.source);
  }

  ListedCables take() && {
    auto settled = settle_claims(std::move(claims_), result_.devices);
    for (std::string& said : settled.disagreements) result_.disagreements.push_back(std::move(said));
    for (const CableClaim& cable : settled.cables) {
      if (!cable.a.port.empty()) result_.far[cable.a] = {cable.b, cable.source, cable.is_live, cable.rate};
      if (!cable.b.port.empty()) result_.far[cable.b] = {cable.a, cable.source, cable.is_live, cable.rate};
    }
    return std::move(result_);
  }

 private:
  std::string canonical(const std::string& name) const {
    const auto dot = name.find('.');
    if (known_.contains(name) || dot == std::string::npos) return name;
    const auto first = name.substr(0, dot);
    return known_.contains(first) ? first : name;
  }

  bool fits(const CableClaim& claim) {
    const auto leave_out = [&](const std::string& why) {
      result_.remarks.push_back(fmt::format("{}: {}: left out", claim.source, why));
      return false;
    };
    if (claim.a.node == claim.b.node) return leave_out(text_of(claim.a) + " is cabled to itself");
    for (const auto& [end, far] : {std::pair(&claim.a, &claim.b), std::pair(&claim.b, &claim.a)})
      if (!can_be_a_node(end->node))
        return leave_out(
            fmt::format("{} leads to '{}', which is no name of a host or switch", text_of(*far), end->node));
    return true;
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

  std::set<std::string> known_;
  std::vector<CableClaim> claims_;
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
