// A client that knows the credential of a participant and says and hears what it likes.
#pragma once

#include <nats/nats.h>

#include <optional>
#include <string>

#include "collectors/bus/run_certificate.hpp"
#include "probes/run/nats_server.hpp"
#include "topology/base/check.hpp"

namespace weft::bus {

class Rogue {
 public:
  Rogue(const run::NatsServer& nats, const std::string& participant) {
    const NatsAddress& address = nats.address_for(participant);
    const auto& login = std::get<BusLogin>(address.credential);
    natsOptions* options = nullptr;
    natsOptions_Create(&options);
    natsOptions_SetURL(options, address.url.c_str());
    natsOptions_SetSecure(options, true);
    natsOptions_SetCATrustedCertificates(options, login.certificate.c_str());
    natsOptions_SetExpectedHostname(options, kRunServerName);
    natsOptions_SetUserInfo(options, login.user.c_str(), login.password.c_str());
    WEFT_CHECK(natsConnection_Connect(&connection_, options) == NATS_OK);
    natsOptions_Destroy(options);
  }
  Rogue(const Rogue&) = delete;
  Rogue& operator=(const Rogue&) = delete;
  ~Rogue() { natsConnection_Destroy(connection_); }

  bool may_publish(const std::string& subject) {
    natsConnection_PublishString(connection_, subject.c_str(), "forged");
    return allowed();
  }
  /// With an answer wanted there.
  void publish_request(const std::string& subject, const std::string& reply, const std::string& text) {
    natsConnection_PublishRequestString(connection_, subject.c_str(), reply.c_str(), text.c_str());
    WEFT_CHECK(natsConnection_FlushTimeout(connection_, 5000) == NATS_OK);
  }
  bool may_subscribe(const std::string& subject) {
    natsSubscription* subscription = nullptr;
    natsConnection_SubscribeSync(&subscription, connection_, subject.c_str());
    const bool was_allowed = allowed();
    natsSubscription_Destroy(subscription);
    return was_allowed;
  }

  /// Where the message that comes first while `say` runs wants its acknowledgement; it gets none.
  template <class Say>
  std::optional<std::string> acknowledgement_asked(const std::string& subject, Say say) {
    natsSubscription* subscription = nullptr;
    natsConnection_SubscribeSync(&subscription, connection_, subject.c_str());
    WEFT_CHECK(allowed());
    say();
    natsMsg* message = nullptr;
    std::optional<std::string> asked;
    if (natsSubscription_NextMsg(&message, subscription, 5000) == NATS_OK && natsMsg_GetReply(message))
      asked = natsMsg_GetReply(message);
    natsMsg_Destroy(message);
    natsSubscription_Destroy(subscription);
    return asked;
  }

 private:
  /// The server answers a flush after it has refused what came before.
  bool allowed() {
    WEFT_CHECK(natsConnection_FlushTimeout(connection_, 5000) == NATS_OK);
    const char* words = nullptr;
    return natsConnection_GetLastError(connection_, &words) != NATS_NOT_PERMITTED;
  }
  natsConnection* connection_ = nullptr;
};

}  // namespace weft::bus
