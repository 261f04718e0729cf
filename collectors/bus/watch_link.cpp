#include "collectors/bus/watch_link.hpp"

#include <fmt/format.h>

#include <atomic>
#include <charconv>
#include <chrono>
#include <mutex>
#include <optional>
#include <random>
#include <utility>

#include "collectors/bus/bucket_lease.hpp"
#include "collectors/bus/jet_stream.hpp"
#include "collectors/bus/kept_connection.hpp"
#include "collectors/bus/message_queue.hpp"
#include "collectors/bus/parts.hpp"
#include "collectors/bus/stream_reader.hpp"
#include "collectors/bus/watch_streams.hpp"
#include "probes/session/subject.hpp"
#include "probes/session/watch_subjects.hpp"

namespace weft::bus {
namespace {

constexpr auto kFirstConnection = std::chrono::seconds(8);
constexpr auto kRequest = std::chrono::seconds(5);
constexpr auto kPause = std::chrono::milliseconds(50);
constexpr auto kValueRequest = std::chrono::seconds(3);
/// What agents say of themselves is short and seldom.
constexpr QueueLimits kUnreadWords{.of_sender = 100'000, .in_all = 32'000'000};
/// Those of a host with 64 NICs, once (counters::kMaxHostCounters); of a fleet of 3,000 hosts with 8 at the
/// same time.
constexpr QueueLimits kUnreadCounters{.of_sender = 264'000, .in_all = 96'000'000};
constexpr std::size_t kWordParts = 500'000;

/// What the threads of the library hand over; outlives the connection.
struct Mail {
  Mail(const std::string& fabric, const std::string& inbox, std::uint64_t behind)
      : windows(kWindowStream, session::watch_subjects(session::kWindows, fabric), inbox + ".windows",
                behind),
        events(kEventStream, session::watch_subjects(session::kEvents, fabric), inbox + ".events", 0) {}

  StreamReader windows;
  StreamReader events;
  std::mutex mutex;
  MessageQueue words{kUnreadWords};
  MessageQueue counters{kUnreadCounters};
};

/// What all parts share: the members end in the other order.
struct Shared {
  Shared(const NatsAddress& address, std::string of, const WatchLinkOptions& options)
      : fabric(std::move(of)),
        inbox(fmt::format("{}.{}", session::inbox_of(fabric, options.name), random_id())),
        mail(fabric, inbox, options.windows_behind),
        connection(address, options.name, inbox, listening(), [this] { lost(); }) {}

  std::vector<Listening> listening() {
    return {{inbox + ".windows.*", [this](BusMessage message) { mail.windows.heard(std::move(message)); }},
            {inbox + ".events.*", [this](BusMessage message) { mail.events.heard(std::move(message)); }},
            hears_agents(session::kSay, mail.words),
            hears_agents(session::kCounters, mail.counters)};
  }
  Listening hears_agents(std::string_view kind, MessageQueue& into) {
    return {session::watch_subjects(kind, fabric), [this, kind, &into](BusMessage message) {
              auto host = session::name_in(message.subject, kind, fabric);
              if (!host) return;
              const std::lock_guard lock(mail.mutex);
              into.add({std::move(*host), std::move(message.bytes)});
            }};
  }
  void lost() {
    mail.windows.lost();
    mail.events.lost();
  }

  const std::string fabric;
  const std::string inbox;
  Mail mail;
  KeptConnection connection;  // last: its threads use all above
};
using Share = std::shared_ptr<Shared>;

class Feed : public watch::WindowFeed {
 public:
  explicit Feed(Share shared) : shared_(std::move(shared)) {}

  Result<std::vector<watch::ReceivedWindow>> fetch(std::size_t most, Nanoseconds limit) override {
    if (most == 0) return std::vector<watch::ReceivedWindow>();
    WEFT_TRY_VOID(shared_->connection.wait_until_there(limit));
    WEFT_TRY(auto read, shared_->mail.windows.read(shared_->connection, most, std::max(limit, least())));
    std::vector<watch::ReceivedWindow> windows;
    windows.reserve(read.size());
    for (StreamMessage& message : read) {
      auto host = session::name_in(message.subject, session::kWindows, shared_->fabric);
      if (!host) continue;
      const auto bytes = std::as_bytes(std::span(message.bytes));
      windows.push_back({std::move(*host), message.sequence, {bytes.begin(), bytes.end()}});
    }
    return windows;
  }
  Result<void> skip() override { return shared_->mail.windows.skip(shared_->connection); }
  std::vector<watch::AgentWord> words() override { return take_all(shared_->mail.words); }
  std::vector<watch::AgentWord> counters() override { return take_all(shared_->mail.counters); }
  Result<void> send_to(std::string_view host, std::string_view text) override {
    const auto subject = session::watch_subject(session::kPlan, shared_->fabric, host);
    for (const auto& part : cut_into_parts(text, ++messages_, kWordParts))
      WEFT_TRY_VOID(shared_->connection.publish(subject, std::as_bytes(std::span(part))));
    return {};
  }

 private:
  std::vector<watch::AgentWord> take_all(MessageQueue& queue) {
    const std::lock_guard lock(shared_->mail.mutex);
    std::vector<watch::AgentWord> said;
    while (auto word = queue.take()) said.push_back({std::move(word->from), std::move(word->bytes)});
    return said;
  }
  /// One pull at least leaves and comes back.
  static Nanoseconds least() { return kPause; }

  Share shared_;
  std::uint32_t messages_ = std::random_device()();
};

class Events : public watch::EventLog {
 public:
  explicit Events(Share shared) : shared_(std::move(shared)) {}

  Result<std::uint64_t> append(std::uint64_t incident, std::uint64_t last, std::string_view text) override {
    WEFT_TRY(const auto ack, publish_expecting(shared_->connection, kEventStream, subject_of(incident), last,
                                               fmt::format("{}:{}", self_, ++writes_), text, kRequest));
    return ack.sequence;
  }
  Result<std::optional<watch::StoredEvent>> last_of(std::uint64_t incident) override {
    WEFT_TRY(auto last, last_message(shared_->connection, kEventStream, subject_of(incident), kRequest));
    if (!last) return std::optional<watch::StoredEvent>();
    return watch::StoredEvent{incident, last->sequence, std::move(last->bytes)};
  }
  Result<std::vector<watch::StoredEvent>> read_behind(std::uint64_t sequence, std::size_t most) override {
    if (most == 0) return std::vector<watch::StoredEvent>();
    StreamReader& reader = shared_->mail.events;
    reader.move_to(sequence);
    WEFT_TRY(auto read, reader.read(shared_->connection, most, Nanoseconds(0)));
    std::vector<watch::StoredEvent> events;
    for (StreamMessage& message : read) {
      const auto name = session::name_in(message.subject, session::kEvents, shared_->fabric);
      std::uint64_t incident = 0;
      if (!name || std::from_chars(name->data(), name->data() + name->size(), incident).ptr !=
                       name->data() + name->size())
        continue;
      events.push_back({incident, message.sequence, std::move(message.bytes)});
    }
    return events;
  }

 private:
  std::string subject_of(std::uint64_t incident) const {
    return session::watch_subject(session::kEvents, shared_->fabric, std::to_string(incident));
  }

  Share shared_;
  const std::string self_ = random_id();
  std::uint64_t writes_ = 0;
};

/// Keys are written as tokens of a subject, under `prefix`.
class BucketValue : public watch::SharedValue {
 public:
  BucketValue(std::shared_ptr<KeptConnection> connection, std::string prefix)
      : connection_(std::move(connection)), prefix_(std::move(prefix)) {}

  Result<Stored> get(std::string_view key) override {
    WEFT_TRY(auto stored, last_message(*connection_, kBucketStream, subject(key), kValueRequest));
    if (!stored) return Stored();
    return Stored{std::move(stored->bytes), stored->sequence};
  }
  Result<std::uint64_t> put(std::string_view key, std::uint64_t revision, std::string_view text) override {
    WEFT_TRY(const auto ack, publish_expecting(*connection_, kBucketStream, subject(key), revision,
                                               fmt::format("{}:{}", self_, ++writes_), text, kValueRequest));
    return ack.sequence;
  }

 private:
  std::string subject(std::string_view key) const { return prefix_ + session::subject_token(key); }

  std::shared_ptr<KeptConnection> connection_;
  const std::string prefix_;
  const std::string self_ = random_id();
  std::atomic<std::uint64_t> writes_ = 0;
};

}  // namespace

Result<WatchLink> connect_watch_link(const NatsAddress& address, const std::string& fabric,
                                     const WatchLinkOptions& options) {
  WEFT_TRY_VOID(check_names(fabric, options.name));
  const auto shared = std::make_shared<Shared>(address, fabric, options);
  const std::shared_ptr<KeptConnection> connection(shared, &shared->connection);
  WEFT_TRY_VOID(connection->wait_until_there(kFirstConnection));
  WEFT_TRY_VOID(ensure_streams(*connection, options.limits, kRequest));
  const auto in_bucket = subject_in_bucket(fabric, "");
  WatchLink link;
  link.feed = std::make_unique<Feed>(shared);
  link.events = std::make_unique<Events>(shared);
  link.lease = std::make_unique<BucketLease>(connection, in_bucket + "lease", options.lease_time);
  link.values = std::make_unique<BucketValue>(connection, in_bucket + "value.");
  return link;
}

}  // namespace weft::bus
