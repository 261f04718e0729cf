// `weft agent` that serves several adapters of ibsim, or one that standing probes and runs have open at the
// same time. Its preload library gives a process one adapter, at one port, to open once (its sockets are
// named by the process, and it makes one device), so each is in a process of its own that hands datagrams to
// and fro: `adapters_agent relay PORT_GUID`, over its input those of runs, over its output those of standing
// probes.
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

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
constexpr int kUnread = 4'000'000;  // bytes of a socket: an agent that is late loses nothing here
// The sockets of the process at an adapter.
constexpr int kOfRuns = STDIN_FILENO, kOfStanding = STDOUT_FILENO;

/// What passes between the two, as one message of a local socket.
struct Passed {
  std::uint16_t lid = 0;  // to, or from
  bool undelivered = false;
  std::int64_t answer_wait = 0;
  mad::MadBytes bytes{};
};

/// False: the other side has ended. One that has no room takes no more: nobody reads between two runs.
bool give(int socket, const Passed& message) {
  return send(socket, &message, sizeof message, MSG_DONTWAIT | MSG_NOSIGNAL) > 0 || errno == EAGAIN;
}

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

struct Line {
  os::FileDescriptor own;
  os::FileDescriptor others;
};
Result<Line> open_line() {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
    return fail(ErrorKind::internal, "socketpair: {}", std::strerror(errno));
  for (const int end : ends) setsockopt(end, SOL_SOCKET, SO_SNDBUFFORCE, &kUnread, sizeof kUnread);
  return Line{os::FileDescriptor(ends[0]), os::FileDescriptor(ends[1])};
}

/// The process at an adapter. It takes leave of ibsim, which knows it as the adapter's one client.
struct AtAdapter {
  os::FileDescriptor runs;
  os::FileDescriptor standing;
  os::ChildProcess child;

  AtAdapter(os::FileDescriptor of_runs, os::FileDescriptor of_standing, os::ChildProcess process)
      : runs(std::move(of_runs)), standing(std::move(of_standing)), child(std::move(process)) {}
  ~AtAdapter() {
    runs = os::FileDescriptor();
    standing = os::FileDescriptor();
    [[maybe_unused]] const auto ended = child.wait_for(std::chrono::seconds(1));
  }
  AtAdapter(const AtAdapter&) = delete;
  AtAdapter& operator=(const AtAdapter&) = delete;
};

/// The datagrams of an adapter that another process is at: those of runs, or of standing probes.
class RelayedMads final : public mad::Mads {
 public:
  RelayedMads(std::shared_ptr<AtAdapter> at, bool standing)
      : at_(std::move(at)), socket_(standing ? at_->standing.get() : at_->runs.get()) {
    for (auto old = take(socket_); old && *old;) old = take(socket_);  // of the run before
  }

  Result<void> send(const mad::MadPacket& packet) override {
    const auto* lid = std::get_if<Lid>(&packet.to);
    if (lid == nullptr) return fail(ErrorKind::not_supported, "an agent's datagrams go to LIDs");
    if (!give(socket_, {lid->value(), false, packet.answer_wait.count(), packet.bytes}))
      return fail(ErrorKind::absent, "the process of the adapter has ended");
    return {};
  }
  Result<std::optional<mad::MadArrival>> receive(Nanoseconds at_most) override {
    if (at_most > Nanoseconds(0))
      await(socket_, static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(at_most).count()));
    const auto message = take(socket_);
    if (!message) return pass_on(message);
    if (!*message) return std::nullopt;
    return mad::MadArrival{(*message)->bytes, (*message)->undelivered, Lid((*message)->lid)};
  }
  Nanoseconds now() override {
    return std::chrono::duration_cast<Nanoseconds>(std::chrono::steady_clock::now().time_since_epoch());
  }

 private:
  std::shared_ptr<AtAdapter> at_;
  int socket_;
};

Result<std::shared_ptr<AtAdapter>> start_at(const lab::IbLab& lab, PortId nic, Guid guid) {
  WEFT_TRY(auto runs, open_line());
  WEFT_TRY(auto standing, open_line());
  auto child = os::ChildProcess::start(
      {.argv = lab::in_directory(lab.directory, {"/proc/" + std::to_string(getpid()) + "/exe", "relay",
                                                 std::to_string(guid.value())}),
       .env = lab.environment_at(nic),
       .input_from = runs.others.get(),
       .output = os::ToDescriptor{standing.others.get()},
       .dies_with_parent = false});  // the thread that opens a port ends before the agent; this at its input
  if (!child) return pass_on(child);
  await(runs.own.get(), kOpens);  // its first word: it is there, as far as ibsim knows
  if (const auto word = take(runs.own.get()); !word || !*word)
    return fail(ErrorKind::absent, "the process of the adapter has not opened it");
  return std::make_shared<AtAdapter>(std::move(runs.own), std::move(standing.own), std::move(*child));
}

/// One process an adapter, as long as any datagrams of it are open.
class Adapters {
 public:
  Result<std::unique_ptr<mad::Mads>> open(const umad::UmadPort& port) {
    const char* name = std::getenv(kLabVariable);
    const auto lab = lab::ib_lab_open(name ? name : "", cli::ib_lab_root());
    if (!lab) return pass_on(lab);
    const std::lock_guard lock(mutex_);
    const bool standing = port.answers == std::vector{mad::MadClass::standing_probe};
    for (const PortId nic : lab->fabric.nics()) {
      if (lab->fabric.port(nic).guid != port.guid) continue;
      auto& known = known_[*port.guid];
      auto at = known.lock();
      if (!at) {
        WEFT_TRY(at, start_at(*lab, nic, *port.guid));
        known = at;
      }
      return std::make_unique<RelayedMads>(std::move(at), standing);
    }
    return fail(ErrorKind::absent, "no adapter of the lab has the GUID 0x{:x}", port.guid->value());
  }

 private:
  std::mutex mutex_;
  std::map<Guid, std::weak_ptr<AtAdapter>> known_;
};

/// Hands datagrams on until the agent ends.
Result<void> relay(Guid guid) {
  const auto mads = umad::open_umad(
      {.guid = guid, .answers = {mad::MadClass::probe, mad::MadClass::standing_probe}, .in_ibsim = true});
  if (!mads) return pass_on(mads);
  if (!give(kOfRuns, {})) return {};
  for (;;) {
    pollfd both[] = {{kOfRuns, POLLIN, 0}, {kOfStanding, POLLIN, 0}};
    [[maybe_unused]] const int ready = poll(both, 2, kLookForAnswers);
    for (const int from : {kOfRuns, kOfStanding})
      for (;;) {
        const auto message = take(from);
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
      const mad::MadArrival& came = **arrival;
      const bool standing =
          load_u8(came.bytes, 1) == static_cast<std::uint8_t>(mad::MadClass::standing_probe);
      if (!give(standing ? kOfStanding : kOfRuns, {came.from.value(), came.undelivered, 0, came.bytes}))
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
  weft::Adapters adapters;
  const auto open = [&](const weft::umad::UmadPort& port) { return adapters.open(port); };
  // Its first word is the command: `agent`.
  return weft::cli::run_agent_command({words.begin() + 1, words.end()},
                                      {.open_mads = open, .say = [](const std::string& line) {
                                         std::fprintf(stderr, "%s\n", line.c_str());
                                       }});
}
