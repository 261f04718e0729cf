#include "collectors/bus/nats_bus.hpp"

#include <nats/nats.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>

#include "collectors/bus/message_queue.hpp"
#include "collectors/bus/parts.hpp"
#include "collectors/bus/run_certificate.hpp"
#include "probes/session/messages_json.hpp"
#include "probes/session/subject.hpp"

namespace weft {
namespace {

using Json = nlohmann::json;
constexpr const char* kMembers[] = {"user", "password", "certificate"};

constexpr int kConnectTimeoutMs = 3000;
constexpr int kReconnects = 10;
constexpr int kReconnectWaitMs = 300;
/// Of a server's limit: room for the subject and what the protocol adds.
constexpr std::size_t kEnvelope = 10'000;
/// One sender may have two of the longest messages under way, in parts or unread; a hundred thousand short
/// ones are more than a wave of results of the largest lab. All together stay below what a head node can
/// spare.
constexpr JoinLimits kUnfinished{
    .message = kMaxMessageBytes, .of_sender = 2 * kMaxMessageBytes, .in_all = 8 * kMaxMessageBytes};
constexpr QueueLimits kUnread{.of_sender = 2 * kMaxMessageBytes, .in_all = 8 * kMaxMessageBytes};

template <auto Destroy>
struct Destroyer {
  template <class T>
  void operator()(T* object) const {
    Destroy(object);
  }
};
using Options = std::unique_ptr<natsOptions, Destroyer<natsOptions_Destroy>>;
using Connection = std::unique_ptr<natsConnection, Destroyer<natsConnection_Destroy>>;
using Subscription = std::unique_ptr<natsSubscription, Destroyer<natsSubscription_Destroy>>;

/// What the library's threads hand over to receive().
class Inbox {
 public:
  void add(Incoming message) {
    const std::lock_guard lock(mutex_);
    auto whole = joiner_.add(message.from, std::move(message.bytes));
    if (!whole) return;
    message.bytes = std::move(*whole);
    if (messages_.add(std::move(message))) arrived_.notify_one();
  }
  void close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    arrived_.notify_all();
  }
  Result<std::optional<Incoming>> next(Nanoseconds limit) {
    std::unique_lock lock(mutex_);
    arrived_.wait_for(lock, limit, [this] { return closed_ || !messages_.empty(); });
    if (!messages_.empty()) return messages_.take();
    if (closed_)
      return fail(ErrorKind::absent,
                  "the connection to the NATS server is lost: is nats-server still running?");
    return std::optional<Incoming>();
  }

 private:
  std::mutex mutex_;
  std::condition_variable arrived_;
  MessageQueue messages_{kUnread};
  PartJoiner joiner_{kUnfinished};
  bool closed_ = false;
};

/// The library's threads call back also after the connection was closed: a subscription's callbacks and the
/// connection's have a share of the inbox each, until the last of them.
using InboxShare = std::shared_ptr<Inbox>;

void on_message(natsConnection*, natsSubscription*, natsMsg* message, void* share) {
  if (auto from = sender_of(natsMsg_GetSubject(message)))
    (*static_cast<InboxShare*>(share))
        ->add({std::move(*from), std::string(natsMsg_GetData(message),
                                             static_cast<std::size_t>(natsMsg_GetDataLength(message)))});
  natsMsg_Destroy(message);
}

void on_last_message(void* share) { delete static_cast<InboxShare*>(share); }

void on_closed(natsConnection*, void* share) {
  const std::unique_ptr<InboxShare> last(static_cast<InboxShare*>(share));
  (*last)->close();
}

class NatsBus : public Bus {
 public:
  NatsBus(RunId run, std::string self) : run_(run), self_(std::move(self)) {}

  ~NatsBus() override {
    // Let what was said last still leave.
    if (connection_) natsConnection_FlushTimeout(connection_.get(), 500);
    subscription_.reset();
    if (connection_) natsConnection_Close(connection_.get());
    connection_.reset();
    nats_ReleaseThreadMemory();
  }

  Result<void> connect(const NatsAddress& address) {
    natsOptions* raw = nullptr;
    if (natsOptions_Create(&raw) != NATS_OK)
      return fail(ErrorKind::internal, "no memory for a NATS connection");
    const Options options(raw);
    natsOptions_SetURL(raw, address.url.c_str());
    if (const auto status = authenticate(raw, address.credential); status != NATS_OK)
      return refused(address, status);
    natsOptions_SetTimeout(raw, kConnectTimeoutMs);
    natsOptions_SetMaxReconnect(raw, kReconnects);
    natsOptions_SetReconnectWait(raw, kReconnectWaitMs);
    auto for_closing = std::make_unique<InboxShare>(inbox_);
    natsOptions_SetClosedCB(raw, on_closed, for_closing.get());
    natsOptions_SetName(raw, self_.c_str());
    natsConnection* connection = nullptr;
    if (const auto status = natsConnection_Connect(&connection, raw); status != NATS_OK)
      return refused(address, status);
    connection_.reset(connection);
    (void)for_closing.release();  // to on_closed: closing calls it once
    auto for_messages = std::make_unique<InboxShare>(inbox_);
    natsSubscription* subscription = nullptr;
    const auto status = natsConnection_Subscribe(
        &subscription, connection, subscription_of(run_, self_).c_str(), on_message, for_messages.get());
    if (status != NATS_OK) return refused(address, status);
    subscription_.reset(subscription);
    const auto told = natsSubscription_SetOnCompleteCB(subscription, on_last_message, for_messages.release());
    if (told != NATS_OK) return refused(address, told);
    // The server knows the subscription before anyone is told that we are here, and has refused it if it
    // will.
    if (const auto flushed = natsConnection_FlushTimeout(connection, kConnectTimeoutMs); flushed != NATS_OK)
      return refused(address, flushed);
    const char* words = nullptr;
    if (const auto last = natsConnection_GetLastError(connection, &words); last == NATS_NOT_PERMITTED)
      return refused(address, last);
    return {};
  }

