#include "collectors/bus/nats_bus.hpp"

#include <nats/nats.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <random>

#include "collectors/bus/message_queue.hpp"
#include "collectors/bus/nats_login.hpp"
#include "collectors/bus/parts.hpp"
#include "probes/session/messages_json.hpp"
#include "probes/session/subject.hpp"
#include "topology/base/json_members.hpp"
#include "topology/base/outside_text.hpp"

namespace weft::bus {

template <class Io>
static void members(Io& io, BusLogin& m) {
  io("user", m.user);
  io("password", m.password);
  io("certificate", m.certificate);
}

namespace {

constexpr JsonLimits kLogin{.bytes = 16'384, .depth = 1, .values = 10};

constexpr std::int64_t kConnectTimeoutMs = 3000;
constexpr std::int64_t kMinTryMs = 10;  // of one that begins when the time is over
constexpr int kConnects = 4;            // of a server that is there and slower than the library waits for it
constexpr int kReconnects = 10;
constexpr int kReconnectWaitMs = 300;
constexpr int kWriteDeadlineMs = 4000;  // a path that went dark must not hold the signs of life for longer
/// Of a server's limit: room for the subject and what the protocol adds.
constexpr std::size_t kEnvelope = 10'000;
/// One sender may have two of the longest messages under way, in parts or unread; a hundred thousand short
/// ones are more than a wave of results of the largest lab. All together stay below what a head node can
/// spare.
constexpr JoinLimits kUnfinished{.message = session::kMaxMessageBytes,
                                 .of_sender = 2 * session::kMaxMessageBytes,
                                 .in_all = 8 * session::kMaxMessageBytes};
constexpr QueueLimits kUnread{.of_sender = 2 * session::kMaxMessageBytes,
                              .in_all = 8 * session::kMaxMessageBytes};

/// What a busy server, or a busy host, makes of a connection that would do: the library gave up in the
/// middle.
/// By chance a signature with a first byte of zero is not sent, and the login refused (libnats 3.4.1): one of
/// 256.
bool may_be_chance(natsStatus status, const NatsAddress& address) {
  return status == NATS_CONNECTION_AUTH_FAILED && std::holds_alternative<BusKey>(address.credential);
}
bool may_do_better(natsStatus status) {
  return status == NATS_PROTOCOL_ERROR || status == NATS_TIMEOUT || status == NATS_IO_ERROR ||
         status == NATS_CONNECTION_CLOSED || status == NATS_CONNECTION_DISCONNECTED;
}

using Options = std::unique_ptr<natsOptions, Destroyer<natsOptions_Destroy>>;
using Connection = std::unique_ptr<natsConnection, Destroyer<natsConnection_Destroy>>;
using Subscription = std::unique_ptr<natsSubscription, Destroyer<natsSubscription_Destroy>>;

/// Milliseconds for one try, as the limits are now; 0: they are over.
std::int64_t left_of(const ConnectLimits& limits) {
  if (limits.stop.stop_requested()) return 0;
  if (!limits.until) return kConnectTimeoutMs;
  const auto left = *limits.until - std::chrono::steady_clock::now();
  return std::clamp<std::int64_t>(std::chrono::ceil<std::chrono::milliseconds>(left).count(), 0,
                                  kConnectTimeoutMs);
}

/// What the library's threads hand over to receive() and deliver().
class Inbox {
 public:
  Inbox(RunId run, std::string self) : run_(run), self_(std::move(self)) {}

  /// Whether a message is whole now, and receive() gives it.
  bool add(session::Incoming message) {
    const std::lock_guard lock(mutex_);
    auto whole = joiner_.add(message.from, std::move(message.bytes));
    if (!whole) return false;
    message.bytes = std::move(*whole);
    if (!messages_.add(std::move(message))) return false;
    arrived_.notify_all();
    return true;
  }
  /// Whether `from` asked for an acknowledgement there: nobody is told anywhere else.
  bool is_own_acknowledgement(std::string_view subject, std::string_view from) const {
    const auto asked = session::acknowledgement_in(subject);
    return asked && subject == session::acknowledgement_subject(run_, from, self_, asked->number);
  }

  void expect(std::uint32_t number, std::string_view from) {
    const std::lock_guard lock(mutex_);
    expected_[number] = {std::string(from)};
  }
  /// `there`: else the server knows nobody of that name.
  void note(const session::Acknowledgement& told, bool there) {
    const std::lock_guard lock(mutex_);
    const auto expected = expected_.find(told.number);
    if (expected == expected_.end() || expected->second.from != told.from || !expected->second.open) return;
    expected->second = {told.from, false, there};
    arrived_.notify_all();
  }
  /// By the numbers: whether each has come.
  std::vector<bool> await(const std::vector<std::uint32_t>& numbers, Nanoseconds limit) {
    std::unique_lock lock(mutex_);
    auto open = numbers.begin();  // it is asked of each once, however many come in between
    arrived_.wait_for(lock, limit, [&] {
      open = std::find_if(open, numbers.end(), [&](auto number) { return expected_[number].open; });
      return closed_ || open == numbers.end();
    });
    std::vector<bool> come;
    for (const std::uint32_t number : numbers) {
      come.push_back(expected_[number].there);
      expected_.erase(number);
    }
    return come;
  }

  void close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    arrived_.notify_all();
  }
  Result<std::optional<session::Incoming>> next(Nanoseconds limit) {
    std::unique_lock lock(mutex_);
    arrived_.wait_for(lock, limit, [this] { return closed_ || !messages_.empty(); });
    if (!messages_.empty()) return messages_.take();
    if (closed_) return connection_lost();
    return std::optional<session::Incoming>();
  }

 private:
  struct Expected {
    std::string from;
    bool open = true;
    bool there = false;
  };
  const RunId run_;
  const std::string self_;
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::map<std::uint32_t, Expected> expected_;  // acknowledgements, by the message's number
  MessageQueue messages_{kUnread};
  PartJoiner joiner_{kUnfinished};
  bool closed_ = false;
};

/// The library's threads call back also after the connection was closed: a subscription's callbacks and the
/// connection's have a share of the inbox each, until the last of them.
using InboxShare = std::shared_ptr<Inbox>;

void on_message(natsConnection* connection, natsSubscription*, natsMsg* message, void* share) {
  Inbox& inbox = **static_cast<InboxShare*>(share);
  const auto from = session::sender_of(natsMsg_GetSubject(message));
  const char* reply = natsMsg_GetReply(message);
  if (from &&
      inbox.add({*from, std::string(natsMsg_GetData(message),
                                    static_cast<std::size_t>(natsMsg_GetDataLength(message)))}) &&
      reply != nullptr && inbox.is_own_acknowledgement(reply, *from))
    natsConnection_Publish(connection, reply, nullptr, 0);
  natsMsg_Destroy(message);
}

void on_acknowledgement(natsConnection*, natsSubscription*, natsMsg* message, void* share) {
  if (const auto told = session::acknowledgement_in(natsMsg_GetSubject(message)))
    (*static_cast<InboxShare*>(share))->note(*told, !natsMsg_IsNoResponders(message));
  natsMsg_Destroy(message);
}

void on_last_message(void* share) { delete static_cast<InboxShare*>(share); }

void on_closed(natsConnection*, void* share) {
  const std::unique_ptr<InboxShare> last(static_cast<InboxShare*>(share));
  (*last)->close();
}

class NatsBus : public session::Bus {
 public:
  NatsBus(RunId run, std::string self)
      : run_(run), self_(std::move(self)), inbox_(std::make_shared<Inbox>(run_, self_)) {}

