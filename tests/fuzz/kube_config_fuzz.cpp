// Whatever a kubeconfig says: an error, or a server with a credential of one kind.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "balancer/export/kube_config.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto config = weft::exports::parse_kube_config(text, "/a/config", "");
  if (!config) return 0;
  if (config->server.empty() || config->certificate.empty() != config->key.empty()) std::abort();
  if (config->certificate.empty() && config->token.empty() && config->token_file.empty()) std::abort();
  return 0;
}
