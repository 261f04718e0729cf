// The guests' command stream: any bytes are taken as frames until one does not fit, and what was taken is
// just what a frame of that kind is written as; a command that reads is written to one that reads the same.
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>

#include "topology/base/check.hpp"
#include "topology/lab/guests/guest_commands.hpp"
#include "topology/lab/guests/guest_stream.hpp"

namespace {

using namespace weft;

/// Both ends of a connection on this machine; the first stays open as long as the second has bytes to give.
struct Ends {
  Ends() {
    int pair[2];
    WEFT_CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
    writing = os::FileDescriptor(pair[0]);
    reading = os::FileDescriptor(pair[1]);
  }
  os::FileDescriptor writing, reading;
};

std::string written(const lab::Frame& frame) {
  Ends ends;
  WEFT_CHECK(lab::GuestStream(std::move(ends.writing)).send(frame.kind, frame.bytes).has_value());
  std::string bytes;
  for (auto some = lab::read_some(ends.reading.get()); !some.empty();
       some = lab::read_some(ends.reading.get()))
    bytes += some;
  return bytes;
}

void read_command(std::string_view bytes) {
  const auto command = lab::decode_guest_command(bytes);
  if (!command) return;
  const auto again = lab::decode_guest_command(encode_guest_command(*command));
  WEFT_CHECK(again && again->argv == command->argv && again->env == command->env &&
             again->with_stdin == command->with_stdin);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view left(reinterpret_cast<const char*>(data), std::min<std::size_t>(size, 64 * 1024));
  read_command(left);
  Ends ends;
  WEFT_CHECK(lab::write_all(ends.writing.get(), left));
  ends.writing = os::FileDescriptor();
  const lab::GuestStream stream(std::move(ends.reading));
  for (auto frame = stream.receive(); frame; frame = stream.receive()) {
    const auto bytes = written(*frame);
    WEFT_CHECK(left.starts_with(bytes));
    left.remove_prefix(bytes.size());
    read_command(frame->bytes);
  }
  return 0;
}
