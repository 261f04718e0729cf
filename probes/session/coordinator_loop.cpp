#include "probes/session/coordinator_loop.hpp"

#include <algorithm>
#include <deque>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "probes/session/messages_json.hpp"

namespace weft::session {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kPoll = std::chrono::milliseconds(20);
constexpr auto kWatchInterval = std::chrono::milliseconds(200);
/// Read in one go before deadlines are looked at again: more than a wave of results of a large fabric.
constexpr std::size_t kMaxAtOnce = 10'000;
/// The same in time: whoever sends without end holds up no deadline and no interrupt.
constexpr auto kMaxReading = std::chrono::milliseconds(100);
constexpr std::string_view kInterrupted = "interrupted";

/// For the acknowledgements of a wave: long beside a round trip, short beside the time in which nothing may
/// be called (Coordinator::on_tick).
constexpr auto kAcknowledged = std::chrono::milliseconds(300);
constexpr auto kAgain = std::chrono::seconds(1);
constexpr int kLastTries = 3;  // of StopRun, at the end

// Which message an agent's answer is to: the answer says that it came, whatever became of its
// acknowledgement.

std::string key_of_start() { return "start"; }
std::string key_of(TaskId task) { return fmt::format("task {}", task.value()); }
std::string key_of_question(PortId from, std::uint32_t id) {
  return fmt::format("question {} of {}", id, from.value());
}

/// Empty: no answer is to come.
std::string answer_to(const ToAgent& message) {
  if (std::holds_alternative<StartRun>(message)) return key_of_start();
  if (const auto* task = std::get_if<Task>(&message)) return key_of(task->id);
  if (const auto* question = std::get_if<PeerQuestion>(&message))
    return key_of_question(question->from, question->id);
  return {};
}

/// Empty: it answers nothing.
std::string answered_by(const ToCoordinator& message) {
  if (std::holds_alternative<Ready>(message)) return key_of_start();
  if (const auto* result = std::get_if<TaskResult>(&message)) return key_of(result->id);
  if (const auto* reply = std::get_if<PeerReply>(&message)) return key_of_question(reply->to, reply->id);
  return {};
}

/// Does what the coordinator wants. What a host would be blamed for if it is lost, or would wait for, is
/// acknowledged, and sent again each second until it is, or is answered: a start, a task, what engines ask
/// and answer each other. StopRun is, without that, for who does not hear it hears no sign of life either.
class Outbox {
 public:
  Outbox(Bus& bus, RunId run, const OnProgress& on_progress)
      : bus_(bus), run_(run), on_progress_(on_progress) {}

  Result<void> act(const Coordinator::Actions& actions) {
    for (const CoordinatorAction& action : actions) {
      if (const auto* send = std::get_if<SendToAgent>(&action)) WEFT_TRY_VOID(add(*send));
      if (const auto* progress = std::get_if<Progress>(&action)) on_progress_(*progress);
    }
    return {};
  }

  /// What this answers is not sent again.
  void note(const std::string& from, const ToCoordinator& message) {
    const auto key = answered_by(message);
    if (key.empty()) return;
    std::erase_if(unacknowledged_,
                  [&](const OutgoingMessage& other) { return other.to == from && other.answered_by == key; });
  }

  /// Waits a little for the acknowledgements.
  Result<void> deliver(Clock::time_point now) {
    if (now - tried_ >= kAgain) {
      tried_ = now;
      std::ranges::move(std::exchange(unacknowledged_, {}), std::back_inserter(waiting_));
    }
    return deliver_waiting();
  }

  /// The run is over: an agent that does not hear of it would stay until it misses the signs of life.
  void finish() {
    for (int tries = 0; tries < kLastTries && !waiting_.empty(); ++tries) {
      auto left = bus_.deliver(std::exchange(waiting_, {}), kAcknowledged);
      if (left) waiting_ = std::move(*left);
    }
  }

 private:
  Result<void> add(const SendToAgent& send) {
    OutgoingMessage message{send.host, encode(MessageToAgent{run_, send.message}), answer_to(send.message)};
    const bool stops = std::holds_alternative<StopRun>(send.message);
    if (stops) {
      const auto is_to_it = [&](const OutgoingMessage& other) { return other.to == send.host; };
      std::erase_if(waiting_, is_to_it);
      std::erase_if(unacknowledged_, is_to_it);
      stopped_.insert(send.host);
    }
    if (std::holds_alternative<Alive>(send.message)) return bus_.send(message.to, message.bytes);
    // Each Hello until it starts asks for the same again.
    if (is_known(waiting_, message) || is_known(unacknowledged_, message)) return {};
    bytes_ += message.bytes.size();
    waiting_.push_back(std::move(message));
    return bytes_ < kMaxMessageBytes ? Result<void>() : deliver_waiting();
  }

  static bool is_known(const std::vector<OutgoingMessage>& among, const OutgoingMessage& message) {
    return std::ranges::any_of(among, [&](const OutgoingMessage& other) {
      return other.to == message.to && other.bytes == message.bytes;
    });
  }

  Result<void> deliver_waiting() {
    bytes_ = 0;
    if (waiting_.empty()) return {};
    WEFT_TRY(auto left, bus_.deliver(std::exchange(waiting_, {}), kAcknowledged));
    for (OutgoingMessage& message : left)
      if (!stopped_.contains(message.to)) unacknowledged_.push_back(std::move(message));
    return {};
  }

  Bus& bus_;
  RunId run_;
  const OnProgress& on_progress_;
  std::vector<OutgoingMessage> waiting_;
  std::size_t bytes_ = 0;  // that wait
  std::vector<OutgoingMessage> unacknowledged_;
  std::set<std::string> stopped_;
  Clock::time_point tried_{};
};

/// The agents of one process: what run_agent does, without threads or a bus.
class LocalAgents {
 public:
  explicit LocalAgents(const OpenEngines& open) : open_(open) {}

