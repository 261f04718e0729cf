// PeerAddresses: whether a peer's queue pairs are where the run has its NIC. A device sends at line rate to
// whatever address it is given, so what a peer says of itself is held against what the coordinator says of
// it, before anything is connected. Pure.
#pragma once

#include "probes/datapath/run_nics.hpp"
#include "probes/rdma/verbs_device.hpp"

namespace weft::verbs {

/// How this side addresses its own packets.
struct OwnAddress {
  rdma::Gid gid{};
  bool infiniband = false;
  bool by_index = false;  // its GID was asked for by its index: those of the peers are not known by address
};

class PeerAddresses {
 public:
  PeerAddresses(datapath::SharedNics nics, const OwnAddress& own) : nics_(std::move(nics)), own_(own) {}

  /// RoCE: the GID is the one of the NIC's address; where GIDs go by index, one that packets of ours may go
  /// to, and no other NIC's. InfiniBand, whose packets go by LIDs: the GID has the GUID of the port, and the
  /// LIDs are those that the coordinator read, or at least a host's where it read none. Errors: permission,
  /// with what was told and what was expected.
  Result<void> check(PortId peer, const rdma::PortAddress& told) const;

 private:
  Result<void> check_gid(const datapath::RunNic& nic, const rdma::Gid& told) const;
  Result<void> check_gid_by_index(const datapath::RunNic& nic, const rdma::Gid& told) const;
  Result<void> check_lids(const datapath::RunNic& nic, const LidRange& told) const;
  datapath::SharedNics nics_;
  OwnAddress own_;
};

}  // namespace weft::verbs
