// Which entry of the GID tables of a host's RDMA devices queue pairs go by, and why. The address family, the
// VLAN and the RoCE version of every packet follow from it. Pure.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "topology/base/ip.hpp"
#include "topology/base/result.hpp"

namespace weft::rdma {

using Gid = std::array<std::uint8_t, 16>;

/// The RoCE v2 GID of an address: of IPv4, the IPv4-mapped one.
Gid gid_of(const IpAddress& address);
/// "::ffff:10.0.1.1", "fd00::1".
std::string gid_text(const Gid& gid);

enum class GidKind : std::uint8_t { infiniband, roce_v1, roce_v2 };

struct GidEntry {
  std::string device;  // mlx5_0
  std::uint8_t port = 1;
  std::uint32_t index = 0;
  Gid gid{};
  GidKind kind = GidKind::roce_v2;
  std::string netdev;  // the interface whose address it is: eth0, or eth0.100 of a VLAN; empty: none, or gone
  friend bool operator==(const GidEntry&, const GidEntry&) = default;
};

struct GidWish {
  IpAddress address;                                  // of the NIC
  std::string interface;                              // of the NIC; empty: not known
  std::optional<std::uint32_t> index = std::nullopt;  // asked for, whatever address stands there
};

struct GidChoice {
  GidEntry entry;
  std::string why;
};
/// "mlx5_0 port 1, GID 3 (RoCE v2, ::ffff:10.0.1.1, of eth0): the NIC's address".
std::string describe(const GidChoice& choice);

/// The entry that has the NIC's address as a RoCE v2 GID, or as an InfiniBand one with whatever prefix; of
/// several, that of its interface.
/// With an index, the entry there, of the device that has the NIC's address or interface. Errors: absent
/// (says what there is instead), invalid_input (the index asked for is of RoCE v1 or empty).
Result<GidChoice> choose_gid(const std::vector<GidEntry>& entries, const GidWish& wish);

}  // namespace weft::rdma
