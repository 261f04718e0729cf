// Which NICs are to try which, where no fabric file says what belongs together.
#include <algorithm>
#include <set>

#include "probes/diagnosis/host/doctor_findings.hpp"
#include "topology/base/ip.hpp"

namespace weft::diagnosis {
namespace {

/// A NIC of a host that others may reach.
struct Reachable {
  std::size_t host;
  IpAddress address;
};

/// One that other hosts may reach: not of the link alone, the host itself, or a group.
bool is_of_a_host(const IpAddress& address) {
  const auto& bytes = address.bytes();
  if (is_link_local(to_string(address))) return false;
  if (address.is_v6())
    return address != IpAddress(IpAddress::V6{}) && to_string(address) != "::1" && bytes[0] != 0xff;
  return bytes[0] != 0 && bytes[0] != 127 && bytes[0] < 224;
}

/// Of an interface's addresses the one to send from and to; IPv4 before IPv6. What the host says is no more
/// than a text until it is read as an address: it is to stand in a command on another host. Absent: none that
/// others reach.
std::optional<IpAddress> usable_address(const HostFacts& report, const NicInventory& nic) {
  const auto own = nic.interface ? report.addresses.find(*nic.interface) : report.addresses.end();
  if (own == report.addresses.end()) return std::nullopt;
  std::optional<IpAddress> chosen;
  for (const std::string& text : own->second) {
    const auto address = IpAddress::parse(text);
    if (!address || !is_of_a_host(*address)) continue;
    if (!address->is_v6()) return *address;
    if (!chosen) chosen = *address;
  }
  return chosen;
}

bool is_bridge(const NicInventory& nic) { return nic.driver == "bridge"; }
bool is_infiniband(const NicInventory& nic) { return nic.link_layer == "InfiniBand"; }

}  // namespace

PathsToTry paths_to_try(const std::vector<AskedHost>& hosts, const DoctorExpectations& expectations) {
  std::set<std::string> met;                                             // identities
  std::map<IpAddress, std::set<std::size_t>> owners;                     // by host
  std::map<std::pair<std::string, bool>, std::vector<Reachable>> rings;  // by the NIC's name, and IPv6
  PathsToTry all{.of_host = std::vector<std::vector<NicsToTry>>(hosts.size())};
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    const auto& report = hosts[i].report;
    if (!report || report->protocol != expectations.protocol) continue;
    if (!met.insert(report->identity).second) continue;
    for (const NicInventory* nic : judged_nics(*report, expectations)) {
      if (is_bridge(*nic) || is_infiniband(*nic)) continue;
      ++all.left_out;
      const auto address = usable_address(*report, *nic);
      if (!address) continue;
      owners[*address].insert(i);
      rings[{nic->rdma_device.value_or(name_of(*nic)), address->is_v6()}].push_back({i, *address});
    }
  }
  for (auto& [name, ring] : rings) {
    std::erase_if(ring, [&](const Reachable& nic) { return owners[nic.address].size() > 1; });
    for (std::size_t i = 0; i < ring.size() && ring.size() > 1; ++i, --all.left_out)
      all.of_host[ring[i].host].push_back(
          {to_string(ring[i].address), to_string(ring[(i + 1) % ring.size()].address)});
  }
  return all;
}

}  // namespace weft::diagnosis
