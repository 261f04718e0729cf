// WayBack: a port on which hosts can try whether they reach this machine, as agents must. It takes
// connections, says nothing and reads nothing; the kernel acknowledges what comes. One thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>

#include "probes/run/listen_address.hpp"
#include "topology/os/file_descriptor.hpp"

namespace weft::run {

class WayBack {
 public:
  /// Error: conflict (the port is taken), absent (not an address of this machine).
  static Result<WayBack> open(const ListenAddress& where);

  const IpAddress& address() const { return address_; }
  std::uint16_t port() const { return port_; }
  /// Takes those that wait, so that the kernel has room for more, and ends its own side; the other side stays
  /// open for a while, so that what comes is acknowledged.
  void greet();

 private:
  WayBack(os::FileDescriptor socket, const IpAddress& address, std::uint16_t port)
      : socket_(std::move(socket)), address_(address), port_(port) {}

  os::FileDescriptor socket_;
  IpAddress address_;
  std::uint16_t port_;
  struct Guest {
    os::FileDescriptor line;
    std::chrono::steady_clock::time_point since;
  };
  std::deque<Guest> guests_;  // oldest first
};

}  // namespace weft::run
