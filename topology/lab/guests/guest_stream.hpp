// GuestStream: frames of bytes over one TCP connection between a lab's guest and the machine around it.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "topology/base/ip.hpp"
#include "topology/base/result.hpp"
#include "topology/os/file_descriptor.hpp"

namespace weft::lab {

enum class FrameKind : std::uint8_t {
  command = 0,
  input = 1,
  input_end = 2,
  output = 3,
  errors = 4,
  end = 5
};

inline constexpr std::uint32_t kMaxGuestFrame = 1U << 20U;

struct Frame {
  FrameKind kind = FrameKind::end;
  std::string bytes;
};

class GuestStream {
 public:
  /// Waits a second at most.
  static Result<GuestStream> connect(const IpAddress& address, std::uint16_t port);
  explicit GuestStream(os::FileDescriptor socket) : socket_(std::move(socket)) {}

  Result<void> send(FrameKind kind, std::string_view bytes) const;
  /// Blocks. Errors: absent (the connection has closed), invalid_input.
  Result<Frame> receive() const;

  struct Readable {
    bool stream = false;
    std::array<bool, 2> other{};
  };
  /// Waits until this or one of `others` (-1: none) can be read or has closed.
  Result<Readable> wait(std::array<int, 2> others) const;

 private:
  os::FileDescriptor socket_;
};

/// What can be read at once; empty at the end.
std::string read_some(int fd);
/// False: nobody reads there any more.
bool write_all(int fd, std::string_view bytes);

}  // namespace weft::lab
