#include "probes/watch/key_epochs.hpp"

#include <algorithm>

namespace weft::watch {

bool KeyEpochs::renew(Nanoseconds now) {
  if (!ends_) ends_ = now + length_;
  if (now < *ends_) return false;
  ++epoch_;
  ends_ = now + length_;
  return true;
}

void KeyEpochs::give(Assignment& assignment, NodeId host, const std::vector<IpAddress>& nics,
                     const std::vector<NodeId>& peers, Nanoseconds now) const {
  const auto left = std::max(ends_.value_or(now + length_) - now, Nanoseconds(0));
  assignment.epochs.clear();
  for (const std::uint64_t ahead : {0, 1}) {
    const auto epoch = epoch_ + ahead;
    EpochKeys keys{.name = packet::epoch_name(secret_, epoch),
                   .ends_in = left + static_cast<std::int64_t>(ahead) * length_,
                   .own = packet::host_secret(secret_, epoch, host.value()),
                   .pairs = {}};
    for (const auto& [nic, peer] : asked_pairs(assignment.nics))
      keys.pairs.push_back(packet::pair_key(packet::host_secret(secret_, epoch, peers[peer].value()),
                                            nics[nic], assignment.peers[peer].address));
    assignment.epochs.push_back(std::move(keys));
  }
}

}  // namespace weft::watch
