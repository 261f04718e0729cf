#include "probes/session/agent_loop.hpp"

#include <chrono>
#include <optional>
#include <utility>

#include "probes/session/messages_json.hpp"
#include "probes/session/served_run.hpp"

namespace weft {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kPoll = std::chrono::milliseconds(50);
/// Between two looks at the bus. In a longer gap this process did not run (it was stopped, its machine
/// slept): nobody could be heard, so it counts as no silence.
constexpr auto kMaxGap = std::chrono::seconds(1);

class AgentLoop {
 public:
  AgentLoop(Bus& bus, const Hello& hello, const OpenEngines& open, AgentTiming timing)
      : bus_(bus), hello_(hello), open_(open), timing_(timing) {}

  Result<void> run(const std::stop_token& stop) {
    while (!over_) {
      if (stop.stop_requested()) return send(Bye{"it was told to stop"});
      const auto now = Clock::now();
      if (const auto gap = now - std::exchange(last_run_, now); gap > kMaxGap) last_heard_ += gap;
      WEFT_TRY_VOID(speak());
      WEFT_TRY(const auto incoming, bus_.receive(kPoll));
      if (incoming && incoming->from == kCoordinator) WEFT_TRY_VOID(handle(*incoming));
      if (Clock::now() - last_heard_ > (run_ ? timing_.coordinator_silence : timing_.wait_for_start))
        return fail(ErrorKind::timeout, "the coordinator has been silent for {} s: ending",
                    std::chrono::duration_cast<std::chrono::seconds>(Clock::now() - last_heard_).count());
    }
    return {};
  }

 private:
  Result<void> send(const ToCoordinator& message) { return bus_.send(kCoordinator, encode(message)); }

  /// Hello until the run starts, then signs of life.
  Result<void> speak() {
    const auto now = Clock::now();
    if (now - last_spoken_ < (run_ ? timing_.alive_interval : timing_.hello_interval)) return {};
    last_spoken_ = now;
    return run_ ? send(Alive{}) : send(hello_);
  }

  Result<void> handle(const Incoming& incoming) {
    const auto message = decode_to_agent(incoming.bytes);
    if (!message) {
      [[maybe_unused]] const auto sent = send(Bye{message.error().message});
      return pass_on(message, "from the coordinator");
    }
    last_heard_ = Clock::now();
    std::visit([this](const auto& m) { on(m); }, *message);
    return {};
  }

  void on(const StartRun& start) {
    if (!run_) run_.emplace(bus_, open_, start);
  }
  void on(const StopRun&) { over_ = true; }
  void on(const Alive&) {}
  /// Tasks and what passes between peers: of no use before the run.
  template <class Message>
  void on(const Message& message) {
    if (run_) run_->take(message);
  }

  Bus& bus_;
  const Hello& hello_;
  const OpenEngines& open_;
  AgentTiming timing_;
  bool over_ = false;
  Clock::time_point last_spoken_{};
  Clock::time_point last_heard_ = Clock::now();
  Clock::time_point last_run_ = Clock::now();
  std::optional<ServedRun> run_;
};

}  // namespace

Result<void> run_agent(Bus& bus, const Hello& hello, const OpenEngines& open, std::stop_token stop,
                       AgentTiming timing) {
  return AgentLoop(bus, hello, open, timing).run(stop);
}

}  // namespace weft
