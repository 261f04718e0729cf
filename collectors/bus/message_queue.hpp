// Messages that came and that nobody has read yet. Bounded: one who sends without end fills its own share
// alone. Pure.
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <optional>
#include <string>

#include "probes/session/bus.hpp"

namespace weft::bus {

/// In bytes; each message counts as 1,000 more, so that many short ones are bounded too.
struct QueueLimits {
  std::size_t of_sender;
  std::size_t in_all;
};

class MessageQueue {
 public:
  explicit MessageQueue(const QueueLimits& limits) : limits_(limits) {}

  /// False: there is no room for it, and it is dropped. Who waits for it has a limit.
  bool add(session::Incoming message);
  std::optional<session::Incoming> take();
  bool empty() const { return messages_.empty(); }
  /// As the limits count.
  std::size_t kept() const { return kept_; }

 private:
  QueueLimits limits_;
  std::deque<session::Incoming> messages_;
  std::map<std::string, std::size_t> kept_of_;  // senders of which something waits
  std::size_t kept_ = 0;
};

}  // namespace weft::bus
