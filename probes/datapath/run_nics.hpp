// RunNics: the NICs of a run and where they are, as its coordinator names them. An engine sends to these
// alone, and holds what another agent says of its own address against them. A value.
#pragma once

#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "topology/base/ids.hpp"
#include "topology/base/ip.hpp"
#include "topology/model/infiniband.hpp"

namespace weft::datapath {

struct RunNic {
  PortId nic;
  IpAddress address;                            // InfiniBand: the GID of its port
  std::optional<LidRange> lids = std::nullopt;  // InfiniBand, where the coordinator knows them
  friend bool operator==(const RunNic&, const RunNic&) = default;
};

class RunNics {
 public:
  RunNics() = default;
  explicit RunNics(const std::vector<RunNic>& nics) {
    for (const RunNic& nic : nics) by_id_.emplace(nic.nic, nic);
  }

  /// Null: none of the run's.
  const RunNic* find(PortId nic) const {
    const auto found = by_id_.find(nic);
    return found == by_id_.end() ? nullptr : &found->second;
  }
  bool is_at(PortId nic, const IpAddress& address) const {
    const RunNic* known = find(nic);
    return known != nullptr && known->address == address;
  }
  /// In no order.
  const std::unordered_map<PortId, RunNic>& by_id() const { return by_id_; }

 private:
  std::unordered_map<PortId, RunNic> by_id_;
};
/// All engines of an agent share them.
using SharedNics = std::shared_ptr<const RunNics>;

}  // namespace weft::datapath
