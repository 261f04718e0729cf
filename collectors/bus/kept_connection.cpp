#include "collectors/bus/kept_connection.hpp"

#include <fmt/format.h>
#include <nats/nats.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <random>
#include <stop_token>
#include <thread>

#include "collectors/bus/nats_login.hpp"

namespace weft::bus {
namespace {

constexpr int kConnectTimeoutMs = 3000;
constexpr int kWriteDeadlineMs = 2000;  // a path that went dark holds nobody for longer
constexpr int kPingEveryMs = 5000;      // with two unanswered the connection is given up
constexpr auto kFirstPause = std::chrono::milliseconds(100);
constexpr auto kMaxPause = std::chrono::milliseconds(3000);
constexpr int kRefusalsInARow = 3;  // by chance: one of 16 million, and then it is tried again all the same

using Options = std::unique_ptr<natsOptions, Destroyer<natsOptions_Destroy>>;
using Subscription = std::unique_ptr<natsSubscription, Destroyer<natsSubscription_Destroy>>;
using Message = std::unique_ptr<natsMsg, Destroyer<natsMsg_Destroy>>;

std::string text_of(const char* text) { return text == nullptr ? std::string() : std::string(text); }

BusMessage read_message(natsMsg* message) {
  BusMessage read{text_of(natsMsg_GetSubject(message)), text_of(natsMsg_GetReply(message)), {}, {}};
  if (const int size = natsMsg_GetDataLength(message); size > 0)
    read.bytes.assign(natsMsg_GetData(message), static_cast<std::size_t>(size));
  const char* status = nullptr;
  if (read.bytes.empty() && natsMsgHeader_Get(message, "Status", &status) == NATS_OK) read.status = status;
  return read;
}

/// What callbacks of the library share with the connection: they may come after it has gone.
struct Signals {
  std::mutex mutex;
  std::condition_variable_any changed;
  bool closed = false;
};
using SignalsShare = std::shared_ptr<Signals>;

void on_closed(natsConnection*, void* share) {
  const std::unique_ptr<SignalsShare> last(static_cast<SignalsShare*>(share));
  const std::lock_guard lock((*last)->mutex);
  (*last)->closed = true;
  (*last)->changed.notify_all();
}

/// The way of messages to who hears them. Closed, it waits for the call under way and lets no other through.
class Gate {
 public:
  explicit Gate(std::function<void(BusMessage)> heard) : heard_(std::move(heard)) {}
  void pass(BusMessage message) {
    const std::lock_guard lock(mutex_);
    if (heard_) heard_(std::move(message));
  }
  void close() {
    const std::lock_guard lock(mutex_);
    heard_ = nullptr;
  }

 private:
  std::mutex mutex_;
  std::function<void(BusMessage)> heard_;
};
using GateShare = std::shared_ptr<Gate>;

void on_message(natsConnection*, natsSubscription*, natsMsg* raw, void* share) {
  const Message message(raw);
  (*static_cast<GateShare*>(share))->pass(read_message(raw));
}
void on_last_message(void* share) { delete static_cast<GateShare*>(share); }

/// One connection, from its making to its end.
class Session {
 public:
  ~Session() {
    for (const GateShare& gate : gates_) gate->close();
    subscriptions_.clear();
    if (connection_ == nullptr) return;
    natsConnection_Close(connection_);
    natsConnection_Destroy(connection_);
  }
  natsConnection* get() const { return connection_; }

  Result<void> open(const NatsAddress& address, const std::string& name, const std::string& inbox,
                    const SignalsShare& signals) {
    natsOptions* raw = nullptr;
    if (natsOptions_Create(&raw) != NATS_OK)
      return fail(ErrorKind::internal, "no memory for a NATS connection");
    const Options options(raw);
    natsOptions_SetURL(raw, address.url.c_str());
    WEFT_TRY_VOID(use_login(raw, address.credential));
    natsOptions_SetName(raw, name.c_str());
    natsOptions_SetTimeout(raw, kConnectTimeoutMs);
    natsOptions_SetAllowReconnect(raw, false);
    natsOptions_SetWriteDeadline(raw, kWriteDeadlineMs);
    natsOptions_SetPingInterval(raw, kPingEveryMs);
    natsOptions_SetCustomInboxPrefix(raw, inbox.c_str());
    auto for_closing = std::make_unique<SignalsShare>(signals);
    natsOptions_SetClosedCB(raw, on_closed, for_closing.get());
    if (const auto status = natsConnection_Connect(&connection_, raw); status != NATS_OK)
      return refused_by(address, status);
    (void)for_closing.release();  // to on_closed: closing calls it once
    return {};
  }
  Result<void> listen(const NatsAddress& address, const std::vector<Listening>& listening) {
    for (const Listening& each : listening)
      if (!each.may_be_refused) WEFT_TRY_VOID(listen(address, each));
    WEFT_TRY_VOID(flush(address));
    const char* words = nullptr;
    if (natsConnection_GetLastError(connection_, &words) == NATS_NOT_PERMITTED)
      return refused_by(address, NATS_NOT_PERMITTED);
    for (const Listening& each : listening)
      if (each.may_be_refused) WEFT_TRY_VOID(listen(address, each));
    return flush(address);
  }

