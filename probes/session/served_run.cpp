#include "probes/session/served_run.hpp"

#include <algorithm>
#include <utility>

#include "probes/session/answer_check.hpp"
#include "probes/session/messages_json.hpp"

namespace weft::session {
namespace {

constexpr Nanoseconds kAcknowledged = std::chrono::seconds(1);
constexpr Nanoseconds kMaxAcknowledged = std::chrono::seconds(8);
constexpr auto kAgain = std::chrono::milliseconds(500);

/// Sends it, and again until the coordinator's bus has it or `stop` is requested: what the coordinator waits
/// for and does not get it blames on the host. An acknowledgement that comes after its attempt counts for
/// none, so each attempt waits longer. A lost bus is noticed by the loop that reads from it; one that takes
/// no more while it connects again may take it later.
void deliver(Bus& bus, const std::string& bytes, const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any stopped;
  for (Nanoseconds limit = kAcknowledged; !stop.stop_requested();
       limit = std::min(2 * limit, kMaxAcknowledged)) {
    const auto unacknowledged = bus.deliver({{std::string(kCoordinator), bytes}}, limit);
    if (unacknowledged ? unacknowledged->empty() : unacknowledged.error().kind == ErrorKind::absent) return;
    std::unique_lock lock(mutex);
    stopped.wait_for(lock, stop, kAgain, [] { return false; });
  }
}

/// An answer too long for one message becomes an error that says so.
std::string encode_result(RunId run, const Task& task, const Result<TaskAnswer>& answer) {
  auto bytes = encode(MessageToCoordinator{run, result_of(task.id, task.work, answer)});
  const auto fits = check_json_limits(bytes, kMessageLimits);
  if (fits) return bytes;
  const Result<TaskAnswer> too_long =
      fail(ErrorKind::internal, "the answer to task {}: {}", task.id.value(), fits.error().message);
  return encode(MessageToCoordinator{run, result_of(task.id, task.work, too_long)});
}

}  // namespace

/// The thread that does the tasks of one NIC, in the order in which they came, and sends the results.
class NicWorker {
 public:
  NicWorker(RunId run, NicEngines engines, Bus& bus)
      : run_(run),
        engines_(std::move(engines)),
        bus_(bus),
        thread_([this](const std::stop_token& stop) { work(stop); }) {}

  void add(Task task) {
    {
      const std::lock_guard lock(mutex_);
      waiting_.push_back(std::move(task));
    }
    arrived_.notify_one();
  }
  /// Ends the task in hand and drops those that wait; does not wait.
  void stop() { thread_.request_stop(); }

 private:
  void work(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      Task task;
      {
        std::unique_lock lock(mutex_);
        if (!arrived_.wait(lock, stop, [this] { return !waiting_.empty(); })) return;
        task = std::move(waiting_.front());
        waiting_.pop_front();
      }
      deliver(bus_, encode_result(run_, task, do_work(engines_, task.work, stop)), stop);
    }
  }

  RunId run_;
  NicEngines engines_;
  Bus& bus_;
  std::mutex mutex_;
  std::condition_variable_any arrived_;
  std::deque<Task> waiting_;
  std::jthread thread_;
};

/// The thread that answers what the engines of other NICs ask that of one.
class NicAnswerer {
 public:
  NicAnswerer(RunId run, std::shared_ptr<datapath::PeerService> service, Bus& bus)
      : run_(run),
        service_(std::move(service)),
        bus_(bus),
        thread_([this](const std::stop_token& stop) { answer(stop); }) {}

  /// Who asks again waits for its last answer no longer, so that questions take no more room than there are
  /// peers.
  void add(const PeerQuestion& question) {
    {
      const std::lock_guard lock(mutex_);
      std::uint32_t& last = last_questions_[question.from];
      if (question.id <= last) return;  // it came again: its answer is on its way
      last = question.id;
      std::erase_if(waiting_, [&](const PeerQuestion& other) { return other.from == question.from; });
      waiting_.push_back(question);
    }
    asked_.notify_one();
  }
  /// Drops what waits; does not wait for the answer in hand.
  void stop() { thread_.request_stop(); }

 private:
  void answer(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      PeerQuestion question;
      {
        std::unique_lock lock(mutex_);
        if (!asked_.wait(lock, stop, [this] { return !waiting_.empty(); })) return;
        question = std::move(waiting_.front());
        waiting_.pop_front();
      }
      const auto answer = service_->answer(question.from, question.text);
      const PeerReply reply{question.to, question.from, question.id, !answer,
                            answer ? *answer : answer.error().message};
      deliver(bus_, encode(MessageToCoordinator{run_, reply}), stop);
    }
  }

  RunId run_;
  std::shared_ptr<datapath::PeerService> service_;
  Bus& bus_;
  std::mutex mutex_;
  std::condition_variable_any asked_;
  std::deque<PeerQuestion> waiting_;                // one of each NIC at most
  std::map<PortId, std::uint32_t> last_questions_;  // by who asks: its id
  std::jthread thread_;
};

