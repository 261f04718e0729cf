// KeyEpochs: the epochs of a watcher's keys. They follow one another by one, however late it looks: all
// agents have the keys of the next one, and of none behind it. A value; pure.
#pragma once

#include <cstdint>
#include <optional>

#include "probes/watch/assignment.hpp"

namespace weft::watch {

class KeyEpochs {
 public:
  KeyEpochs(const packet::Secret& secret, Nanoseconds length) : secret_(secret), length_(length) {}

  /// True: the next epoch has begun. The first one begins with the first call.
  bool renew(Nanoseconds now);
  /// Of this one.
  RunId name() const { return packet::epoch_name(secret_, epoch_); }
  /// The keys of this epoch and the next one for an assignment to `host`. `nics`: the addresses of its NICs,
  /// `peers`: on which hosts its peers are; both by their index.
  void give(Assignment& assignment, NodeId host, const std::vector<IpAddress>& nics,
            const std::vector<NodeId>& peers, Nanoseconds now) const;

 private:
  packet::Secret secret_;
  Nanoseconds length_;
  std::uint64_t epoch_ = 0;
  std::optional<Nanoseconds> ends_;
};

}  // namespace weft::watch
