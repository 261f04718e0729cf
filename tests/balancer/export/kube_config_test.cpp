#include "balancer/export/kube_config.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weft::exports {
namespace {

using testing::HasSubstr;

constexpr const char* kConfig = R"(
apiVersion: v1
kind: Config
current-context: pod7
clusters:
- name: other
  cluster: {server: "https://10.0.0.9:6443"}
- name: pod7
  cluster:
    server: https://10.0.0.1:6443
    certificate-authority: pki/ca.crt
contexts:
- name: pod7
  context: {cluster: pod7, user: weft, namespace: weft}
- name: by-certificate
  context: {cluster: other, user: admin}
users:
- name: weft
  user: {tokenFile: /run/token, token: abc}
- name: admin
  user:
    client-certificate-data: Y2VydA==
    client-certificate: passed-over.crt
    client-key: admin.key
)";

Result<KubeConfig> parsed(std::string text, const char* from = "", const char* to = "",
                          const char* context = "") {
  if (const auto at = text.find(from); *from != '\0') text.replace(at, std::string_view(from).size(), to);
  return parse_kube_config(text, "/home/ann/.kube/config", context);
}

TEST(KubeConfig, HasTheServerAndTheUserOfItsCurrentContextOrOfAnother) {
  const auto current = parsed(kConfig);
  ASSERT_TRUE(current) << current.error().message;
  EXPECT_EQ(current->server, "https://10.0.0.1:6443");
  EXPECT_EQ(current->ca.file, "/home/ann/.kube/pki/ca.crt") << "relative to the file";
  EXPECT_EQ(current->token_file, "/run/token");
  EXPECT_TRUE(current->certificate.empty());
  const auto other = parsed(kConfig, "", "", "by-certificate");
  ASSERT_TRUE(other) << other.error().message;
  EXPECT_EQ(other->server, "https://10.0.0.9:6443");
  EXPECT_EQ(other->certificate.base64, "Y2VydA==");
  EXPECT_EQ(other->certificate.file, "") << "what stands in the file itself wins";
  EXPECT_EQ(other->key.file, "/home/ann/.kube/admin.key");
}

TEST(KubeConfig, SaysWhatIsMissingOrNotDone) {
  const auto refused = [](const char* from, const char* to, const char* context = "") {
    const auto config = parsed(kConfig, from, to, context);
    return config ? "taken: " + config->server : config.error().message;
  };
  EXPECT_THAT(refused("current-context: pod7", ""), HasSubstr("expected --kube-context NAME"));
  EXPECT_THAT(refused("", "", "nowhere"), HasSubstr("there is no 'nowhere' in contexts"));
  EXPECT_THAT(refused("cluster: pod7,", "cluster: gone,"), HasSubstr("there is no 'gone' in clusters"));
  EXPECT_THAT(refused("server: https://10.0.0.1:6443", "x: y"), HasSubstr("has no server"));
  EXPECT_THAT(refused("certificate-authority: pki/ca.crt", "insecure-skip-tls-verify: true"),
              HasSubstr("the token would go to whoever answers"));
  EXPECT_THAT(refused("certificate-authority: pki/ca.crt", "proxy-url: http://p"), HasSubstr("proxy-url"));
  EXPECT_THAT(refused("{tokenFile: /run/token, token: abc}", "{exec: {command: aws}}"),
              HasSubstr("weft does not do that"));
  EXPECT_THAT(refused("{tokenFile: /run/token, token: abc}", "{}"), HasSubstr("neither a token nor"));
  EXPECT_THAT(refused("{tokenFile: /run/token, token: abc}", "{token: [1]}"), HasSubstr("expected a text"));
  EXPECT_THAT(refused("    client-key: admin.key", "", "by-certificate"), HasSubstr("go together"));
  EXPECT_FALSE(parse_kube_config("", "f", ""));
  EXPECT_FALSE(parse_kube_config("[1, 2]", "f", ""));
  EXPECT_FALSE(parse_kube_config("clusters: {a: b}\ncurrent-context: a\ncontexts: a\n", "f", ""));
}

}  // namespace
}  // namespace weft::exports
