#include "collectors/bus/nats_login.hpp"

#include <nats/nats.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "collectors/bus/bus_key.hpp"
#include "collectors/bus/run_certificate.hpp"

namespace weft::bus {
namespace {

natsStatus trust(natsOptions* options, const std::string& certificate, const char* server) {
  auto status = natsOptions_SetSecure(options, true);
  if (status == NATS_OK) status = natsOptions_SetCATrustedCertificates(options, certificate.c_str());
  return status == NATS_OK ? natsOptions_SetExpectedHostname(options, server) : status;
}

/// Of what the server asks to have signed. The library frees what it is given by free().
natsStatus sign(char** error, unsigned char** signature, int* length, const char* nonce, void* seed) {
  const auto made = sign_with(*static_cast<const std::string*>(seed), nonce);
  *error = nullptr;
  if (!made) return NATS_ERR;
  *length = static_cast<int>(made->size());
  *signature = static_cast<unsigned char*>(std::malloc(made->size()));
  if (*signature == nullptr) return NATS_NO_MEMORY;
  std::ranges::copy(*made, *signature);
  return NATS_OK;
}

tl::unexpected<Error> bad_options(natsStatus status) {
  return fail(ErrorKind::invalid_input, "the credential of the NATS server is no use: {}",
              natsStatus_GetText(status));
}

Result<void> use(natsOptions* options, const std::string& token) {
  if (token.empty()) return {};
  if (const auto status = natsOptions_SetToken(options, token.c_str()); status != NATS_OK)
    return bad_options(status);
  return {};
}

Result<void> use(natsOptions* options, const BusLogin& login) {
  auto status = trust(options, login.certificate, kRunServerName);
  if (status == NATS_OK)
    status = natsOptions_SetUserInfo(options, login.user.c_str(), login.password.c_str());
  if (status != NATS_OK) return bad_options(status);
  return {};
}

Result<void> use(natsOptions* options, const BusKey& key) {
  WEFT_TRY(const auto name, public_key_of(key.seed));
  auto status = trust(options, key.authority, key.server.c_str());
  if (status == NATS_OK)
    status = natsOptions_SetNKey(options, name.c_str(), sign, const_cast<std::string*>(&key.seed));
  if (status != NATS_OK) return bad_options(status);
  return {};
}

}  // namespace

Result<void> use_login(natsOptions* options, const BusCredential& credential) {
  return std::visit([&](const auto& own) { return use(options, own); }, credential);
}

tl::unexpected<Error> refused_by(const NatsAddress& address, int status) {
  const auto* text = natsStatus_GetText(static_cast<natsStatus>(status));
  if (status == NATS_CONNECTION_AUTH_FAILED || status == NATS_NOT_PERMITTED)
    return fail(ErrorKind::permission, "the NATS server at {} refuses the credential ({})", address.url,
                text);
  if (status == NATS_SSL_ERROR || status == NATS_SECURE_CONNECTION_WANTED)
    return fail(ErrorKind::absent, "what answers at {} is not the server of this run ({})", address.url,
                text);
  return fail(ErrorKind::absent, "no connection to the NATS server at {}: {}", address.url, text);
}

tl::unexpected<Error> connection_lost() {
  return fail(ErrorKind::absent, "the connection to the NATS server is lost: is nats-server still running?");
}

}  // namespace weft::bus