 private:
  Result<void> listen(const NatsAddress& address, const Listening& to) {
    auto gate = std::make_unique<GateShare>(std::make_shared<Gate>(to.heard));
    natsSubscription* subscription = nullptr;
    const auto status =
        natsConnection_Subscribe(&subscription, connection_, to.subject.c_str(), on_message, gate.get());
    if (status != NATS_OK) return refused_by(address, status);
    subscriptions_.emplace_back(subscription);
    gates_.push_back(*gate);
    natsSubscription_SetOnCompleteCB(subscription, on_last_message, gate.release());
    return {};
  }
  Result<void> flush(const NatsAddress& address) {
    const auto status = natsConnection_FlushTimeout(connection_, kConnectTimeoutMs);
    return status == NATS_OK ? Result<void>() : refused_by(address, status);
  }

  natsConnection* connection_ = nullptr;
  std::vector<Subscription> subscriptions_;
  std::vector<GateShare> gates_;
};

}  // namespace

class KeptConnection::Impl {
 public:
  Impl(NatsAddress address, std::string name, std::string inbox, std::vector<Listening> listening,
       std::function<void()> lost)
      : address_(std::move(address)),
        name_(std::move(name)),
        inbox_(std::move(inbox)),
        listening_(std::move(listening)),
        lost_(std::move(lost)),
        keeper_([this](const std::stop_token& stop) { keep(stop); }) {}

  Result<void> wait_until_there(Nanoseconds limit) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, limit, [this] { return session_ != nullptr || refusals_ >= kRefusalsInARow; });
    if (session_) return {};
    return tl::unexpected<Error>(why_);
  }
  Result<std::shared_ptr<Session>> session() {
    const std::lock_guard lock(mutex_);
    if (session_) return session_;
    return tl::unexpected<Error>(why_);
  }
  const NatsAddress& address() const { return address_; }
  std::string new_inbox(std::string_view purpose) {
    return fmt::format("{}.{}{:016x}{:08x}", inbox_, purpose, chance_, ++inboxes_);
  }

 private:
  void keep(const std::stop_token& stop) {
    auto pause = Nanoseconds(kFirstPause);
    std::minstd_rand draw(static_cast<unsigned>(chance_));
    while (!stop.stop_requested()) {
      if (run_once(stop)) pause = kFirstPause;
      // All agents of a fabric lose the server at once: they do not come back at once.
      const auto drawn =
          pause / 2 + Nanoseconds(std::uniform_int_distribution<std::int64_t>(0, pause.count() / 2)(draw));
      std::unique_lock lock(mutex_);
      changed_.wait_for(lock, stop, drawn, [] { return false; });
      pause = std::min(2 * pause, Nanoseconds(kMaxPause));
    }
    nats_ReleaseThreadMemory();
  }
  /// Whether it stood.
  bool run_once(const std::stop_token& stop) {
    const auto signals = std::make_shared<Signals>();
    auto session = std::make_shared<Session>();
    const auto opened = in_turn([&] { return session->open(address_, name_, inbox_, signals); },
                                [&] { return session->listen(address_, listening_); });
    {
      const std::lock_guard lock(mutex_);
      if (opened) session_ = session;
      why_ = opened ? connection_lost().value() : opened.error();
      refusals_ = !opened && opened.error().kind == ErrorKind::permission ? refusals_ + 1 : 0;
      changed_.notify_all();
    }
    if (!opened) return false;
    {
      std::unique_lock lock(signals->mutex);
      signals->changed.wait(lock, stop, [&] { return signals->closed; });
    }
    {
      const std::lock_guard lock(mutex_);
      session_.reset();
    }
    session.reset();
    lost_();
    return true;
  }

  const NatsAddress address_;
  const std::string name_;
  const std::string inbox_;
  const std::vector<Listening> listening_;
  const std::function<void()> lost_;
  const std::uint64_t chance_ = std::uint64_t{std::random_device()()} << 32 | std::random_device()();
  std::atomic<std::uint32_t> inboxes_ = 0;
  std::mutex mutex_;  // of all below
  std::condition_variable_any changed_;
  std::shared_ptr<Session> session_;  // while it stands
  Error why_{ErrorKind::absent, "no connection to the NATS server yet"};
  int refusals_ = 0;
  std::jthread keeper_;
};

