#include "topology/os/pipe.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace weft::os {

Result<Pipe> open_pipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return fail(ErrorKind::internal, "pipe: {}", std::strerror(errno));
  Pipe pipe{FileDescriptor(ends[0]), FileDescriptor(ends[1])};
  fcntl(pipe.read.get(), F_SETFL, O_NONBLOCK);
  return pipe;
}

bool read_some(const FileDescriptor& from, std::string& into, std::size_t most) {
  std::array<char, 16384> block{};
  while (into.size() <= most) {
    const auto got = read(from.get(), block.data(), block.size());
    if (got < 0) return errno == EAGAIN || errno == EINTR;
    if (got == 0) return false;
    into.append(block.data(), static_cast<std::size_t>(got));
  }
  return true;
}

}  // namespace weft::os