  ToCoordinator answer(const std::string&, const StartRun& start) {
    Ready ready;
    const auto nics = std::make_shared<const datapath::RunNics>(start.targets);
    for (const NicAssignment& nic : start.nics) {
      auto engines = open_(nic, start.secrets, nics);
      if (engines)
        engines_.emplace(nic.nic, std::move(*engines));
      else
        ready.troubles.push_back({nic.nic, engines.error().message, is_of_tool(engines.error())});
    }
    return ready;
  }
  void expect(const Task& task) {
    const auto engines = engines_.find(task.nic);
    if (engines != engines_.end() && engines->second.expect) engines->second.expect(task.work);
  }
  ToCoordinator answer(const std::string&, const Task& task) {
    const auto engines = engines_.find(task.nic);
    if (engines == engines_.end()) {
      const Result<TaskAnswer> unknown = fail(ErrorKind::internal, "no engine for NIC {}", task.nic.value());
      return result_of(task.id, task.work, unknown);
    }
    return result_of(task.id, task.work, do_work(engines->second, task.work, {}));
  }
  ToCoordinator answer(const std::string&, const StopRun&) { return Alive{}; }
  ToCoordinator answer(const std::string&, const PeerQuestion& question) {
    return PeerReply{question.to, question.from, question.id, true, "engines of one process do not ask"};
  }
  ToCoordinator answer(const std::string&, const PeerReply&) { return Alive{}; }
  ToCoordinator answer(const std::string&, const Alive&) { return Alive{}; }

 private:
  const OpenEngines& open_;
  std::map<PortId, NicEngines> engines_;
};

/// All messages that have come, waiting for the first: silence is judged of what nobody has said, not of what
/// nobody has read.
Result<void> read_inbox(Bus& bus, Coordinator& coordinator, Outbox& outbox) {
  auto wait = Nanoseconds(kPoll);
  const auto until = Clock::now() + kPoll + kMaxReading;
  for (std::size_t i = 0; i < kMaxAtOnce && !coordinator.is_done() && Clock::now() < until; ++i) {
    WEFT_TRY(const auto incoming, bus.receive(std::exchange(wait, Nanoseconds(0))));
    if (!incoming) break;
    if (!coordinator.listens_to(incoming->from)) continue;
    const auto sent = decode_to_coordinator(incoming->bytes);
    if (sent && sent->run && *sent->run != coordinator.run()) {  // that is over, or another's
      coordinator.note_busy(incoming->from);
      continue;
    }
    if (sent) outbox.note(incoming->from, sent->message);
    const auto now = Clock::now();
    WEFT_TRY_VOID(outbox.act(sent ? coordinator.on_message(incoming->from, sent->message, now)
                                  : coordinator.give_up(incoming->from, sent.error().message, now)));
  }
  return {};
}

}  // namespace

Result<void> coordinate(Bus& bus, Coordinator& coordinator, const OnProgress& on_progress,
                        std::stop_token stop, const WatchAgents& watch) {
  Outbox outbox(bus, coordinator.run(), on_progress);
  auto acted = outbox.act(coordinator.start(Clock::now()));
  auto watched = Clock::now();
  while (acted && !coordinator.is_done()) {
    if (stop.stop_requested()) {
      acted = outbox.act(coordinator.stop_all());
      outbox.finish();
      return fail(ErrorKind::conflict, "{}", kInterrupted);
    }
    std::vector<GoneAgent> ended;
    if (watch && Clock::now() - watched >= kWatchInterval) {
      watched = Clock::now();
      ended = watch();
    }
    acted = read_inbox(bus, coordinator, outbox);
    for (const GoneAgent& gone : ended)
      if (acted) acted = outbox.act(coordinator.give_up(gone.host, gone.why, Clock::now()));
    if (acted) acted = outbox.act(coordinator.on_tick(Clock::now()));
    if (acted && !coordinator.is_done()) acted = outbox.deliver(Clock::now());
  }
  if (acted) outbox.finish();
  if (!acted && !coordinator.is_done()) coordinator.lose_bus(acted.error().message);
  return coordinator.outcome();
}

Result<void> coordinate_in_process(Coordinator& coordinator, const std::vector<std::string>& hosts,
                                   const OpenEngines& open, const OnProgress& on_progress,
                                   std::stop_token stop, std::optional<TimeLimit> limit) {
  LocalAgents agents(open);
  const TimePoint now{};
  std::deque<CoordinatorAction> todo;
  const auto add = [&](Coordinator::Actions actions) {
    for (auto& action : actions) {
      const auto* message = std::get_if<SendToAgent>(&action);
      if (const auto* task = message ? std::get_if<Task>(&message->message) : nullptr) agents.expect(*task);
      todo.push_back(std::move(action));
    }
  };
  add(coordinator.start(now));
  for (const std::string& host : hosts) add(coordinator.on_message(host, Hello{.host = host}, now));
  while (!todo.empty()) {
    if (stop.stop_requested()) return fail(ErrorKind::conflict, "{}", kInterrupted);
    if (limit && !coordinator.is_done() && Clock::now() >= limit->until) add(coordinator.run_out());
    const CoordinatorAction action = std::move(todo.front());
    todo.pop_front();
    if (const auto* message = std::get_if<SendToAgent>(&action)) {
      const auto answer =
          std::visit([&](const auto& m) { return agents.answer(message->host, m); }, message->message);
      add(coordinator.on_message(message->host, answer, now));
    }
    if (const auto* progress = std::get_if<Progress>(&action)) on_progress(*progress);
  }
  return coordinator.outcome();
}

}  // namespace weft::session
