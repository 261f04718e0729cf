// ServiceNotifier: tells the manager of a service (systemd) how it is, by the notify protocol (sd_notify(3)):
// datagrams of NAME=VALUE lines to the socket that the manager named. Without such a socket nothing is sent.
// Nothing blocks; what the manager does not take is said again with the next call. Any thread calls.
//
// A service has parts (its threads). It is ready when each part has gone round once; the watchdog is fed only
// when each has gone round again since the last time, so one that hangs is seen as all of them hanging.
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "topology/base/result.hpp"
#include "topology/os/file_descriptor.hpp"

namespace weft::os {

class ServiceNotifier {
 public:
  struct Place {
    /// As NOTIFY_SOCKET has it: an absolute path, or '@' and a name of the abstract namespace.
    std::string socket;
    /// As WATCHDOG_USEC has it: the service is ended when it says nothing for so long. Absent: it may.
    std::optional<std::chrono::nanoseconds> watchdog;
  };

  /// Tells nobody.
  ServiceNotifier() = default;
  /// Error: invalid_input (an address that is neither of the two, or longer than a socket's may be).
  static Result<ServiceNotifier> open(const Place& place, std::size_t parts);
  ServiceNotifier(ServiceNotifier&& other) noexcept;

  /// A part went round. The first time of the last one says READY=1; WATCHDOG=1 goes four times in its limit.
  void went_round(std::size_t part);
  /// A line for people, as `systemctl status` shows it; sent when it is another than before.
  void status(std::string_view text);
  void stopping();

 private:
  using Clock = std::chrono::steady_clock;
  bool send(std::string_view lines) const;

  FileDescriptor socket_;
  std::vector<char> address_;  // a sockaddr_un of that size
  std::optional<std::chrono::nanoseconds> watchdog_;
  std::mutex mutex_;         // of all below
  std::vector<bool> round_;  // which parts went round since the watchdog was fed
  bool ready_ = false;
  std::optional<Clock::time_point> fed_;
  std::string status_;
};

}  // namespace weft::os
