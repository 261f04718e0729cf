// The REST interface of a Kubernetes API server: a call and its answer, over TLS. Each call ends within a
// limit, whatever the server does (looking up its name takes as long as the resolver does), and says why it
// failed without the token. One thread.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "topology/base/result.hpp"
#include "topology/base/units.hpp"

namespace weft::exports {

struct KubernetesServer {
  std::string url;  // https://HOST[:PORT][/PREFIX]; http of this host alone, as of `kubectl proxy`
  /// What every pod's own token is, which all in the pod may read; another is to be closed to others.
  /// Empty: none is sent.
  std::filesystem::path token{};
  std::filesystem::path ca{};                    // certificates in PEM; empty: those that the system trusts
  Nanoseconds limit = std::chrono::seconds(10);  // of one call with its repetitions
};

/// Where a pod finds its own.
inline constexpr const char* kPodToken = "/var/run/secrets/kubernetes.io/serviceaccount/token";
inline constexpr const char* kPodCertificates = "/var/run/secrets/kubernetes.io/serviceaccount/ca.crt";

struct KubernetesCall {
  std::string method = "GET";
  std::string path;  // escaped, with its query; from the root of the API
  std::string body{}, content_type{};
};

class KubernetesApi {
 public:
  virtual ~KubernetesApi() = default;
  /// Reads the token; nothing is connected yet. Errors: usage (the URL), not_found, permission,
  /// invalid_input (token or certificates).
  static Result<std::unique_ptr<KubernetesApi>> open(const KubernetesServer& server);

  /// The body of an answer of success. What the server is too busy for, and a connection that breaks, is
  /// tried again while the limit lasts: also a change, so that it has to name the version that it is for.
  /// Errors: not_found (Kubernetes says so), conflict (the object has changed), permission, timeout, absent
  /// (no server, or it will not now), invalid_input (no answer of such a server).
  virtual Result<std::string> call(const KubernetesCall& call) = 0;
};

/// A word in a query.
std::string query_word(std::string_view text);

}  // namespace weft::exports