ServedRun::ServedRun(Bus& bus, const PrepareRun& prepare, StartRun start)
    : bus_(bus),
      prepare_(prepare),
      start_(std::move(start)),
      nics_(std::make_shared<const datapath::RunNics>(start_.targets)),
      thread_([this](const std::stop_token& stop) { serve(stop); }) {}

ServedRun::~ServedRun() { stop(); }

void ServedRun::serve(const std::stop_token& stop) {
  const RunHost host = prepare_();
  Ready ready{.inventory = host.inventory};
  for (const NicAssignment& nic : start_.nics)
    if (!stop.stop_requested()) open_nic(host.open, nic, ready);
  deliver(bus_, encoded(ready), stop);
  refuse_what_waits(stop);
  close();
  closed_ = true;
}

std::string ServedRun::encoded(const ToCoordinator& message) const {
  return encode(MessageToCoordinator{id(), message});
}

void ServedRun::open_nic(const OpenEngines& open, const NicAssignment& nic, Ready& ready) {
  auto engines = open(nic, start_.secrets, nics_);
  if (!engines) {
    ready.troubles.push_back({nic.nic, engines.error().message, is_of_tool(engines.error())});
    return;
  }
  if (!engines->uses.empty()) ready.uses.push_back({nic.nic, engines->uses});
  const std::lock_guard lock(mutex_);
  if (engines->peers) {
    lines_[nic.nic] = std::make_unique<PeerLine>(id(), nic.nic, bus_);
    engines->peers->meet(*lines_[nic.nic]);
    answerers_.emplace(nic.nic, std::make_unique<NicAnswerer>(id(), engines->peers, bus_));
  }
  workers_.emplace(nic.nic, std::make_unique<NicWorker>(id(), std::move(*engines), bus_));
}

void ServedRun::take(const Task& task) {
  const std::lock_guard lock(mutex_);
  if (!known_tasks_.insert(task.id).second) return;
  const auto worker = workers_.find(task.nic);
  if (worker == workers_.end())
    return refuse(task, fail(ErrorKind::invalid_input, "this agent serves no NIC {}", task.nic.value()));
  if (const auto known = check_targets(task.work, *nics_); !known) return refuse(task, pass_on(known));
  worker->second->add(task);
}

void ServedRun::refuse(const Task& task, const Result<TaskAnswer>& why) {
  refusals_.emplace_back(result_of(task.id, task.work, why));
  refused_.notify_one();
}

void ServedRun::take(const PeerQuestion& question) {
  const std::lock_guard lock(mutex_);
  if (const auto found = answerers_.find(question.to); found != answerers_.end())
    return found->second->add(question);
  std::erase_if(refusals_, [&](const ToCoordinator& waiting) {  // as NicAnswerer::add
    const auto* reply = std::get_if<PeerReply>(&waiting);
    return reply != nullptr && reply->from == question.to && reply->to == question.from;
  });
  refusals_.emplace_back(PeerReply{question.to, question.from, question.id, true,
                                   "this agent's engine does not speak to others"});
  refused_.notify_one();
}

void ServedRun::take(const PeerReply& reply) {
  const std::lock_guard lock(mutex_);
  if (const auto line = lines_.find(reply.to); line != lines_.end()) line->second->take(reply);
}

/// The coordinator waits for a refusal as for any answer.
void ServedRun::refuse_what_waits(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    std::unique_lock lock(mutex_);
    if (!refused_.wait(lock, stop, [this] { return !refusals_.empty(); })) return;
    const auto bytes = encoded(refusals_.front());
    refusals_.pop_front();
    lock.unlock();
    deliver(bus_, bytes, stop);
  }
}

void ServedRun::stop() {
  thread_.request_stop();
  const std::lock_guard lock(mutex_);
  stop_nics();
}

void ServedRun::stop_nics() {
  for (const auto& [nic, worker] : workers_) worker->stop();
  for (const auto& [nic, answerer] : answerers_) answerer->stop();
  for (const auto& [nic, line] : lines_) line->close();
}

/// An engine that was opened while stop() ran is stopped here.
void ServedRun::close() {
  std::unique_lock lock(mutex_);
  stop_nics();
  auto workers = std::exchange(workers_, {});
  auto answerers = std::exchange(answerers_, {});
  lock.unlock();
  answerers.clear();
  workers.clear();  // their tasks may still ask over the lines
}

}  // namespace weft::session