  ~NatsBus() override {
    // Let what was said last still leave.
    if (connection_) natsConnection_FlushTimeout(connection_.get(), 500);
    acknowledgements_.reset();
    messages_.reset();
    if (connection_) natsConnection_Close(connection_.get());
    connection_.reset();
    nats_ReleaseThreadMemory();
  }

  Result<void> connect(const NatsAddress& address, const ConnectLimits& limits) {
    address_ = address;
    natsOptions* raw = nullptr;
    if (natsOptions_Create(&raw) != NATS_OK)
      return fail(ErrorKind::internal, "no memory for a NATS connection");
    const Options options(raw);
    natsOptions_SetURL(raw, address.url.c_str());
    WEFT_TRY_VOID(use_login(raw, address_.credential));
    natsOptions_SetMaxReconnect(raw, kReconnects);
    natsOptions_SetReconnectWait(raw, kReconnectWaitMs);
    natsOptions_SetWriteDeadline(raw, kWriteDeadlineMs);
    auto for_closing = std::make_unique<InboxShare>(inbox_);
    natsOptions_SetClosedCB(raw, on_closed, for_closing.get());
    natsOptions_SetName(raw, self_.c_str());
    natsConnection* connection = nullptr;
    auto status = try_to_connect(&connection, raw, limits);
    if (status != NATS_OK) return refused_by(address, status);
    connection_.reset(connection);
    (void)for_closing.release();  // to on_closed: closing calls it once
    status = subscribe(messages_, session::subscription_of(run_, self_), on_message);
    if (status == NATS_OK)
      status = subscribe(acknowledgements_, session::subscription_to_acknowledgements(run_, self_),
                         on_acknowledgement);
    if (status != NATS_OK) return refused_by(address, status);
    // The server knows the subscriptions before anyone is told that we are here, and has refused them if it
    // will.
    if (const auto flushed = natsConnection_FlushTimeout(connection, std::max(left_of(limits), kMinTryMs));
        flushed != NATS_OK)
      return refused_by(address, flushed);
    const char* words = nullptr;
    if (const auto last = natsConnection_GetLastError(connection, &words); last == NATS_NOT_PERMITTED)
      return refused_by(address, last);
    return {};
  }

  Result<void> send(std::string_view to, std::string_view bytes) override {
    return publish(to, bytes, ++last_number_, nullptr);
  }

