#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "topology/lab/guests/guest_commands.hpp"
#include "topology/lab/guests/guest_stream.hpp"

namespace weft::lab {
namespace {

struct Pipe {
  os::FileDescriptor reading;
  os::FileDescriptor writing;
};
Pipe make_pipe() {
  int ends[2] = {-1, -1};
  if (pipe(ends) != 0) _exit(127);
  return {os::FileDescriptor(ends[0]), os::FileDescriptor(ends[1])};
}

[[noreturn]] void become(const GuestCommand& command, const Pipe& in, const Pipe& out, const Pipe& err) {
  setsid();
  dup2(in.reading.get(), 0);
  dup2(out.writing.get(), 1);
  dup2(err.writing.get(), 2);
  for (int fd = 3; fd < 64; ++fd) close(fd);
  for (const std::string& entry : command.env) putenv(const_cast<char*>(entry.c_str()));
  std::vector<char*> argv;
  for (const std::string& word : command.argv) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  execvp(argv[0], argv.data());
  const std::string why = fmt::format("{}: {}\n", command.argv[0], std::strerror(errno));
  write_all(2, why);
  _exit(127);
}

int shell_status(int status) { return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status); }

/// Passes on what the program writes until both streams have ended or the other side has gone. False: gone.
bool pass_output(const GuestStream& stream, Pipe& in, const Pipe& out, const Pipe& err) {
  int out_fd = out.reading.get();
  int err_fd = err.reading.get();
  while (out_fd >= 0 || err_fd >= 0) {
    const auto readable = stream.wait({out_fd, err_fd});
    if (!readable) return false;
    for (std::size_t i = 0; i < 2; ++i) {
      if (!readable->other[i]) continue;
      int& fd = i == 0 ? out_fd : err_fd;
      const std::string text = read_some(fd);
      if (text.empty())
        fd = -1;
      else if (!stream.send(i == 0 ? FrameKind::output : FrameKind::errors, text))
        return false;
    }
    if (!readable->stream) continue;
    const auto frame = stream.receive();
    if (!frame) return false;
    if (frame->kind == FrameKind::input) write_all(in.writing.get(), frame->bytes);
    if (frame->kind == FrameKind::input_end) in.writing = os::FileDescriptor();
  }
  return true;
}

void serve_one(os::FileDescriptor socket) {
  const GuestStream stream(std::move(socket));
  const auto first = stream.receive();
  if (!first || first->kind != FrameKind::command) return;
  const auto command = decode_guest_command(first->bytes);
  if (!command) return;
  Pipe in = make_pipe();
  Pipe out = make_pipe();
  Pipe err = make_pipe();
  const pid_t program = fork();
  if (program < 0) return;
  if (program == 0) become(*command, in, out, err);
  in.reading = os::FileDescriptor();
  out.writing = os::FileDescriptor();
  err.writing = os::FileDescriptor();
  if (!command->with_stdin) in.writing = os::FileDescriptor();
  if (!pass_output(stream, in, out, err)) kill(-program, SIGKILL);
  int status = 0;
  waitpid(program, &status, 0);
  (void)stream.send(FrameKind::end, std::to_string(shell_status(status)));
}

}  // namespace

Result<os::FileDescriptor> listen_for_guest_commands(std::uint16_t port) {
  os::FileDescriptor listening(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int one = 1;
  setsockopt(listening.get(), SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_port = htons(port);
  if (bind(listening.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0 ||
      listen(listening.get(), 64) != 0)
    return fail(ErrorKind::conflict, "cannot listen on port {}: {}", port, std::strerror(errno));
  return listening;
}

void serve_guest_commands(const os::FileDescriptor& listening) {
  signal(SIGPIPE, SIG_IGN);
  while (true) {
    os::FileDescriptor socket(accept4(listening.get(), nullptr, nullptr, SOCK_CLOEXEC));
    while (waitpid(-1, nullptr, WNOHANG) > 0) continue;
    if (!socket || fork() != 0) continue;
    serve_one(std::move(socket));
    _exit(0);
  }
}

}  // namespace weft::lab
