#include "balancer/export/ufm_api.hpp"

#include <algorithm>

#include "topology/base/outside_text.hpp"
#include "topology/os/private_file.hpp"

namespace weft::exports {
namespace {

constexpr auto kMaxAnswer = Bytes(64'000'000);  // some 40,000 ports
/// What the user manual calls the roles that manage unhealthy ports ("User Management").
constexpr const char* kRight =
    "its user may not do that: give it the role Fabric Admin (or System Admin) in UFM";

/// Printable ASCII: of other characters a server may take other bytes for the same password.
bool is_plain(const std::string& text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= 0x20 && c <= 0x7e; });
}

Result<std::string> read_password(const std::filesystem::path& file) {
  WEFT_TRY(auto text, os::read_private_file(file, "the password", kMaxCredential));
  while (text.ends_with('\n') || text.ends_with('\r')) text.pop_back();
  if (is_plain(text)) return text;
  return fail(ErrorKind::invalid_input, "{} holds no password of printable ASCII",
              outside_text(file.string()));
}

}  // namespace

Result<UfmApi> open_ufm_api(const UfmServer& server) {
  RestServer rest{.url = server.url, .ca = server.ca, .limit = server.limit, .max_answer = kMaxAnswer};
  rest.right = kRight;
  rest.read_refusal = [](std::string_view body) { return RestRefusal{ufm_message(body), false}; };
  if (!server.token.empty()) {
    WEFT_TRY(auto text, os::read_private_file(server.token, "the token", kMaxCredential));
    WEFT_TRY(const auto token, token_in(std::move(text), server.token));
    rest.authorization = "Basic " + token;  // as the guide has it, for tokens too
    rest.secrets = {token};
  } else {
    if (!is_plain(server.user) || server.user.find(':') != std::string::npos)
      return fail(ErrorKind::usage, "'{}' is no name of a user of UFM", outside_text(server.user));
    WEFT_TRY(const auto password, read_password(server.password));
    rest.authorization = basic_authorization(server.user, password);
    rest.secrets = {password, rest.authorization.substr(rest.authorization.find(' ') + 1)};
    rest.credential = "user and password";
  }
  WEFT_TRY(auto opened, RestApi::open(std::move(rest)));
  const bool has_token = !server.token.empty();
  const std::string root = has_token ? "/ufmRestV3" : "/ufmRest";
  return UfmApi{
      std::move(opened), root, {server.url + root, has_token ? "" : server.user, server.ca.string()}};
}

}  // namespace weft::exports
