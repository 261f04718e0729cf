#include "probes/discover/host_nics.hpp"

#include <algorithm>
#include <charconv>
#include <map>

#include "topology/model/fabric_builder.hpp"

namespace weft::discover {
namespace {

constexpr std::string_view kStandIn = "unknown";

bool can_probe(const IpAddress& address) {
  const auto& bytes = address.bytes();
  if (address.is_v6())
    return address != IpAddress(IpAddress::V6{}) && !(bytes[0] == 0xfe && (bytes[1] & 0xc0U) == 0x80) &&
           bytes[0] != 0xff && to_string(address) != "::1";
  return bytes[0] != 127 && bytes[0] != 0 && bytes[0] < 224 && !(bytes[0] == 169 && bytes[1] == 254);
}

bool lies_in(const IpAddress& address, const IpPrefix& prefix) {
  if (address.is_v6() != prefix.base.is_v6()) return false;
  for (unsigned bit = 0; bit < prefix.length; ++bit) {
    const unsigned mask = 0x80U >> bit % 8;
    if ((address.bytes()[bit / 8] & mask) != (prefix.base.bytes()[bit / 8] & mask)) return false;
  }
  return true;
}

}  // namespace

Result<IpPrefix> parse_prefix(std::string_view text) {
  const auto slash = text.find('/');
  const auto address = IpAddress::parse(text.substr(0, slash));
  const unsigned most = address && address->is_v6() ? 128 : 32;
  unsigned length = most;
  if (slash != std::string_view::npos) {
    const auto digits = text.substr(slash + 1);
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), length);
    if (error != std::errc{} || end != digits.data() + digits.size()) length = most + 1;
  }
  if (!address || length > most)
    return fail(ErrorKind::usage, "'{}' is no network: expected one as in 10.0.0.0/8", text);
  return IpPrefix{*address, static_cast<std::uint8_t>(length)};
}

HostNics choose_nics(const std::string& host, const files::NicList& list,
                     const std::optional<IpPrefix>& subnet) {
  const auto usable = [&](const files::ListedNic& nic) -> std::optional<IpAddress> {
    if (!nic.up) return std::nullopt;
    if (!subnet && list.reached_by &&
        std::ranges::find(nic.addresses, *list.reached_by) != nic.addresses.end())
      return std::nullopt;
    for (const IpAddress& address : nic.addresses)
      if (can_probe(address) && (!subnet || lies_in(address, *subnet))) return address;
    return std::nullopt;
  };
  const bool by_device = !subnet && std::ranges::any_of(list.nics, [&](const files::ListedNic& nic) {
    return nic.rdma_device && usable(nic);
  });
  HostNics chosen{host, {}};
  for (const files::ListedNic& nic : list.nics)
    if (const auto address = usable(nic); address && (!by_device || nic.rdma_device))
      chosen.nics.push_back({nic.interface, *address, nic.rate});
  return chosen;
}

files::CableList table_of_nics(files::CableList table, const HostNics& host) {
  const auto takes_part = [&](const files::CableEnd& end) {
    return end.node == host.host && std::ranges::count(host.nics, end.port, &HostNic::interface) > 0;
  };
  std::erase_if(table.cables,
                [&](const files::Cable& cable) { return !takes_part(cable.a) && !takes_part(cable.b); });
  const auto is_left = [&](const std::string& node) {
    return node == host.host || std::ranges::any_of(table.cables, [&](const files::Cable& cable) {
             return cable.a.node == node || cable.b.node == node;
           });
  };
  std::erase_if(table.addresses, [&](const auto& address) { return !is_left(address.port.node); });
  std::erase_if(table.known_by, [&](const auto& address) { return !is_left(address.port.node); });
  std::erase_if(table.switches, [&](const std::string& node) { return !is_left(node); });
  std::erase_if(table.hosts, [&](const std::string& node) { return !is_left(node); });
  table.remarks.clear();  // of which ports they are is not told
  return table;
}

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
