#include "probes/rdma/gid_choice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "topology/model/infiniband.hpp"

namespace weft::rdma {
namespace {

constexpr std::size_t kMaxNamed = 6;
constexpr std::size_t kMappedPrefix = 12;  // of an IPv4-mapped GID: ten zeros, two 0xFF

std::string_view kind_text(GidKind kind) {
  switch (kind) {
    case GidKind::infiniband:
      return "InfiniBand";
    case GidKind::roce_v1:
      return "RoCE v1";
    case GidKind::roce_v2:
      break;
  }
  return "RoCE v2";
}

bool carries_queue_pairs(const GidEntry& entry) { return entry.kind != GidKind::roce_v1; }

std::string entry_text(const GidEntry& entry) {
  return fmt::format("{} port {}, GID {} ({}, {}{})", entry.device, entry.port, entry.index,
                     kind_text(entry.kind), gid_text(entry.gid),
                     entry.netdev.empty() ? "" : ", of " + entry.netdev);
}

/// A port of InfiniBand is known by its GUID: a subnet manager may give GIDs another prefix.
bool has_address(const GidEntry& entry, const IpAddress& address) {
  if (entry.kind == GidKind::infiniband) return port_of_gid(IpAddress(entry.gid)) == port_of_gid(address);
  return entry.gid == gid_of(address);
}

/// What there is instead of what was wanted.
std::string what_there_is(const std::vector<GidEntry>& entries) {
  std::string text;
  for (std::size_t i = 0; i < std::min(entries.size(), kMaxNamed); ++i)
    text += "; there is " + entry_text(entries[i]);
  if (entries.size() > kMaxNamed) text += fmt::format("; and {} more", entries.size() - kMaxNamed);
  return text;
}

Result<GidChoice> choose_by_index(const std::vector<GidEntry>& entries, const GidWish& wish) {
  const auto is_ours = [&](const GidEntry& entry) {
    return has_address(entry, wish.address) || (!wish.interface.empty() && entry.netdev == wish.interface);
  };
  const auto ours = std::ranges::find_if(entries, is_ours);
  if (ours == entries.end())
    return fail(ErrorKind::absent, "no RDMA device has {} as a GID{}", to_string(wish.address),
                what_there_is(entries));
  const auto at = std::ranges::find_if(entries, [&](const GidEntry& entry) {
    return entry.device == ours->device && entry.port == ours->port && entry.index == *wish.index;
  });
  if (at == entries.end())
    return fail(ErrorKind::invalid_input, "{} port {} has no GID {}{}", ours->device, ours->port, *wish.index,
                what_there_is(entries));
  if (!carries_queue_pairs(*at))
    return fail(ErrorKind::invalid_input, "{}: its packets are not routed; choose the index of a RoCE v2 GID",
                entry_text(*at));
  return GidChoice{*at, "its index was asked for"};
}

}  // namespace

Gid gid_of(const IpAddress& address) {
  if (address.is_v6()) return address.bytes();
  Gid gid{};
  gid[10] = gid[11] = 0xFF;
  std::copy_n(address.bytes().begin(), 4, gid.begin() + kMappedPrefix);
  return gid;
}

std::string gid_text(const Gid& gid) {
  const IpAddress v4(IpAddress::V4{gid[12], gid[13], gid[14], gid[15]});
  if (gid_of(v4) == gid) return "::ffff:" + to_string(v4);
  return to_string(IpAddress(gid));
}

std::string describe(const GidChoice& choice) {
  return fmt::format("{}: {}", entry_text(choice.entry), choice.why);
}

Result<GidChoice> choose_gid(const std::vector<GidEntry>& entries, const GidWish& wish) {
  if (wish.index) return choose_by_index(entries, wish);
  std::vector<const GidEntry*> with_address;
  for (const GidEntry& entry : entries)
    if (carries_queue_pairs(entry) && has_address(entry, wish.address)) with_address.push_back(&entry);
  if (with_address.empty())
    return fail(ErrorKind::absent, "no RDMA device has {} as a RoCE v2 or InfiniBand GID{}",
                to_string(wish.address), what_there_is(entries));
  if (with_address.size() == 1) return GidChoice{*with_address[0], "the NIC's address"};
  const auto of_interface = std::ranges::find(with_address, wish.interface, &GidEntry::netdev);
  if (of_interface == with_address.end() || wish.interface.empty())
    return GidChoice{*with_address[0],
                     fmt::format("the first of {} with the NIC's address", with_address.size())};
  return GidChoice{**of_interface, fmt::format("of {} with the NIC's address, the one of its interface",
                                               with_address.size())};
}

}  // namespace weft::rdma
