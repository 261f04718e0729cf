#include "probes/discover/host_nics.hpp"

#include <map>

#include "topology/model/fabric_builder.hpp"

namespace weft::discover {
namespace {

constexpr std::string_view kStandIn = "unknown";

}  // namespace

Result<files::FabricFile> fabric_of_hosts(const std::vector<HostNics>& hosts) {
  FabricBuilder builder("discovered", FabricKind::roce);
  std::vector<std::optional<IpAddress>> by_port;
  std::map<IpAddress, std::string> owners;
  std::vector<PortId> nics;
  for (const HostNics& host : hosts) {
    if (host.host == kStandIn)
      return fail(ErrorKind::invalid_input, "a host cannot be called '{}' here: rename it", kStandIn);
    WEFT_TRY(const auto node, builder.add_node({host.host, NodeKind::host, Tier::host}));
    for (const HostNic& nic : host.nics) {
      const auto [at, is_new] = owners.emplace(nic.address, host.host);
      if (!is_new)
        return fail(ErrorKind::invalid_input, "{} is an address of {} and of {}: which of them is at fault?",
                    to_string(nic.address), at->second, host.host);
      nics.push_back(builder.add_next_port(node));
      by_port.emplace_back(nic.address);
    }
  }
  if (nics.empty()) return fail(ErrorKind::invalid_input, "none of the hosts has a NIC with an address");
  WEFT_TRY(const auto middle, builder.add_node({std::string(kStandIn), NodeKind::switch_, Tier::leaf}));
  for (const PortId nic : nics) {
    WEFT_TRY_VOID(builder.add_link(nic, builder.add_next_port(middle), Bandwidth::gbit(400)));
    by_port.emplace_back(std::nullopt);
  }
  return files::FabricFile{std::move(builder).build(), {}, AddressBook(std::move(by_port)), {}};
}

}  // namespace weft::discover
