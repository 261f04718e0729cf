#include "probes/discover/fabric_of_cables.hpp"

#include <algorithm>

#include "topology/model/fabric_builder.hpp"
#include "topology/model/tree_levels.hpp"

namespace weft::discover {
namespace {

class CableFabric {
 public:
  CableFabric(const FoundSources& in, std::vector<FoundCable> cables, const std::vector<std::string>& names)
      : in_(in), cables_(std::move(cables)), names_(names) {}

  Result<CabledFabric> run() && {
    std::erase_if(cables_, [](const FoundCable& cable) { return cable.refused; });
    const auto is_of_nic = [this](const FoundCable& c) { return is_nic(c.a) || is_nic(c.b); };
    std::ranges::stable_partition(cables_, is_of_nic);  // NICs have their numbers before others take them
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
    const auto untold = std::ranges::count_if(cables_, [](const FoundCable& c) { return !c.rate; });
    return CabledFabric{std::move(fabric), std::move(book), static_cast<std::size_t>(untold)};
  }

 private:
  Result<std::map<std::string, NodeId>> add_nodes(FabricBuilder& builder) const {
    std::vector<std::string> order;
    std::map<std::string, std::uint32_t> index;
    const auto add = [&](const std::string& name) {
      if (index.emplace(name, static_cast<std::uint32_t>(order.size())).second) order.push_back(name);
    };
    for (const HostNics& host : in_.hosts) add(host.host);
    for (const std::string& name : names_) add(name);
    for (const FoundCable& cable : cables_)
      for (const FoundEnd* end : {&cable.a, &cable.b}) add(end->node);
    CabledNodes nodes{std::vector<bool>(order.size()), std::vector<std::vector<std::uint32_t>>(order.size())};
    for (const std::string& name : order) nodes.is_host[index[name]] = is_host(in_, name);
    for (const FoundCable& cable : cables_) {
      nodes.neighbours[index[cable.a.node]].push_back(index[cable.b.node]);
      nodes.neighbours[index[cable.b.node]].push_back(index[cable.a.node]);
    }
    const auto levels = tree_levels(nodes);
    std::ranges::stable_sort(order, {}, [&](const std::string& name) {
      return std::pair(!is_host(in_, name), levels[index[name]]);
    });
    std::map<std::string, NodeId> ids;
    for (const std::string& name : order) {
      if (!is_host(in_, name) && nodes.neighbours[index[name]].empty()) continue;  // a switch of no cable
      const bool host = is_host(in_, name);
      const Tier tier = host ? Tier::host : tier_of_level(std::max(1U, levels[index[name]]));
      WEFT_TRY(const auto id, builder.add_node({name, host ? NodeKind::host : NodeKind::switch_, tier}));
      ids.emplace(name, id);
    }
    return ids;
  }

  bool is_nic(const FoundEnd& end) const {
    const auto host = std::ranges::find(in_.hosts, end.node, &HostNics::host);
    return host != in_.hosts.end() &&
           std::ranges::find(host->nics, end.port, &HostNic::interface) != host->nics.end();
  }

  Result<PortId> add_port(FabricBuilder& builder, NodeId node, const FoundEnd& end) {
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
    if (is_free && !is_host(in_, end.node)) {  // its device numbers its ports as fabric files do
      WEFT_TRY(port, builder.add_port(node, *name->port));
    } else {
      port = builder.add_next_port(node);
    }
    if (is_port_name(end.port) && !is_host(in_, end.node) && used_.insert({end.node, end.port}).second)
      WEFT_TRY_VOID(builder.name_port(port, end.port));
    if (end.address) addresses_.emplace_back(port, *end.address);
    return port;
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
  std::vector<FoundCable> cables_;
  const std::vector<std::string>& names_;
  std::vector<std::pair<PortId, IpAddress>> addresses_;
  std::set<std::pair<std::string, std::string>> used_;  // names of ports
};

}  // namespace

bool is_host(const FoundSources& sources, const std::string& node) {
  const auto is_it = [&](const HostNics& host) { return host.host == node; };
  return std::ranges::any_of(sources.hosts, is_it) ||
         (sources.listed.hosts.contains(node) && !sources.listed.switches.contains(node));
}

Result<CabledFabric> fabric_of_cables(const FoundSources& sources, std::vector<FoundCable> cables,
                                      const std::vector<std::string>& switches) {
  return CableFabric(sources, std::move(cables), switches).run();
}

}  // namespace weft::discover
