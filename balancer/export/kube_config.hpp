// A kubeconfig file: which API server, whom it trusts and what is shown to it. Pure; the files that it names
// are read by whoever opens the server.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "topology/base/result.hpp"

namespace weft::exports {

struct KubeConfig {
  /// A file, or what stands in the kubeconfig itself, in base64. Both empty: there is none.
  struct Source {
    std::filesystem::path file{};
    std::string base64{};
    bool empty() const { return file.empty() && base64.empty(); }
  };
  std::string server;
  Source ca{}, certificate{}, key{};  // of the server; of the client
  std::string token{};
  std::filesystem::path token_file{};  // before `token`
};

/// The cluster and the user of `context`; empty: of the current one. Paths in it are relative to the file's
/// folder. Errors (invalid_input): no such context, cluster or user; what weft does not do: a program or a
/// provider that makes credentials, a password, a proxy, a server that is not verified or has another name.
Result<KubeConfig> parse_kube_config(std::string_view text, const std::filesystem::path& file,
                                     std::string_view context);

}  // namespace weft::exports