namespace {

Result<Message> make_message(const std::string& subject, ByteSpan bytes, const std::string& reply,
                             const Headers& headers) {
  natsMsg* raw = nullptr;
  auto status = natsMsg_Create(&raw, subject.c_str(), reply.empty() ? nullptr : reply.c_str(),
                               reinterpret_cast<const char*>(bytes.data()), static_cast<int>(bytes.size()));
  Message message(raw);
  for (const auto& [name, value] : headers)
    if (status == NATS_OK) status = natsMsgHeader_Set(raw, name.c_str(), value.c_str());
  if (status != NATS_OK)
    return fail(ErrorKind::internal, "a message to {} cannot be made: {}", subject,
                natsStatus_GetText(status));
  return message;
}

Result<void> check_size(natsConnection* connection, const std::string& subject, std::size_t size) {
  const auto most = natsConnection_GetMaxPayload(connection);
  if (most > 0 && size > static_cast<std::size_t>(most))
    return fail(
        ErrorKind::invalid_input,
        "a message of {} bytes to {} is longer than the NATS server takes ({}): set max_payload there", size,
        subject, most);
  return {};
}

tl::unexpected<Error> not_sent(const NatsAddress& address, const std::string& subject, natsStatus status) {
  if (status == NATS_TIMEOUT)
    return fail(ErrorKind::timeout, "the NATS server at {} does not answer on {} in time", address.url,
                subject);
  if (status == NATS_NO_RESPONDERS)
    return fail(ErrorKind::not_supported,
                "nobody serves {} at {}: is JetStream switched on in nats-server's configuration?", subject,
                address.url);
  if (status == NATS_CONNECTION_CLOSED || status == NATS_CONNECTION_DISCONNECTED || status == NATS_IO_ERROR)
    return connection_lost();
  return fail(ErrorKind::absent, "a message to {} was not sent to the NATS server at {}: {}", subject,
              address.url, natsStatus_GetText(status));
}

std::int64_t milliseconds(Nanoseconds limit) {
  return std::max<std::int64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(limit).count(), 1);
}

}  // namespace

KeptConnection::KeptConnection(NatsAddress address, std::string name, std::string inbox,
                               std::vector<Listening> listening, std::function<void()> lost)
    : impl_(std::make_unique<Impl>(std::move(address), std::move(name), std::move(inbox),
                                   std::move(listening), std::move(lost))) {}
KeptConnection::~KeptConnection() = default;

Result<void> KeptConnection::wait_until_there(Nanoseconds limit) { return impl_->wait_until_there(limit); }

Result<void> KeptConnection::publish(const std::string& subject, ByteSpan bytes, const std::string& reply,
                                     const Headers& headers) {
  WEFT_TRY(const auto session, impl_->session());
  WEFT_TRY_VOID(check_size(session->get(), subject, bytes.size()));
  WEFT_TRY(const auto message, make_message(subject, bytes, reply, headers));
  const auto status = natsConnection_PublishMsg(session->get(), message.get());
  if (status != NATS_OK) return not_sent(impl_->address(), subject, status);
  return {};
}

Result<BusMessage> KeptConnection::request(const std::string& subject, std::string_view bytes,
                                           Nanoseconds limit, const Headers& headers) {
  WEFT_TRY(const auto session, impl_->session());
  WEFT_TRY_VOID(check_size(session->get(), subject, bytes.size()));
  WEFT_TRY(const auto message, make_message(subject, std::as_bytes(std::span(bytes)), {}, headers));
  natsMsg* raw = nullptr;
  const auto status = natsConnection_RequestMsg(&raw, session->get(), message.get(), milliseconds(limit));
  const Message answer(raw);
  if (status != NATS_OK) return not_sent(impl_->address(), subject, status);
  return read_message(raw);
}

Result<void> KeptConnection::flush(Nanoseconds limit) {
  WEFT_TRY(const auto session, impl_->session());
  const auto status = natsConnection_FlushTimeout(session->get(), milliseconds(limit));
  if (status != NATS_OK) return not_sent(impl_->address(), "a flush", status);
  return {};
}

std::string KeptConnection::new_inbox(std::string_view purpose) { return impl_->new_inbox(purpose); }

}  // namespace weft::bus
