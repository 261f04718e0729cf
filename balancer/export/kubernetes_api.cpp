#include "balancer/export/kubernetes_api.hpp"

#include <sodium.h>

#include "balancer/export/kube_config.hpp"
#include "balancer/export/kubernetes_node.hpp"
#include "topology/files/file_text.hpp"
#include "topology/os/private_file.hpp"

namespace weft::exports {
namespace {

Result<std::string> read_token(const std::filesystem::path& path) {
  if (path.empty()) return std::string();
  WEFT_TRY(auto text, path == kPodToken ? files::read_text_file(path, Bytes(kMaxCredential))
                                        : os::read_private_file(path, "the token", kMaxCredential));
  return token_in(std::move(text), path);
}

constexpr Bytes kMaxConfig = Bytes(4'000'000);

/// What a kubeconfig names or has in itself, in PEM. `is_secret`: a file that it names must be closed to
/// others.
Result<std::string> pem_of(const KubeConfig::Source& source, std::string_view what, bool is_secret) {
  if (source.empty()) return std::string();
  if (source.base64.empty())
    return is_secret ? os::read_private_file(source.file, what, static_cast<std::size_t>(kMaxConfig.count()))
                     : files::read_text_file(source.file, kMaxConfig);
  std::string text(source.base64.size(), '\0');
  std::size_t size = 0;
  if (sodium_base642bin(reinterpret_cast<unsigned char*>(text.data()), text.size(), source.base64.data(),
                        source.base64.size(), " \n\r", &size, nullptr, sodium_base64_VARIANT_ORIGINAL) != 0)
    return fail(ErrorKind::invalid_input, "{} in the kubeconfig is no base64", what);
  text.resize(size);
  return text;
}

/// What is shown to the server, and what shows that it is the one.
Result<std::string> take_config(const KubernetesServer& server, RestServer& rest) {
  WEFT_TRY(const auto text, os::read_private_file(server.config, "the kubeconfig",
                                                  static_cast<std::size_t>(kMaxConfig.count())));
  WEFT_TRY(const auto config, parse_kube_config(text, server.config, server.context));
  rest.url = config.server;
  rest.credential = config.certificate.empty() ? "token" : "client certificate";
  WEFT_TRY(rest.ca_text, pem_of(config.ca, "certificate-authority", false));
  WEFT_TRY(rest.certificate, pem_of(config.certificate, "client-certificate", false));
  WEFT_TRY(rest.key, pem_of(config.key, "client-key", true));
  if (!config.token_file.empty()) return read_token(config.token_file);
  if (config.token.empty()) return std::string();
  return token_in(config.token, server.config);
}

}  // namespace

Result<std::unique_ptr<RestApi>> open_kubernetes_api(const KubernetesServer& server) {
  RestServer rest{.url = server.url, .ca = server.ca, .limit = server.limit};
  WEFT_TRY(const auto token, server.url.empty() ? take_config(server, rest) : read_token(server.token));
  if (!token.empty()) {
    rest.authorization = "Bearer " + token;
    rest.secrets = {token};
  }
  rest.read_refusal = [](std::string_view body) {
    auto status = parse_kubernetes_status(body);
    return RestRefusal{std::move(status.message), status.reason == "NotFound"};
  };
  return RestApi::open(std::move(rest));
}

}  // namespace weft::exports
