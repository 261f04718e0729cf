#include "probes/session/agent_loop.hpp"

#include <chrono>
#include <optional>
#include <utility>

#include "probes/session/messages_json.hpp"

namespace weft::session {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kPoll = std::chrono::milliseconds(50);
constexpr auto kLastWord = std::chrono::milliseconds(500);  // for its acknowledgement
constexpr int kLastTries = 3;
/// Between two looks at the bus. In a longer gap this process did not run (it was stopped, its machine
/// slept): nobody could be heard, so it counts as no silence.
constexpr auto kMaxGap = std::chrono::seconds(1);

class AgentLoop {
 public:
  AgentLoop(Bus& bus, const Hello& hello, const PrepareRun& prepare, AgentLife life, AgentTiming timing)
      : bus_(bus), hello_(hello), prepare_(prepare), life_(life), timing_(timing) {}

  Result<void> run(const std::stop_token& stop) {
    while (!over_) {
      if (stop.stop_requested()) return take_leave();
      const auto now = Clock::now();
      if (const auto gap = now - std::exchange(last_run_, now); gap > kMaxGap) last_heard_ += gap;
      WEFT_TRY_VOID(speak());
      WEFT_TRY(const auto incoming, bus_.receive(kPoll));
      if (incoming && incoming->from == kCoordinator) WEFT_TRY_VOID(handle(*incoming));
      WEFT_TRY_VOID(judge_silence());
      if (run_ && run_->is_closed()) await_next();
    }
    return {};
  }

 private:
  bool at_work() const { return run_.has_value() && !ending_; }
  std::optional<RunId> at_hand() const { return run_ ? std::optional(run_->id()) : std::nullopt; }

  /// Of the run at hand, or of none.
  Result<void> send(const ToCoordinator& message) {
    return bus_.send(kCoordinator, encode(MessageToCoordinator{at_hand(), message}));
  }

  /// A host whose agent goes without a word is blamed.
  Result<void> take_leave() { return take_leave_of(at_hand(), "it was told to stop"); }

  /// Again, a few times, where the coordinator's bus does not acknowledge it; much shorter in all than a
  /// silence that tells.
  Result<void> take_leave_of(std::optional<RunId> run, const std::string& why) {
    std::vector<OutgoingMessage> left{
        {std::string(kCoordinator), encode(MessageToCoordinator{run, Bye{why}})}};
    for (int tries = 0; tries < kLastTries && !left.empty(); ++tries) {
      WEFT_TRY(left, bus_.deliver(std::move(left), kLastWord));
    }
    return {};
  }

  /// Hello until a run starts, then signs of life.
  Result<void> speak() {
    const auto now = Clock::now();
    if (ending_ || now - last_spoken_ < (run_ ? timing_.alive_interval : timing_.hello_interval)) return {};
    last_spoken_ = now;
    // What a bus that connects again does not take comes again by itself.
    const auto spoken = run_ ? send(Alive{}) : send(hello_);
    return !spoken && spoken.error().kind != ErrorKind::absent ? Result<void>() : spoken;
  }

  Result<void> handle(const Incoming& incoming) {
    const auto sent = decode_to_agent(incoming.bytes);
    if (!sent) {
      WEFT_TRY_VOID(take_leave_of(at_hand(), sent.error().message));
      if (life_ == AgentLife::one_run) return pass_on(sent, "from the coordinator");
      if (run_) end_run();
      return {};
    }
    if (const auto* start = std::get_if<StartRun>(&sent->message)) return begin(*start);
    if (!run_ && std::holds_alternative<Alive>(sent->message)) last_heard_ = Clock::now();  // it is to wait
    if (!at_work() || sent->run != run_->id()) return {};  // of a run that is over, or of another agent's
    last_heard_ = Clock::now();
    std::visit([this](const auto& m) { on(m); }, sent->message);
    return {};
  }

  /// Said again, of the run at hand or of the last one, it is nothing new. While that is being closed nobody
  /// is answered: who waits sends it again at the next Hello.
  Result<void> begin(const StartRun& start) {
    const RunId asked = start.secrets.run;
    if (ending_ || asked == last_ended_) return {};
    if (run_ && asked != run_->id()) {
      return take_leave_of(
          asked, fmt::format("it serves another run ({:x}), and one at a time: try again when that is over",
                             run_->id().value()));
    }
    last_heard_ = Clock::now();
    if (!run_) run_.emplace(bus_, prepare_, start);
    return {};
  }

  void on(const StartRun&) {}
  void on(const StopRun&) { end_run(); }
  void on(const Alive&) {}
  template <class Message>
  void on(const Message& message) {
    run_->take(message);
  }

  void end_run() {
    run_->stop();
    ending_ = true;
    over_ = life_ == AgentLife::one_run;
  }

  void await_next() {
    last_ended_ = run_->id();
    run_.reset();
    ending_ = false;
    last_spoken_ = {};
    last_heard_ = Clock::now();
  }

  Result<void> judge_silence() {
    const auto silence = Clock::now() - last_heard_;
    if (ending_ || silence <= (run_ ? timing_.coordinator_silence : timing_.wait_for_start)) return {};
    if (life_ == AgentLife::one_run)
      return fail(ErrorKind::timeout, "the coordinator has been silent for {} s: ending",
                  std::chrono::duration_cast<std::chrono::seconds>(silence).count());
    if (run_) end_run();
    return {};
  }

  Bus& bus_;
  const Hello& hello_;
  const PrepareRun& prepare_;
  AgentLife life_;
  AgentTiming timing_;
  bool over_ = false;
  bool ending_ = false;  // the run at hand is being closed
  std::optional<RunId> last_ended_;
  Clock::time_point last_spoken_{};
  Clock::time_point last_heard_ = Clock::now();
  Clock::time_point last_run_ = Clock::now();
  std::optional<ServedRun> run_;
};

}  // namespace

Result<void> run_agent(Bus& bus, const Hello& hello, const PrepareRun& prepare, std::stop_token stop,
                       AgentLife life, AgentTiming timing) {
  return AgentLoop(bus, hello, prepare, life, timing).run(stop);
}

}  // namespace weft::session
