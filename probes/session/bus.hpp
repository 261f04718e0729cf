// Bus: the seam that carries messages between a coordinator and its agents. Thread-safe: send and receive may
// be called from different threads.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "topology/base/result.hpp"
#include "topology/base/units.hpp"

namespace weft {

/// Names a coordinator among the participants; hosts go by their own names.
inline constexpr std::string_view kCoordinator = "coordinator";

struct Incoming {
  std::string from;
  std::string bytes;
};

class Bus {
 public:
  virtual ~Bus() = default;
  /// An Error when the connection is lost or the message too long; delivery itself is not confirmed.
  virtual Result<void> send(std::string_view to, std::string_view bytes) = 0;
  /// The next message to this participant; absent when none came in `limit`; an Error when the connection is
  /// lost for good.
  virtual Result<std::optional<Incoming>> receive(Nanoseconds limit) = 0;
};

}  // namespace weft
