#include "probes/session/agent_loop.hpp"

#include <chrono>
#include <map>
#include <memory>
#include <utility>

#include "probes/session/answer_check.hpp"
#include "probes/session/messages_json.hpp"
#include "probes/session/nic_worker.hpp"
#include "probes/session/peer_line.hpp"

namespace weft {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kPoll = std::chrono::milliseconds(50);
/// Between two looks at the bus. In a longer gap this process did not run (it was stopped, its machine slept,
/// it opened engines): nobody could be heard, so it counts as no silence.
constexpr auto kMaxGap = std::chrono::seconds(1);

class AgentLoop {
 public:
  AgentLoop(Bus& bus, const Hello& hello, const OpenEngines& open, AgentTiming timing)
      : bus_(bus), hello_(hello), open_(open), timing_(timing) {}

  Result<void> run(std::stop_token stop) {
    while (!over_) {
      if (stop.stop_requested()) return send(Bye{"it was told to stop"});
      const auto now = Clock::now();
      if (const auto gap = now - std::exchange(last_run_, now); gap > kMaxGap) last_heard_ += gap;
      if (const auto spoken = speak(); !spoken) return spoken;
      WEFT_TRY(const auto incoming, bus_.receive(kPoll));
      if (incoming && incoming->from == kCoordinator)
        if (const auto handled = handle(*incoming); !handled) return handled;
      if (Clock::now() - last_heard_ > (started_ ? timing_.coordinator_silence : timing_.wait_for_start))
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
    if (now - last_spoken_ < (started_ ? timing_.alive_interval : timing_.hello_interval)) return {};
    last_spoken_ = now;
    return started_ ? send(Alive{}) : send(hello_);
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
    if (started_) return;
    started_ = true;
    nics_ = std::make_shared<const RunNics>(start.targets);
    Ready ready{start.secrets.run, {}, {}};
    for (const NicAssignment& nic : start.nics) {
      auto engines = open_(nic, start.secrets, nics_);
      if (!engines) {
        ready.troubles.push_back({nic.nic, engines.error().message, is_of_tool(engines.error())});
        continue;
      }
      if (engines->peers) meet(nic.nic, engines->peers);
      if (!engines->uses.empty()) ready.uses.push_back({nic.nic, engines->uses});
      workers_.emplace(nic.nic, std::make_unique<NicWorker>(std::move(*engines), bus_));
    }
    [[maybe_unused]] const auto sent = send(ready);
  }

  void on(const Task& task) {
    const auto worker = workers_.find(task.nic);
    if (worker == workers_.end())
      return refuse(task, fail(ErrorKind::invalid_input, "this agent serves no NIC {}", task.nic.value()));
    if (const auto known = check_targets(task.work, *nics_); !known) return refuse(task, pass_on(known));
    worker->second->add(task);
  }

  void refuse(const Task& task, const Result<TaskAnswer>& why) {
    [[maybe_unused]] const auto sent = send(result_of(task.id, task.work, why));
  }

  void meet(PortId nic, const std::shared_ptr<PeerService>& service) {
    services_[nic] = service;
    lines_[nic] = std::make_unique<PeerLine>(nic, bus_);
    service->meet(*lines_[nic]);
  }

  void on(const PeerQuestion& question) {
    const auto service = services_.find(question.to);
    const Result<std::string> answer =
        service == services_.end()
            ? fail(ErrorKind::not_supported, "this agent's engine does not speak to others")
            : service->second->answer(question.from, question.text);
    const PeerReply reply{question.to, question.from, question.id, !answer,
                          answer ? *answer : answer.error().message};
    [[maybe_unused]] const auto sent = send(reply);
  }

  void on(const PeerReply& reply) {
    if (const auto line = lines_.find(reply.to); line != lines_.end()) line->second->take(reply);
  }

  void on(const StopRun&) {
    over_ = true;
    for (const auto& [nic, line] : lines_) line->close();
  }
  void on(const Alive&) {}

  Bus& bus_;
  const Hello& hello_;
  const OpenEngines& open_;
  AgentTiming timing_;
  bool started_ = false;
  bool over_ = false;
  Clock::time_point last_spoken_{};
  Clock::time_point last_heard_ = Clock::now();
  SharedNics nics_ = std::make_shared<const RunNics>();
  Clock::time_point last_run_ = Clock::now();
  std::map<PortId, std::unique_ptr<PeerLine>> lines_;
  std::map<PortId, std::shared_ptr<PeerService>> services_;
  std::map<PortId, std::unique_ptr<NicWorker>> workers_;
};

}  // namespace

Result<void> run_agent(Bus& bus, const Hello& hello, const OpenEngines& open, std::stop_token stop,
                       AgentTiming timing) {
  return AgentLoop(bus, hello, open, timing).run(std::move(stop));
}

}  // namespace weft
