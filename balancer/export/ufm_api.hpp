// The REST interface of NVIDIA UFM Enterprise: where it is, and what is shown to it.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "balancer/export/rest_api.hpp"
#include "balancer/export/ufm_words.hpp"

namespace weft::exports {

struct UfmServer {
  std::string url;  // as of RestServer
  /// A token, or a user with a password; both files closed to others.
  std::filesystem::path token{};
  std::string user{};
  std::filesystem::path password{};
  std::filesystem::path ca{};                    // as of RestServer
  Nanoseconds limit = std::chrono::seconds(10);  // of one call with its repetitions
};

/// An open server: paths of calls begin with `root`, by how it is told who asks ("Authentication" of the
/// guide): /ufmRest with a user, /ufmRestV3 with a token.
struct UfmApi {
  std::unique_ptr<RestApi> rest;
  std::string root;
  CurlPlace by_hand;  // the same, as an operator reaches it
};

/// Reads token or password; nothing is connected yet. Errors: those of RestApi::open, not_found, permission,
/// invalid_input (token, user or password).
Result<UfmApi> open_ufm_api(const UfmServer& server);

}  // namespace weft::exports
