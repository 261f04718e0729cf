// PeerList: the peers of one request, each once, by the index that its specs use.
#pragma once

#include <unordered_map>
#include <vector>

#include "probes/datapath/probe_engine.hpp"
#include "topology/base/check.hpp"
#include "topology/model/addressing.hpp"

namespace weft {

class PeerList {
 public:
  std::uint32_t index_of(PortId nic, const AddressBook& addresses) {
    const auto [at, is_new] = index_.try_emplace(nic, static_cast<std::uint32_t>(peers_.size()));
    if (is_new) {
      const auto address = addresses.address_of(nic);
      WEFT_CHECK(address.has_value());
      peers_.push_back({nic, *address});
    }
    return at->second;
  }
  std::vector<Peer> take() && { return std::move(peers_); }

 private:
  std::vector<Peer> peers_;
  std::unordered_map<PortId, std::uint32_t> index_;
};

}  // namespace weft
