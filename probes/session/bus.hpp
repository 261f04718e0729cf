// Bus: the seam that carries messages between a coordinator and its agents. Thread-safe: all may be called
// from different threads.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "topology/base/result.hpp"
#include "topology/base/units.hpp"

namespace weft::session {

/// Names a coordinator among the participants; hosts go by their own names.
inline constexpr std::string_view kCoordinator = "coordinator";

struct Incoming {
  std::string from;
  std::string bytes;
};

struct OutgoingMessage {
  std::string to;
  std::string bytes;
  std::string answered_by = {};  // for its sender alone: no bus sends it, deliver() gives it back
};

class Bus {
 public:
  virtual ~Bus() = default;
  /// An Error when the connection is lost or the message too long; delivery itself is not confirmed.
  virtual Result<void> send(std::string_view to, std::string_view bytes) = 0;
  /// Sends all, and returns when each is acknowledged (the bus of its receiver has it, for receive() to give)
  /// or cannot be (nobody of that name is there), or after `limit`. Gives those that were not: they may have
  /// come all the same, so only what does no harm twice is sent again. Errors: those of send.
  virtual Result<std::vector<OutgoingMessage>> deliver(std::vector<OutgoingMessage> messages,
                                                       Nanoseconds limit) = 0;
  /// The next message to this participant; absent when none came in `limit`; an Error when the connection is
  /// lost for good.
  virtual Result<std::optional<Incoming>> receive(Nanoseconds limit) = 0;
};

}  // namespace weft::session
