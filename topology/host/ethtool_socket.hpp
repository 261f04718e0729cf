// Questions to the kernel about one interface of the calling thread's network namespace. Nothing is changed
// by them.
#pragma once

#include <string>
#include <vector>

#include "topology/host/ethtool_answers.hpp"
#include "topology/host/module_eeprom.hpp"
#include "topology/os/file_descriptor.hpp"

namespace weft::host {

/// ethtool's generic netlink family (linux/ethtool_netlink.h). One question at a time.
class EthtoolSocket {
 public:
  /// Error (absent): the kernel has no such family (before 5.6, or built without).
  static Result<EthtoolSocket> open();

  // Each as its decoder in ethtool_answers.hpp; error (timeout) beside those: no answer in half a second.
  Result<FecAnswer> fec(const std::string& interface);
  Result<NamedCounts> statistics(const std::string& interface);
  Result<NamedCounts> pause(const std::string& interface);
  /// 128 bytes of the module's memory. Needs CAP_NET_ADMIN.
  Result<std::vector<std::byte>> half_page(const std::string& interface, const HalfPage& at);

 private:
  explicit EthtoolSocket(os::FileDescriptor socket) : socket_(std::move(socket)) {}
  Result<std::vector<std::byte>> ask(std::uint8_t command, const std::string& interface, std::uint32_t flags,
                                     ByteSpan more = {});
  os::FileDescriptor socket_;
  std::uint16_t family_ = 0;
};

/// By rtnetlink.
Result<NamedCounts> link_statistics(const std::string& interface);

/// What ethtool -S prints, by the ioctls of linux/ethtool.h. Errors: not_supported (the driver has none),
/// permission, not_found.
Result<NamedCounts> driver_statistics(const std::string& interface);

}  // namespace weft::host
