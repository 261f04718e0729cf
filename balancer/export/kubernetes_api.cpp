#include "balancer/export/kubernetes_api.hpp"

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

}  // namespace

Result<std::unique_ptr<RestApi>> open_kubernetes_api(const KubernetesServer& server) {
  RestServer rest{.url = server.url, .ca = server.ca, .limit = server.limit};
  WEFT_TRY(const auto token, read_token(server.token));
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
