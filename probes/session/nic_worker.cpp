#include "probes/session/nic_worker.hpp"

#include "probes/session/messages_json.hpp"

namespace weft {
namespace {

/// Sends what came of a task; an answer too long for one message becomes an error that says so.
void send_result(Bus& bus, const Task& task, const Result<TaskAnswer>& answer) {
  auto bytes = encode(ToCoordinator(result_of(task.id, task.work, answer)));
  if (const auto fits = check_json_limits(bytes, kMessageLimits); !fits) {
    const Result<TaskAnswer> too_long =
        fail(ErrorKind::internal, "the answer to task {}: {}", task.id.value(), fits.error().message);
    bytes = encode(ToCoordinator(result_of(task.id, task.work, too_long)));
  }
  // A lost bus is noticed by the loop that reads from it.
  [[maybe_unused]] const auto sent = bus.send(kCoordinator, bytes);
}

}  // namespace

NicWorker::NicWorker(NicEngines engines, Bus& bus)
    : engines_(std::move(engines)),
      bus_(bus),
      thread_([this](std::stop_token stop) { run(std::move(stop)); }) {}

void NicWorker::add(Task task) {
  {
    const std::lock_guard lock(mutex_);
    waiting_.push_back(std::move(task));
  }
  arrived_.notify_one();
}

void NicWorker::run(std::stop_token stop) {
  while (!stop.stop_requested()) {
    Task task;
    {
      std::unique_lock lock(mutex_);
      if (!arrived_.wait(lock, stop, [this] { return !waiting_.empty(); })) return;
      task = std::move(waiting_.front());
      waiting_.pop_front();
    }
    send_result(bus_, task, do_work(engines_, task.work, stop));
  }
}

}  // namespace weft
