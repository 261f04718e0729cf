#include "probes/engine/verbs/peer_addresses.hpp"

#include <algorithm>

namespace weft::verbs {
namespace {

constexpr std::uint32_t kFirstMulticastLid = 0xC000;  // IBTA vol. 1, 4.1.3
constexpr std::uint8_t kMaxLmc = 7;

/// Where packets to a GID may go: RoCE maps it to an IP address.
enum class GidReach : std::uint8_t { v4, v6, link, nowhere };  // nowhere: of no single host, or of this one

bool is_mapped(const rdma::Gid& gid) {
  return rdma::gid_of(IpAddress(IpAddress::V4{gid[12], gid[13], gid[14], gid[15]})) == gid;
}

GidReach reach_of(const rdma::Gid& gid) {
  if (is_mapped(gid)) {
    const std::uint8_t first = gid[12];  // RFC 6890: this host, loopback; RFC 5771: multicast and beyond
    return first == 0 || first == 127 || first >= 224 ? GidReach::nowhere : GidReach::v4;
  }
  if (gid[0] == 0xFF) return GidReach::nowhere;  // RFC 4291, 2.4: multicast
  if (gid[0] == 0xFE && (gid[1] & 0xC0U) == 0x80) return GidReach::link;
  const bool is_own = std::all_of(gid.begin(), gid.end() - 1, [](std::uint8_t byte) { return byte == 0; });
  return is_own && gid.back() <= 1 ? GidReach::nowhere : GidReach::v6;  // :: and ::1
}

template <class... Args>
tl::unexpected<Error> refused(const datapath::RunNic& nic, fmt::format_string<Args...> text, Args&&... args) {
  return fail(ErrorKind::permission, "refused: NIC {} of this run is {}; {}", nic.nic.value(),
              to_string(nic.address), fmt::format(text, std::forward<Args>(args)...));
}

std::string lids_text(const LidRange& lids) {
  return fmt::format("{} (LMC {})", lids.base.value(), lids.lmc);
}

}  // namespace

Result<void> PeerAddresses::check(PortId peer, const rdma::PortAddress& told) const {
  const datapath::RunNic* nic = nics_ ? nics_->find(peer) : nullptr;
  if (nic == nullptr) return fail(ErrorKind::permission, "refused: this run has no NIC {}", peer.value());
  if (const auto fits = check_gid(*nic, told.gid); !fits) return fits;
  return own_.infiniband ? check_lids(*nic, told.lids()) : Result<void>();
}

Result<void> PeerAddresses::check_gid(const datapath::RunNic& nic, const rdma::Gid& told) const {
  if (own_.infiniband) {
    const auto guid = port_of_gid(nic.address);
    // A subnet manager may give GIDs another prefix, a port more GUIDs than one.
    if (own_.by_index || (guid && port_of_gid(IpAddress(told)) == guid)) return {};
    return refused(nic, "its agent says that its queue pairs are at GID {}, another port's",
                   rdma::gid_text(told));
  }
  const rdma::Gid expected = rdma::gid_of(nic.address);
  if (told == expected) return {};
  if (own_.by_index) return check_gid_by_index(nic, told);
  return refused(nic,
                 "its agent says that its queue pairs are at GID {}, not {}: where GIDs are chosen by index, "
                 "give --gid-index to all agents",
                 rdma::gid_text(told), rdma::gid_text(expected));
}

/// The coordinator knows no address of such a GID.
Result<void> PeerAddresses::check_gid_by_index(const datapath::RunNic& nic, const rdma::Gid& told) const {
  for (const auto& [id, other] : nics_->by_id())
    if (id != nic.nic && rdma::gid_of(other.address) == told)
      return refused(nic, "its agent says that its queue pairs are at GID {}, which is NIC {}",
                     rdma::gid_text(told), id.value());
  const GidReach reach = reach_of(told);
  if (reach != GidReach::nowhere && reach == reach_of(own_.gid)) return {};
  return refused(nic,
                 "its agent says that its queue pairs are at GID {}, which is not of the kind of ours, {}",
                 rdma::gid_text(told), rdma::gid_text(own_.gid));
}

Result<void> PeerAddresses::check_lids(const datapath::RunNic& nic, const LidRange& told) const {
  if (nic.lids && told != *nic.lids)
    return refused(nic, "its agent says that its port has LID {}, the subnet {}", lids_text(told),
                   lids_text(*nic.lids));
  if (told.lmc <= kMaxLmc && told.base != Lid(0) && told.end() <= kFirstMulticastLid) return {};
  return refused(nic, "its agent says that its port has LID {}, which no port has", lids_text(told));
}

}  // namespace weft::verbs
