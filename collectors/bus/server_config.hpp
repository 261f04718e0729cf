// The configuration of a nats-server as text: who may say and hear what, and what it keeps. Pure.
//
// With JetStream, agents, watchers and operators are in accounts of their own. A client says where the answer
// to its message goes, and the server does not ask whether it may send there: in one account an agent could
// have an acknowledgement sent to a subject that purges a stream. Between accounts only what is listed here
// passes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "probes/session/bus_permissions.hpp"

namespace weft::bus {

struct ServerUser {
  session::BusUser user;
  /// How the server knows it: a password (with user.name), or the public key of an nkey.
  std::optional<std::string> password = std::nullopt;
  std::string public_key = {};
};

struct ServerConfig {
  std::string host;  // an address
  int port = -1;     // -1: any free one
  std::string certificate_file;
  std::string key_file;
  std::vector<ServerUser> users;
  /// Absent: no JetStream, and all users in one account.
  struct JetStream {
    std::string store;
    std::uint64_t bytes = 0;
  };
  std::optional<JetStream> jet_stream = std::nullopt;
};

std::string server_config_text(const ServerConfig& config);

}  // namespace weft::bus
