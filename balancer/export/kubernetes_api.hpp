// The API server of a Kubernetes cluster: where it is, and what is shown to it.
#pragma once

#include <filesystem>
#include <memory>

#include "balancer/export/rest_api.hpp"

namespace weft::exports {

struct KubernetesServer {
  std::string url;  // as of RestServer; empty: `config` has all but the limit
  /// What every pod's own token is, which all in the pod may read; another is to be closed to others.
  /// Empty: none is sent.
  std::filesystem::path token{};
  std::filesystem::path ca{};                    // as of RestServer
  Nanoseconds limit = std::chrono::seconds(10);  // of one call with its repetitions
  std::filesystem::path config{};                // a kubeconfig file,
  std::string context{};                         // and which of it; empty: the current one
};

/// Where a pod finds its own.
inline constexpr const char* kPodToken = "/var/run/secrets/kubernetes.io/serviceaccount/token";
inline constexpr const char* kPodCertificates = "/var/run/secrets/kubernetes.io/serviceaccount/ca.crt";

/// Reads the token, the kubeconfig and the certificates that it names; nothing is connected yet. Errors:
/// those of RestApi::open, not_found, permission, invalid_input (the token).
Result<std::unique_ptr<RestApi>> open_kubernetes_api(const KubernetesServer& server);

}  // namespace weft::exports
