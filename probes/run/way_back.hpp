// WayBack: a port on which hosts can try whether they reach this machine, as agents must. It takes
// connections and ends them; nothing is read. One thread.
#pragma once

#include <cstdint>

#include "probes/run/listen_address.hpp"
#include "topology/os/file_descriptor.hpp"

namespace weft::run {

class WayBack {
 public:
  /// Error: conflict (the port is taken), absent (not an address of this machine).
  static Result<WayBack> open(const ListenAddress& where);

  const IpAddress& address() const { return address_; }
  std::uint16_t port() const { return port_; }
  /// Takes those that wait, so that the kernel has room for more.
  void greet() const;

 private:
  WayBack(os::FileDescriptor socket, const IpAddress& address, std::uint16_t port)
      : socket_(std::move(socket)), address_(address), port_(port) {}

  os::FileDescriptor socket_;
  IpAddress address_;
  std::uint16_t port_;
};

}  // namespace weft::run
