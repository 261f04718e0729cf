// Commands in a guest: a small server inside (listen_for_guest_commands, then serve_guest_commands) and what
// speaks to it from outside (run_in_guest), over the lab's management network. One connection is one program:
// its words and environment go in, its output and end come out, and it is killed when the connection closes.
// No authentication: that network is the lab's own.
#pragma once

#include <string>
#include <vector>

#include "topology/base/ip.hpp"
#include "topology/base/result.hpp"
#include "topology/os/file_descriptor.hpp"

namespace weft::lab {

struct GuestCommand {
  std::vector<std::string> argv;
  std::vector<std::string> env;  // NAME=value
  bool with_stdin = false;
};

std::string encode_guest_command(const GuestCommand& command);
/// Error: invalid_input.
Result<GuestCommand> decode_guest_command(std::string_view bytes);

/// Connections are taken from here on, at all addresses. Port 0: a free one. Errors: conflict.
Result<os::FileDescriptor> listen_for_guest_commands(std::uint16_t port);
[[noreturn]] void serve_guest_commands(const os::FileDescriptor& listening);

/// Runs a program in the guest with this process's stdin, stdout and stderr; its exit status, as a shell has
/// it.
Result<int> run_in_guest(const IpAddress& guest, std::uint16_t port, const GuestCommand& command);

/// True: a guest at that address takes commands.
bool answers_commands(const IpAddress& guest, std::uint16_t port);

}  // namespace weft::lab
