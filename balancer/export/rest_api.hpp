// The REST interface of a server: a call and its answer, over TLS. Each call ends within a limit, whatever
// the server does (looking up its name takes as long as the resolver does), and says why it failed without
// the credential. One thread.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "topology/base/result.hpp"
#include "topology/base/units.hpp"

namespace weft::exports {

/// What the body of a refusal says; an empty message: nothing that the server is known to say.
struct RestRefusal {
  std::string message;
  bool is_not_found = false;  // of the object; of a proxy, 404 would say that the object is gone
};

struct RestServer {
  std::string url;             // https://HOST[:PORT][/PREFIX]; http of this host alone, as of `kubectl proxy`
  bool plain = false;          // http to any host: nothing is sent that others may not read
  std::filesystem::path ca{};  // certificates in PEM; empty: those that the system trusts
  std::string ca_text{};       // instead of that file, its text
  std::string certificate{}, key{};              // of the client, in PEM; empty: it shows none
  Nanoseconds limit = std::chrono::seconds(10);  // of one call with its repetitions
  Bytes max_answer = Bytes(32'000'000);
  std::string authorization{};         // the value of that header; empty: none is sent
  std::vector<std::string> secrets{};  // in no message, whatever the server says
  std::string credential = "token";    // what it shows, as messages call it
  std::string right{};                 // what 403 lacks, for people
  std::function<RestRefusal(std::string_view body)> read_refusal = [](std::string_view) {
    return RestRefusal();
  };
};

struct RestCall {
  std::string method = "GET";
  std::string path;  // escaped, with its query; from the root of the API
  std::string body{}, content_type{};
  std::vector<int> accepted{};  // statuses that are an answer besides those of success
};

class RestApi {
 public:
  virtual ~RestApi() = default;
  /// Nothing is connected yet. Errors: usage (the URL), not_found, invalid_input (certificates).
  static Result<std::unique_ptr<RestApi>> open(RestServer server);

  /// The body of an answer of success. What the server is too busy for, and a connection that breaks, is
  /// tried again while the limit lasts: also a change, which must do no harm when it is made twice.
  /// Errors: not_found (the server says so), conflict (the object has changed), permission, timeout, absent
  /// (no server, or it will not now), invalid_input (no answer of such a server).
  virtual Result<std::string> call(const RestCall& call) = 0;
};

/// A token of a file: letters, digits and `-._~+/=`. `text`: as it was read. Error: invalid_input.
Result<std::string> token_in(std::string text, const std::filesystem::path& file);
/// No HTTP server takes a header as long.
inline constexpr std::size_t kMaxCredential = 65'536;
/// The value of the header Authorization for a user with a password (RFC 7617).
std::string basic_authorization(const std::string& user, const std::string& password);

/// A word in a query.
std::string query_word(std::string_view text);

}  // namespace weft::exports