  Result<void> send(std::string_view to, std::string_view bytes) override {
    if (bytes.size() > kMaxMessageBytes)
      return fail(ErrorKind::internal, "a message of {} bytes to {} is longer than {}", bytes.size(), to,
                  kMaxMessageBytes);
    const auto subject = subject_of(run_, to, self_);
    for (const std::string& part : cut_into_parts(bytes, ++last_number_, most_at_once())) {
      const auto status = natsConnection_Publish(connection_.get(), subject.c_str(), part.data(),
                                                 static_cast<int>(part.size()));
      if (status == NATS_OK) continue;
      if (status == NATS_CONNECTION_CLOSED)
        return fail(ErrorKind::absent,
                    "the connection to the NATS server is lost: is nats-server still running?");
      return fail(ErrorKind::internal, "a message of {} bytes to {} was not sent: {}", bytes.size(), to,
                  natsStatus_GetText(status));
    }
    return {};
  }

  Result<std::optional<Incoming>> receive(Nanoseconds limit) override { return inbox_->next(limit); }

 private:
  static natsStatus authenticate(natsOptions* options, const BusCredential& credential) {
    if (const auto* token = std::get_if<std::string>(&credential))
      return token->empty() ? NATS_OK : natsOptions_SetToken(options, token->c_str());
    const auto& login = std::get<BusLogin>(credential);
    auto status = natsOptions_SetSecure(options, true);
    if (status == NATS_OK) status = natsOptions_SetCATrustedCertificates(options, login.certificate.c_str());
    if (status == NATS_OK) status = natsOptions_SetExpectedHostname(options, kRunServerName);
    if (status == NATS_OK)
      status = natsOptions_SetUserInfo(options, login.user.c_str(), login.password.c_str());
    return status;
  }

  /// The server's own limit, 1 MB unless it was set otherwise.
  std::size_t most_at_once() const {
    const auto limit =
        static_cast<std::size_t>(std::max<std::int64_t>(natsConnection_GetMaxPayload(connection_.get()), 0));
    return limit > 2 * kEnvelope ? limit - kEnvelope : kEnvelope;
  }

  static tl::unexpected<Error> refused(const NatsAddress& address, natsStatus status) {
    if (status == NATS_CONNECTION_AUTH_FAILED || status == NATS_NOT_PERMITTED)
      return fail(ErrorKind::permission, "the NATS server at {} refuses the credential ({})", address.url,
                  natsStatus_GetText(status));
    if (status == NATS_SSL_ERROR || status == NATS_SECURE_CONNECTION_WANTED)
      return fail(ErrorKind::absent, "what answers at {} is not the server of this run ({})", address.url,
                  natsStatus_GetText(status));
    return fail(ErrorKind::absent, "no connection to the NATS server at {}: {}", address.url,
                natsStatus_GetText(status));
  }

  RunId run_;
  std::string self_;
  std::atomic<std::uint32_t> last_number_ = 0;
  InboxShare inbox_ = std::make_shared<Inbox>();
  Connection connection_;
  Subscription subscription_;
};

}  // namespace

std::string credential_line(const BusCredential& credential) {
  if (const auto* token = std::get_if<std::string>(&credential)) return *token;
  const auto& login = std::get<BusLogin>(credential);
  // JSON writes the line ends of a certificate as \n.
  return Json{{"user", login.user}, {"password", login.password}, {"certificate", login.certificate}}.dump(
      -1, ' ', false, Json::error_handler_t::replace);
}

BusCredential read_credential(std::string_view line) {
  const Json value = line.starts_with('{') ? Json::parse(line, nullptr, false) : Json();
  if (!value.is_object() || value.size() != std::size(kMembers)) return std::string(line);
  for (const char* member : kMembers)
    if (!value.contains(member) || !value[member].is_string()) return std::string(line);
  return BusLogin{value["user"], value["password"], value["certificate"]};
}

Result<std::unique_ptr<Bus>> connect_nats(const NatsAddress& address, RunId run, const std::string& self) {
  auto bus = std::make_unique<NatsBus>(run, self);
  WEFT_TRY_VOID(bus->connect(address));
  return std::unique_ptr<Bus>(std::move(bus));
}

}  // namespace weft
