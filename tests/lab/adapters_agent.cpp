// `weft agent` that serves several adapters of ibsim. Its preload library gives a process one adapter, at one
// port (its sockets are named by the process, and it makes one device), so each is in a process of its own
// that hands datagrams to and fro: `adapters_agent relay PORT_GUID`, over its input.
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <charconv>
#include <chrono>
#include <cstdlib>
#include <cstring>

#include "cli/agent.hpp"
#include "cli/lab_place.hpp"
#include "probes/engine/umad/umad_mads.hpp"
#include "topology/lab/ibsim/ib_lab.hpp"
#include "topology/model/fabric.hpp"
#include "topology/os/child_process.hpp"
#include "topology/os/file_descriptor.hpp"

namespace weft {
namespace {

constexpr const char* kLabVariable = "WEFT_TEST_IB_LAB";
constexpr int kLookForAnswers = 4;  // ms
constexpr int kOpens = 5000;        // ms at most

/// What passes between the two, as one message of a local socket.
struct Passed {
  std::uint16_t lid = 0;  // to, or from
  bool undelivered = false;
  std::int64_t answer_wait = 0;
  mad::MadBytes bytes{};
};

bool give(int socket, const Passed& message) { return send(socket, &message, sizeof message, 0) > 0; }

/// Absent: none yet. Error: the other side has ended.
Result<std::optional<Passed>> take(int socket) {
  Passed message;
  const auto size = recv(socket, &message, sizeof message, MSG_DONTWAIT);
  if (size == static_cast<ssize_t>(sizeof message)) return message;
  if (size < 0 && errno == EAGAIN) return std::nullopt;
  return fail(ErrorKind::absent, "the process of the adapter has ended");
}

void await(int socket, int milliseconds) {
  pollfd ready{socket, POLLIN, 0};
  [[maybe_unused]] const int count = poll(&ready, 1, milliseconds);
}

/// The datagrams of an adapter that another process is at.
class RelayedMads final : public mad::Mads {
 public:
  RelayedMads(os::FileDescriptor socket, os::ChildProcess child)
      : socket_(std::move(socket)), child_(std::move(child)) {}
  /// It takes leave of ibsim, which knows it as the adapter's one client.
  ~RelayedMads() override {
    socket_ = os::FileDescriptor();
    [[maybe_unused]] const auto ended = child_.wait_for(std::chrono::seconds(1));
  }
  RelayedMads(const RelayedMads&) = delete;
  RelayedMads& operator=(const RelayedMads&) = delete;

  Result<void> send(const mad::MadPacket& packet) override {
    const auto* lid = std::get_if<Lid>(&packet.to);
    if (lid == nullptr) return fail(ErrorKind::not_supported, "an agent's datagrams go to LIDs");
    if (!give(socket_.get(), {lid->value(), false, packet.answer_wait.count(), packet.bytes}))
      return fail(ErrorKind::absent, "the process of the adapter has ended");
    return {};
  }
  Result<std::optional<mad::MadArrival>> receive(Nanoseconds at_most) override {
    if (at_most > Nanoseconds(0))
      await(socket_.get(), static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(at_most).count()));
    const auto message = take(socket_.get());
    if (!message) return pass_on(message);
    if (!*message) return std::nullopt;
    return mad::MadArrival{(*message)->bytes, (*message)->undelivered, Lid((*message)->lid)};
  }
  Nanoseconds now() override {
    return std::chrono::duration_cast<Nanoseconds>(std::chrono::steady_clock::now().time_since_epoch());
  }

 private:
  os::FileDescriptor socket_;
  os::ChildProcess child_;
};

Result<std::unique_ptr<mad::Mads>> open_relay(const umad::UmadPort& port) {
  const char* name = std::getenv(kLabVariable);
  const auto lab = lab::ib_lab_open(name ? name : "", cli::ib_lab_root());
  if (!lab) return pass_on(lab);
  for (const PortId nic : lab->fabric.nics()) {
    if (lab->fabric.port(nic).guid != port.guid) continue;
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
      return fail(ErrorKind::internal, "socketpair: {}", std::strerror(errno));
    os::FileDescriptor own(ends[0]);
    const os::FileDescriptor others(ends[1]);
    auto child = os::ChildProcess::start(
        {.argv = lab::in_directory(lab->directory, {"/proc/" + std::to_string(getpid()) + "/exe", "relay",
                                                    std::to_string(port.guid->value())}),
         .env = lab->environment_at(nic),
         .input_from = others.get(),
         .dies_with_parent =
             false});  // the thread that opens a port ends before the agent; this at its input
    if (!child) return pass_on(child);
    await(own.get(), kOpens);  // its first word: it is there, as far as ibsim knows
    if (const auto word = take(own.get()); !word || !*word)
      return fail(ErrorKind::absent, "the process of the adapter has not opened it");
    return std::make_unique<RelayedMads>(std::move(own), std::move(*child));
  }
  return fail(ErrorKind::absent, "no adapter of the lab has the GUID 0x{:x}", port.guid->value());
}

/// Hands datagrams on until the agent ends.
Result<void> relay(Guid guid) {
  const auto mads = umad::open_umad({.guid = guid, .answers = mad::MadClass::probe, .in_ibsim = true});
  if (!mads) return pass_on(mads);
  if (!give(STDIN_FILENO, {})) return {};
  for (;;) {
    await(STDIN_FILENO, kLookForAnswers);
    for (;;) {
      const auto message = take(STDIN_FILENO);
      if (!message) return {};
      if (!*message) break;
      const auto sent =
          (*mads)->send({Lid((*message)->lid), (*message)->bytes, Nanoseconds((*message)->answer_wait)});
      if (!sent) return sent;
    }
    for (;;) {
      const auto arrival = (*mads)->receive(Nanoseconds(0));
      if (!arrival) return pass_on(arrival);
      if (!*arrival) break;
      if (!give(STDIN_FILENO, {(*arrival)->from.value(), (*arrival)->undelivered, 0, (*arrival)->bytes}))
        return {};
    }
  }
}

}  // namespace
}  // namespace weft

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.size() == 2 && words[0] == "relay") {
    const auto done = weft::relay(weft::Guid(std::strtoull(words[1].c_str(), nullptr, 10)));
    if (!done) std::fprintf(stderr, "%s\n", done.error().message.c_str());
    return done ? 0 : 1;
  }
  // Its first word is the command: `agent`.
  return weft::cli::run_agent_command({words.begin() + 1, words.end()}, {.open_mads = weft::open_relay});
}
