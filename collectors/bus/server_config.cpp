#include "collectors/bus/server_config.hpp"

#include <fmt/format.h>

namespace weft::bus {
namespace {

/// A busy machine whose agents all come at once; the server's own limit is 2.
constexpr int kHandshakeSeconds = 10;

/// A list of subjects: none has a character that would end its quotation.
std::string quoted(const std::vector<std::string>& subjects) {
  return subjects.empty() ? std::string() : fmt::format("\"{}\"", fmt::join(subjects, "\", \""));
}

std::string user_line(const ServerUser& one) {
  const auto identity = one.password
                            ? fmt::format("user: \"{}\", password: \"{}\"", one.user.name, *one.password)
                            : fmt::format("nkey: {}", one.public_key);
  return fmt::format(
      "    {{ {}, permissions: {{ publish: {{ allow: [{}] }}, subscribe: {{ allow: [{}] }} }} }}\n", identity,
      quoted(one.user.may.publish), quoted(one.user.may.subscribe));
}

std::string user_lines(const std::vector<ServerUser>& users, session::BusAccount account) {
  std::string lines;
  for (const ServerUser& one : users)
    if (one.user.account == account) lines += user_line(one);
  return lines;
}

/// Of operators; empty: there is none, and nothing passes.
std::string operators_account(const std::string& users) {
  if (users.empty()) return {};
  return fmt::format(
      "  OPERATORS: {{\n"
      "    exports: [ {{ stream: \"weft.labels.>\" }} ]\n"
      "    imports: [ {{ stream: {{ account: AGENTS, subject: \"weft.labelled.>\" }} }} ]\n"
      "    users: [\n{}    ]\n  }}\n",
      users);
}

std::string accounts(const std::vector<ServerUser>& users) {
  const auto operators = user_lines(users, session::BusAccount::operators);
  return fmt::format(
      "accounts {{\n"
      "  AGENTS: {{\n"
      "    exports: [ {{ stream: \"weft.say.>\" }}, {{ stream: \"weft.counters.>\" }}{} ]\n"
      "    imports: [ {{ service: {{ account: WATCH, subject: \"weft.obs.>\" }} }},\n"
      "               {{ stream: {{ account: WATCH, subject: \"weft.plan.>\" }} }}{} ]\n"
      "    users: [\n{}    ]\n  }}\n"
      "  WATCH: {{\n"
      "    jetstream: enabled\n"
      "    exports: [ {{ service: \"weft.obs.>\" }}, {{ stream: \"weft.plan.>\" }} ]\n"
      "    imports: [ {{ stream: {{ account: AGENTS, subject: \"weft.say.>\" }} }},\n"
      "               {{ stream: {{ account: AGENTS, subject: \"weft.counters.>\" }} }} ]\n"
      "    users: [\n{}    ]\n  }}\n{}"
      "}}\n",
      operators.empty() ? "" : ", { stream: \"weft.labelled.>\" }",
      operators.empty() ? ""
                        : ",\n               { stream: { account: OPERATORS, subject: \"weft.labels.>\" } }",
      user_lines(users, session::BusAccount::agents), user_lines(users, session::BusAccount::watchers),
      operators_account(operators));
}

}  // namespace

std::string server_config_text(const ServerConfig& config) {
  auto text = fmt::format(
      "host: \"{}\"\nport: {}\n"
      "tls {{ cert_file: \"{}\", key_file: \"{}\", timeout: {} }}\n",
      config.host, config.port, config.certificate_file, config.key_file, kHandshakeSeconds);
  if (!config.jet_stream)
    return text + fmt::format("authorization {{\n  timeout: {}\n  users: [\n{}  ]\n}}\n",
                              2 * kHandshakeSeconds, user_lines(config.users, session::BusAccount::agents));
  return text +
         fmt::format(
             "authorization {{ timeout: {} }}\n"
             "jetstream {{ store_dir: \"{}\", max_memory_store: 256MB, max_file_store: {} }}\n",
             2 * kHandshakeSeconds, config.jet_stream->store, config.jet_stream->bytes) +
         accounts(config.users);
}

}  // namespace weft::bus
