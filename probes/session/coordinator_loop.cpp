#include "probes/session/coordinator_loop.hpp"

#include <deque>
#include <map>
#include <utility>

#include "probes/session/messages_json.hpp"

namespace weft {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kPoll = std::chrono::milliseconds(20);
constexpr auto kWatchInterval = std::chrono::milliseconds(200);
/// Read in one go before deadlines are looked at again: more than a wave of results of a large fabric.
constexpr std::size_t kMaxAtOnce = 10'000;
constexpr std::string_view kInterrupted = "interrupted";

Result<void> act(Bus& bus, RunId run, const Coordinator::Actions& actions, const OnProgress& on_progress) {
  for (const CoordinatorAction& action : actions) {
    if (const auto* message = std::get_if<SendToAgent>(&action))
      if (const auto sent = bus.send(message->host, encode(MessageToAgent{run, message->message})); !sent)
        return sent;
    if (const auto* progress = std::get_if<Progress>(&action)) on_progress(*progress);
  }
  return {};
}

/// The agents of one process: what run_agent does, without threads or a bus.
class LocalAgents {
 public:
  explicit LocalAgents(const OpenEngines& open) : open_(open) {}

  ToCoordinator answer(const std::string&, const StartRun& start) {
    Ready ready;
    const auto nics = std::make_shared<const RunNics>(start.targets);
    for (const NicAssignment& nic : start.nics) {
      auto engines = open_(nic, start.secrets, nics);
      if (engines)
        engines_.emplace(nic.nic, std::move(*engines));
      else
        ready.troubles.push_back({nic.nic, engines.error().message, is_of_tool(engines.error())});
    }
    return ready;
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
Result<void> read_inbox(Bus& bus, Coordinator& coordinator, const OnProgress& on_progress) {
  auto wait = Nanoseconds(kPoll);
  for (std::size_t i = 0; i < kMaxAtOnce && !coordinator.is_done(); ++i) {
    WEFT_TRY(const auto incoming, bus.receive(std::exchange(wait, Nanoseconds(0))));
    if (!incoming) break;
    const auto sent = decode_to_coordinator(incoming->bytes);
    if (sent && sent->run && *sent->run != coordinator.run())
      continue;  // of a run that is over, or another's
    const auto now = Clock::now();
    const auto acted = act(bus, coordinator.run(),
                           sent ? coordinator.on_message(incoming->from, sent->message, now)
                                : coordinator.give_up(incoming->from, sent.error().message, now),
                           on_progress);
    if (!acted) return acted;
  }
  return {};
}

}  // namespace

Result<void> coordinate(Bus& bus, Coordinator& coordinator, const OnProgress& on_progress,
                        std::stop_token stop, const WatchAgents& watch) {
  auto acted = act(bus, coordinator.run(), coordinator.start(Clock::now()), on_progress);
  auto watched = Clock::now();
  while (acted && !coordinator.is_done()) {
    if (stop.stop_requested()) {
      acted = act(bus, coordinator.run(), coordinator.stop_all(), on_progress);
      return fail(ErrorKind::conflict, "{}", kInterrupted);
    }
    std::vector<GoneAgent> ended;
    if (watch && Clock::now() - watched >= kWatchInterval) {
      watched = Clock::now();
      ended = watch();
    }
    acted = read_inbox(bus, coordinator, on_progress);
    for (const GoneAgent& gone : ended)
      if (acted)
        acted =
            act(bus, coordinator.run(), coordinator.give_up(gone.host, gone.why, Clock::now()), on_progress);
    if (acted) acted = act(bus, coordinator.run(), coordinator.on_tick(Clock::now()), on_progress);
  }
  if (!acted && !coordinator.is_done()) coordinator.lose_bus(acted.error().message);
  return coordinator.outcome();
}

Result<void> coordinate_in_process(Coordinator& coordinator, const std::vector<std::string>& hosts,
                                   const OpenEngines& open, const OnProgress& on_progress,
                                   std::stop_token stop) {
  LocalAgents agents(open);
  const TimePoint now{};
  std::deque<CoordinatorAction> todo;
  const auto add = [&todo](Coordinator::Actions actions) {
    for (auto& action : actions) todo.push_back(std::move(action));
  };
  add(coordinator.start(now));
  for (const std::string& host : hosts) add(coordinator.on_message(host, Hello{.host = host}, now));
  while (!todo.empty()) {
    if (stop.stop_requested()) return fail(ErrorKind::conflict, "{}", kInterrupted);
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

}  // namespace weft
