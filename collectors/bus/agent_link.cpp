#include "collectors/bus/agent_link.hpp"

#include <fmt/format.h>

#include <charconv>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <random>

#include "collectors/bus/bus_key.hpp"
#include "collectors/bus/kept_connection.hpp"
#include "collectors/bus/message_queue.hpp"
#include "collectors/bus/parts.hpp"
#include "collectors/bus/under_way.hpp"
#include "collectors/bus/watch_streams.hpp"
#include "probes/session/watch_subjects.hpp"
#include "probes/watch/label_messages.hpp"
#include "topology/os/clocks.hpp"

namespace weft::bus {
namespace {

constexpr auto kFirstConnection = std::chrono::seconds(4);
constexpr auto kLastWords = std::chrono::milliseconds(500);
/// A plan for a host of 8 NICs is some 100 kB of JSON: a few may wait.
constexpr JoinLimits kUnfinished{.message = 16'000'000, .of_sender = 16'000'000, .in_all = 16'000'000};
constexpr QueueLimits kUnread{.of_sender = 16'000'000, .in_all = 16'000'000};
/// An operator sends what was not answered again: a few of the longest may wait.
constexpr QueueLimits kUnreadRequests{.of_sender = 4 * watch::kMaxLabelRequest,
                                      .in_all = 4 * watch::kMaxLabelRequest};

class Agent : public watch::AgentLink {
 public:
  Agent(const NatsAddress& address, const std::string& fabric, const std::string& host)
      : host_(host),
        windows_(session::watch_subject(session::kWindows, fabric, host)),
        say_(session::watch_subject(session::kSay, fabric, host)),
        counters_(session::watch_subject(session::kCounters, fabric, host)),
        label_answers_(session::watch_subject(session::kLabelAnswers, fabric, host)),
        answers_(fmt::format("{}.ack.{:08x}{:08x}.", session::inbox_of(fabric, host), std::random_device()(),
                             std::random_device()())),
        connection_(address, host, session::inbox_of(fabric, host),
                    {{session::watch_subject(session::kPlan, fabric, host),
                      [this](BusMessage message) { hear(std::move(message)); }},
                     {answers_ + "*", [this](const BusMessage& message) { note(message); }},
                     {session::watch_subject(session::kLabels, fabric, host),
                      [this](BusMessage message) { hear_request(std::move(message)); }, true}},
                    [this] { under_way_.lose_all(); }) {
    static_cast<void>(connection_.wait_until_there(kFirstConnection));
  }
  ~Agent() override { static_cast<void>(connection_.flush(kLastWords)); }

  Result<void> publish(watch::MessageId id, ByteSpan window) override {
    WEFT_TRY(const auto number, under_way_.add(id, window.size(), os::steady_now()));
    const auto sent =
        connection_.publish(windows_, window, answers_ + std::to_string(number),
                            {{"Nats-Msg-Id", fmt::format("{}:{}:{}", host_, id.boot, id.number)},
                             {"Nats-Expected-Stream", std::string(kWindowStream)}});
    if (!sent) under_way_.take_back(number);
    return sent;
  }
  std::vector<watch::MessageId> acknowledged() override { return under_way_.acknowledged(); }
  std::vector<watch::MessageId> failed() override { return under_way_.failed(os::steady_now()); }

  Result<std::optional<std::string>> next_word(Nanoseconds limit) override {
    std::unique_lock lock(mutex_);
    arrived_.wait_for(lock, limit, [this] { return !words_.empty(); });
    auto next = words_.take();
    return next ? std::optional(std::move(next->bytes)) : std::nullopt;
  }
  Result<void> send_text(std::string_view text) override {
    return connection_.publish(say_, std::as_bytes(std::span(text)));
  }
  Result<void> report_counters(std::string_view text) override {
    return connection_.publish(counters_, std::as_bytes(std::span(text)));
  }
  std::optional<std::string> next_label_request() override {
    const std::lock_guard lock(mutex_);
    auto next = label_requests_.take();
    return next ? std::optional(std::move(next->bytes)) : std::nullopt;
  }
  Result<void> answer_labels(std::string_view text) override {
    return connection_.publish(label_answers_, std::as_bytes(std::span(text)));
  }

 private:
  void hear(BusMessage message) {
    const std::lock_guard lock(mutex_);
    auto whole = joiner_.add("watcher", std::move(message.bytes));
    if (whole && words_.add({"watcher", std::move(*whole)})) arrived_.notify_all();
  }
  void hear_request(BusMessage message) {
    const std::lock_guard lock(mutex_);
    label_requests_.add({"operator", std::move(message.bytes)});
  }
  void note(const BusMessage& message) {
    std::uint64_t number = 0;
    const auto* begin = message.subject.data() + answers_.size();
    const auto* end = message.subject.data() + message.subject.size();
    if (std::from_chars(begin, end, number).ptr == end)
      under_way_.answer(number, is_kept(message.bytes, kWindowStream));
  }

  const std::string host_;
  const std::string windows_;
  const std::string say_;
  const std::string counters_;
  const std::string label_answers_;
  const std::string answers_;  // by chance: nobody else can have an acknowledgement sent there
  UnderWay under_way_{UnderWay::Limits()};
  std::mutex mutex_;
  std::condition_variable arrived_;
  MessageQueue words_{kUnread};
  MessageQueue label_requests_{kUnreadRequests};
  PartJoiner joiner_{kUnfinished};
  KeptConnection connection_;  // last: its threads use all above
};

}  // namespace

Result<std::unique_ptr<watch::AgentLink>> connect_agent_link(const NatsAddress& address,
                                                             const std::string& fabric,
                                                             const std::string& host) {
  WEFT_TRY_VOID(check_names(fabric, host));
  if (const auto* key = std::get_if<BusKey>(&address.credential))
    WEFT_TRY_VOID(public_key_of(key->seed).map([](const auto&) {}));
  return std::unique_ptr<watch::AgentLink>(std::make_unique<Agent>(address, fabric, host));
}

}  // namespace weft::bus