  Result<std::vector<session::OutgoingMessage>> deliver(std::vector<session::OutgoingMessage> messages,
                                                        Nanoseconds limit) override {
    std::vector<std::uint32_t> numbers;
    Result<void> published;
    for (const session::OutgoingMessage& message : messages) {
      const std::uint32_t number = numbers.emplace_back(++last_number_);
      inbox_->expect(number, message.to);
      const auto reply = session::acknowledgement_subject(run_, self_, message.to, number);
      published = publish(message.to, message.bytes, number, reply.c_str());
      if (!published) break;
    }
    const auto come = inbox_->await(numbers, published ? limit : Nanoseconds(0));
    WEFT_TRY_VOID(published);
    std::vector<session::OutgoingMessage> left;
    for (std::size_t i = 0; i < messages.size(); ++i)
      if (!come[i]) left.push_back(std::move(messages[i]));
    return left;
  }

  Result<std::optional<session::Incoming>> receive(Nanoseconds limit) override { return inbox_->next(limit); }

 private:
  natsStatus try_to_connect(natsConnection** connection, natsOptions* options, const ConnectLimits& limits) {
    for (int tries = 1;; ++tries) {
      natsOptions_SetTimeout(options, std::max(left_of(limits), kMinTryMs));
      const auto status = natsConnection_Connect(connection, options);
      const bool again = may_do_better(status) || may_be_chance(status, address_);
      if (!again || tries == kConnects || left_of(limits) <= 0) return status;
      nats_Sleep(std::min<std::int64_t>(kReconnectWaitMs, left_of(limits)));
    }
  }

  natsStatus subscribe(Subscription& into, const std::string& subject, natsMsgHandler handler) {
    auto share = std::make_unique<InboxShare>(inbox_);
    natsSubscription* subscription = nullptr;
    auto status =
        natsConnection_Subscribe(&subscription, connection_.get(), subject.c_str(), handler, share.get());
    if (status != NATS_OK) return status;
    into.reset(subscription);
    return natsSubscription_SetOnCompleteCB(subscription, on_last_message, share.release());
  }

  /// With `reply`, the receiver's acknowledgement of the last part is that of the message.
  Result<void> publish(std::string_view to, std::string_view bytes, std::uint32_t number, const char* reply) {
    if (bytes.size() > session::kMaxMessageBytes)
      return fail(ErrorKind::internal, "a message of {} bytes to {} is longer than {}", bytes.size(), to,
                  session::kMaxMessageBytes);
    const auto subject = session::subject_of(run_, to, self_);
    const auto parts = cut_into_parts(bytes, number, most_at_once());
    for (const std::string& part : parts) {
      const auto size = static_cast<int>(part.size());
      const auto status =
          reply != nullptr && &part == &parts.back()
              ? natsConnection_PublishRequest(connection_.get(), subject.c_str(), reply, part.data(), size)
              : natsConnection_Publish(connection_.get(), subject.c_str(), part.data(), size);
      if (status == NATS_OK) continue;
      if (status == NATS_CONNECTION_CLOSED) return connection_lost();
      return fail(ErrorKind::internal, "a message of {} bytes to {} was not sent: {}", bytes.size(), to,
                  natsStatus_GetText(status));
    }
    return {};
  }

  /// The server's own limit, 1 MB unless it was set otherwise.
  std::size_t most_at_once() const {
    const auto limit =
        static_cast<std::size_t>(std::max<std::int64_t>(natsConnection_GetMaxPayload(connection_.get()), 0));
    return limit > 2 * kEnvelope ? limit - kEnvelope : kEnvelope;
  }

  RunId run_;
  std::string self_;
  /// From a number by chance on: another participant of the same name, or one before it, has others, whose
  /// acknowledgements and parts are not taken for these.
  std::atomic<std::uint32_t> last_number_ = std::random_device()();
  InboxShare inbox_;
  NatsAddress address_;  // its key signs whenever the connection is made again
  Connection connection_;
  Subscription messages_;
  Subscription acknowledgements_;
};

}  // namespace

std::string credential_line(const BusCredential& credential) {
  if (const auto* token = std::get_if<std::string>(&credential)) return *token;
  // JSON writes the line ends of a certificate as \n.
  return json_members::to_text(json_members::write_value(std::get<BusLogin>(credential)));
}

Result<BusCredential> read_credential(std::string_view line) {
  if (!line.starts_with('{')) return BusCredential(std::string(line));
  constexpr std::string_view kWhat = "the credential begins with '{', as a login does, and is none";
  const auto value = json_members::parse(line, kLogin, "the line");
  if (!value) return pass_on(value, kWhat);
  WEFT_TRY(auto login, json_members::read_as<BusLogin>(*value, kWhat));
  const auto known = json_members::write_value(login);
  for (const auto& [name, member] : value->items())
    if (!known.contains(name))
      return fail(ErrorKind::invalid_input, "{}: no login has a member '{}'", kWhat, outside_text(name));
  return BusCredential(std::move(login));
}

Result<std::unique_ptr<session::Bus>> connect_nats(const NatsAddress& address, RunId run,
                                                   const std::string& self, const ConnectLimits& limits) {
  auto bus = std::make_unique<NatsBus>(run, self);
  WEFT_TRY_VOID(bus->connect(address, limits));
  return std::unique_ptr<session::Bus>(std::move(bus));
}

}  // namespace weft::bus
