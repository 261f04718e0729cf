#include "collectors/bus/operator_link.hpp"

#include <chrono>
#include <condition_variable>
#include <mutex>

#include "collectors/bus/kept_connection.hpp"
#include "collectors/bus/message_queue.hpp"
#include "collectors/bus/watch_streams.hpp"
#include "probes/session/watch_subjects.hpp"

namespace weft::bus {
namespace {

constexpr auto kFirstConnection = std::chrono::seconds(8);
/// Answers are a line each, and two for a host.
constexpr QueueLimits kUnread{.of_sender = 50'000, .in_all = 64'000'000};

class Operator : public watch::OperatorLink {
 public:
  Operator(const NatsAddress& address, std::string fabric, const std::string& name)
      : fabric_(std::move(fabric)),
        connection_(address, name, session::inbox_of(fabric_, name),
                    {{session::watch_subjects(session::kLabelAnswers, fabric_),
                      [this](BusMessage message) { hear(std::move(message)); }}}) {}

  Result<void> wait_until_there() { return connection_.wait_until_there(kFirstConnection); }
  Result<void> send_to(std::string_view host, ByteSpan request) override {
    return connection_.publish(session::watch_subject(session::kLabels, fabric_, host), request);
  }
  std::vector<watch::AgentWord> answers(Nanoseconds limit) override {
    std::unique_lock lock(mutex_);
    arrived_.wait_for(lock, limit, [this] { return !unread_.empty(); });
    std::vector<watch::AgentWord> said;
    while (auto answer = unread_.take()) said.push_back({std::move(answer->from), std::move(answer->bytes)});
    return said;
  }

 private:
  void hear(BusMessage message) {
    auto host = session::name_in(message.subject, session::kLabelAnswers, fabric_);
    if (!host) return;
    const std::lock_guard lock(mutex_);
    if (unread_.add({std::move(*host), std::move(message.bytes)})) arrived_.notify_all();
  }

  const std::string fabric_;
  std::mutex mutex_;
  std::condition_variable arrived_;
  MessageQueue unread_{kUnread};
  KeptConnection connection_;  // last: its threads use all above
};

}  // namespace

Result<std::unique_ptr<watch::OperatorLink>> connect_operator_link(const NatsAddress& address,
                                                                   const std::string& fabric,
                                                                   const std::string& name) {
  WEFT_TRY_VOID(check_names(fabric, name));
  auto link = std::make_unique<Operator>(address, fabric, name);
  WEFT_TRY_VOID(link->wait_until_there());
  return std::unique_ptr<watch::OperatorLink>(std::move(link));
}

}  // namespace weft::bus
