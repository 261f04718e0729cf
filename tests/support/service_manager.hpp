// ServiceManager: the manager's end of the notify protocol: a socket that NOTIFY_SOCKET may name, and what
// comes there.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <optional>
#include <string>

#include "topology/os/file_descriptor.hpp"

namespace weft {

class ServiceManager {
 public:
  /// `address`: a path, or '@' and a name of the abstract namespace.
  explicit ServiceManager(std::string address)
      : address_(std::move(address)), socket_(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un own{};
    own.sun_family = AF_UNIX;
    std::memcpy(own.sun_path, address_.data(), address_.size());
    if (address_[0] == '@') own.sun_path[0] = '\0';
    const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + address_.size());
    EXPECT_EQ(bind(socket_.get(), reinterpret_cast<const sockaddr*>(&own), size), 0) << std::strerror(errno);
  }
  const std::string& address() const { return address_; }

  /// The next message; absent: none came within `limit`.
  std::optional<std::string> next(std::chrono::milliseconds limit = std::chrono::milliseconds(0)) const {
    pollfd ready{socket_.get(), POLLIN, 0};
    if (poll(&ready, 1, static_cast<int>(limit.count())) != 1) return std::nullopt;
    std::array<char, 4096> bytes{};
    const auto got = recv(socket_.get(), bytes.data(), bytes.size(), 0);
    return std::string(bytes.data(), got < 0 ? 0 : static_cast<std::size_t>(got));
  }
  /// Reads until one that begins like this comes: false after half a minute.
  bool hears(const std::string& beginning) const {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (std::chrono::steady_clock::now() < until)
      if (const auto said = next(std::chrono::milliseconds(500)); said && said->starts_with(beginning))
        return true;
    return false;
  }

 private:
  std::string address_;
  os::FileDescriptor socket_;
};

}  // namespace weft
