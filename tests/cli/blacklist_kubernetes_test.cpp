// `weft blacklist sync --to kubernetes` and its like as a user calls them, with an API server of the test's.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "cli/blacklist.hpp"
#include "tests/fakes/fake_kubernetes.hpp"
#include "tests/places.hpp"
#include "tests/support/command.hpp"
#include "tests/support/schema.hpp"
#include "tests/support/test_lab.hpp"
#include "tests/support/text_of.hpp"
#include "topology/os/run_program.hpp"

namespace weft::cli {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;
using Json = nlohmann::json;

class BlacklistKubernetes : public testing::Test {
 protected:
  BlacklistKubernetes() {
    std::ofstream(here("fabric.yaml"))
        << "fabric: f\nkind: roce\nclos: {leaves: 2, spines: 4, hosts_per_leaf: 4, link: 400G}\n";
    for (int host = 1; host <= 8; ++host) server_.add_node(fmt::format("host{}", host));
  }
  std::string here(const std::string& name) const { return directory_.path() / name; }
  Outcome run(std::vector<std::string> words) const {
    words.insert(words.end(), {"--ledger", here("bl.db"), "--fabric", here("fabric.yaml")});
    auto outcome = call(blacklist_command, words);
    EXPECT_THAT(outcome.out + outcome.err, Not(HasSubstr(FakeKubernetes::kToken)));
    return outcome;
  }
  Outcome on_target(std::vector<std::string> words,
                    const std::vector<std::string>& more = {"--apply"}) const {
    words.insert(words.end(), more.begin(), more.end());
    words.insert(words.end(), {"--to", "kubernetes", "--kube-server", server_.url(), "--kube-token-file",
                               server_.token_file(), "--kube-ca", server_.ca_file(), "--call-limit", "2s"});
    return run(words);
  }
  void add(const char* subject) const {
    const auto added = run({"add", subject, "--for", "4h", "--reason", "line card"});
    ASSERT_THAT(added.out, HasSubstr("activated")) << added.err << added.out;
  }
  void set_taint(const char* host, const char* value) {
    server_.change(host, [&](Json& node) {
      node["spec"]["taints"] = {{{"key", "weft/fabric"}, {"value", value}, {"effect", "NoSchedule"}}};
    });
  }

  FakeKubernetes server_;

 private:
  TestDirectory directory_;
};

TEST_F(BlacklistKubernetes, ShowsWhatItWouldDoThenDoesItAndTakesItBack) {
  add("host1");
  const auto dry = on_target({"sync"}, {});
  EXPECT_EQ(dry.status, 1) << dry.err;
  EXPECT_THAT(dry.out,
              AllOf(HasSubstr("put host1 (entry 1)\n- in service\n+ weft/fabric=weft.f.1:NoSchedule\n"),
                    HasSubstr("undo: kubectl taint nodes host1 weft/fabric=weft.f.1:NoSchedule-"),
                    HasSubstr("put host1:condition (entry 1)")));
  EXPECT_EQ(server_.calls_of("PATCH"), 0u);
  const auto json = on_target({"sync"}, {"-o", "json"});
  expect_matches_schema(json.out, "changes");
  EXPECT_EQ(on_target({"sync"}).status, 0);
  EXPECT_THAT(server_.taints("host1"), ElementsAre("weft/fabric=weft.f.1:NoSchedule"));
  EXPECT_EQ(on_target({"check"}, {}).status, 0);
  EXPECT_EQ(on_target({"undo", "1"}).status, 0);
  EXPECT_THAT(server_.taints("host1"), IsEmpty());
  EXPECT_EQ(server_.condition("host1"), "");
}

TEST_F(BlacklistKubernetes, AdoptsTaintAndConditionForOneEntry) {
  add("host1"), run({"release", "1"});
  set_taint("host3", "weft.f.77");
  server_.change("host3", [](Json& node) {
    node["status"]["conditions"].push_back(
        {{"type", "WeftFabric"}, {"status", "True"}, {"message", "weft: failed host3--leaf1 id=f:77 down"}});
  });
  const auto checked = on_target({"check"}, {});
  EXPECT_EQ(checked.status, 1);
  EXPECT_THAT(checked.err, HasSubstr("weft blacklist adopt host3\n"));
  const auto adopted = on_target({"adopt", "host3"});
  EXPECT_EQ(adopted.status, 0) << adopted.err;
  EXPECT_THAT(server_.taints("host3"), ElementsAre("weft/fabric=weft.f.2:NoSchedule"));
  EXPECT_THAT(on_target({"check"}, {}).err, HasSubstr("weft blacklist adopt host3:condition\n"));
  EXPECT_EQ(on_target({"adopt", "host3:condition"}).status, 0);
  EXPECT_THAT(server_.condition("host3"), StartsWith("weft: planned host3 id=f:2"));
  EXPECT_EQ(on_target({"check"}, {}).status, 0);
  ASSERT_EQ(run({"release", "2"}).status, 0);
  EXPECT_EQ(on_target({"sync"}).status, 0);
  EXPECT_THAT(server_.taints("host3"), IsEmpty());
  EXPECT_EQ(server_.condition("host3"), "");
}

TEST_F(BlacklistKubernetes, NeedsAServerAndATokenOutsideOfAPod) {
  add("host1");
  unsetenv("KUBERNETES_SERVICE_HOST");
  const auto where = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words{"sync", "--to", "kubernetes"};
    words.insert(words.end(), more.begin(), more.end());
    return run(words);
  };
  EXPECT_THAT(where({}).err, HasSubstr("expected --kube-server URL"));
  EXPECT_THAT(where({"--kube-server", server_.url()}).err, HasSubstr("expected --kube-token-file FILE"));
  EXPECT_THAT(where({"--kube-server", "http://k.example"}).err, HasSubstr("readable by all"));
  EXPECT_EQ(where({"--kube-server", server_.url(), "--kube-token-file", here("none")}).status, 64);
  EXPECT_EQ(run({"sync", "--to", "slurm", "--kube-server", server_.url()}).status, 64);
  EXPECT_THAT(on_target({"sync"}, {"--kube-taint", "a/b:Drain"}).err, HasSubstr("expected NoSchedule"));
  EXPECT_TRUE(server_.calls().empty());
  // A pod: its own server, and there its token is missing.
  setenv("KUBERNETES_SERVICE_HOST", "fd00::1", 1), setenv("KUBERNETES_SERVICE_PORT", "443", 1);
  const auto pod = where({});
  EXPECT_THAT(pod.err, HasSubstr("/var/run/secrets/kubernetes.io/serviceaccount/token"));
  unsetenv("KUBERNETES_SERVICE_HOST"), unsetenv("KUBERNETES_SERVICE_PORT");
}

TEST_F(BlacklistKubernetes, EvictsOnlyWhereAsked) {
  add("host1");
  EXPECT_EQ(on_target({"sync"}, {"--apply", "--kube-taint", "site.example/net:NoExecute"}).status, 0);
  EXPECT_THAT(server_.taints("host1"), ElementsAre("site.example/net=weft.f.1:NoExecute"));
}

TEST_F(BlacklistKubernetes, SaysBeforeAnythingThatItHasNoRight) {
  add("host1");
  server_.deny("nodes/status");
  const auto denied = on_target({"sync"});
  EXPECT_EQ(denied.status, 69);
  EXPECT_THAT(denied.err, HasSubstr("may not patch nodes/status"));
  EXPECT_EQ(server_.calls_of("PATCH"), 0u);
}

/// Base64, as a kubeconfig has it.
std::string base64(const std::string& text) {
  return os::run_program({"base64", "-w0"}, text, std::chrono::seconds(10)).value();
}

/// A certificate by which a client may be known; one of bus/run_certificate is of servers alone.
bus::RunCertificate client_certificate() {
  const ScratchFile key(""), certificate("");
  EXPECT_TRUE(os::run_program(
      {"openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days",
       "2", "-subj", "/CN=weft", "-keyout", key.path(), "-out", certificate.path()},
      "", std::chrono::seconds(30)));
  return {text_of(certificate.path()), text_of(key.path())};
}

class BlacklistByKubeConfig : public BlacklistKubernetes {
 protected:
  /// Of this server, with what the user of it shows.
  std::string config(const FakeKubernetes& server, const std::string& user, bool is_private = true) const {
    const auto path = here("config");
    std::ofstream(path) << fmt::format(
        "current-context: a\nclusters: [{{name: a, cluster: {{server: '{}', certificate-authority-data: "
        "{}}}}}]\n"
        "contexts: [{{name: a, context: {{cluster: a, user: a}}}}]\nusers: [{{name: a, user: {{{}}}}}]\n",
        server.url(), base64(server.ca_text()), user);
    std::filesystem::permissions(
        path, is_private ? std::filesystem::perms::owner_read : std::filesystem::perms(0644));
    return path;
  }
  Outcome sync(const std::string& config) const {
    return run({"sync", "--to", "kubernetes", "--kube-config", config, "--call-limit", "2s", "--apply"});
  }
};

TEST_F(BlacklistByKubeConfig, ShowsTheTokenOfTheFileToTheServerThatItsCertificateIsOf) {
  add("host1");
  const auto done = sync(config(server_, fmt::format("token: {}", FakeKubernetes::kToken)));
  EXPECT_EQ(done.status, 0) << done.err;
  EXPECT_THAT(server_.taints("host1"), ElementsAre("weft/fabric=weft.f.1:NoSchedule"));
  std::filesystem::remove(here("config"));
  const auto open = sync(config(server_, fmt::format("token: {}", FakeKubernetes::kToken), false));
  EXPECT_EQ(open.status, 69);
  EXPECT_THAT(open.err, HasSubstr("chmod 600"));
  EXPECT_EQ(run({"sync", "--to", "kubernetes", "--kube-config", here("config"), "--kube-server", "https://a"})
                .status,
            64);
}

TEST_F(BlacklistByKubeConfig, ShowsAClientCertificate) {
  const auto client = client_certificate(), other = client_certificate();
  FakeKubernetes server(client.certificate);
  for (int host = 1; host <= 8; ++host) server.add_node(fmt::format("host{}", host));
  add("host1");
  const auto user = [](const std::string& certificate, const std::string& key) {
    return fmt::format("client-certificate-data: {}, client-key-data: {}", base64(certificate), base64(key));
  };
  const auto stranger = sync(config(server, user(other.certificate, other.key)));
  EXPECT_EQ(stranger.status, 69) << stranger.err;
  EXPECT_TRUE(server.calls().empty());
  std::filesystem::remove(here("config"));
  const auto mixed = sync(config(server, user(client.certificate, other.key)));
  EXPECT_THAT(mixed.err, HasSubstr("do not belong together"));
  std::filesystem::remove(here("config"));
  const auto done = sync(config(server, user(client.certificate, client.key)));
  EXPECT_EQ(done.status, 0) << done.err;
  EXPECT_THAT(server.taints("host1"), ElementsAre("weft/fabric=weft.f.1:NoSchedule"));
}

/// A rail is a device of its own.
class BlacklistDevices : public BlacklistKubernetes {
 protected:
  BlacklistDevices() {
    server_.with_devices([](FakeDeviceRules& devices) {
      devices.versions = {{"v1", false}, {"v1alpha3", true}, {"v1beta2", false}};
      devices.preferred = "v1";
      devices.rules["site-rule"] = {
          {"metadata", {{"name", "site-rule"}, {"uid", "u"}, {"resourceVersion", "1"}}},
          {"spec", {{"taint", {{"key", "site/broken"}, {"effect", "NoExecute"}}}}}};
    });
    EXPECT_EQ(run({"add", "host1/p1", "--for", "4h", "--reason", "optics", "--nic", "rail"}).status, 0);
  }
  std::vector<std::string> names() {
    return server_.with_devices([](FakeDeviceRules& devices) {
      std::vector<std::string> all;
      for (const auto& [name, rule] : devices.rules) all.push_back(name);
      return all;
    });
  }
  Outcome sync(const std::string& word = "sync", std::vector<std::string> more = {"--apply"}) {
    more.insert(more.end(), {"--kube-dra", "dra.net/mlx5-%"});
    return on_target({word}, more);
  }
};

TEST_F(BlacklistDevices, AreTaintedInTheVersionThatTheServerHasThemInAndGivenBack) {
  const auto dry = sync("sync", {});
  EXPECT_THAT(dry.out, AllOf(HasSubstr("+ dra.net host1/mlx5-1 weft/fabric=weft.f.1:NoSchedule"),
                             HasSubstr("undo: kubectl delete devicetaintrule weft.f66.host1.rail1")));
  EXPECT_THAT(names(), ElementsAre("site-rule"));
  const auto done = sync();
  EXPECT_EQ(done.status, 0) << done.err;
  EXPECT_THAT(names(), ElementsAre("site-rule", "weft.f66.host1.rail1"));
  EXPECT_THAT(server_.calls(), testing::Contains("POST /apis/resource.k8s.io/v1alpha3/devicetaintrules"));
  EXPECT_EQ(sync().out, "");
  EXPECT_THAT(on_target({"sync"}).err, HasSubstr("--kube-dra is not given")) << "nothing is concluded";
  EXPECT_EQ(run({"release", "1"}).status, 0);
  EXPECT_EQ(sync().status, 0);
  EXPECT_THAT(names(), ElementsAre("site-rule"));
}

TEST_F(BlacklistDevices, ARuleThatSomebodyDeletesIsNotMadeAgain) {
  ASSERT_EQ(sync().status, 0);
  server_.with_devices([](FakeDeviceRules& devices) { devices.rules.erase("weft.f66.host1.rail1"); });
  EXPECT_THAT(sync().out, HasSubstr("somebody put host1:device1 back"));
  EXPECT_THAT(names(), ElementsAre("site-rule"));
}

TEST_F(BlacklistDevices, OfALostLedgerAreOrphansAndThoseOfAnotherWriterStay) {
  ASSERT_EQ(sync().status, 0);
  for (const char* end : {"", "-wal", "-shm"}) std::filesystem::remove(here("bl.db") + end);
  EXPECT_EQ(run({"add", "host2/p1", "--for", "4h", "--reason", "optics", "--nic", "rail"}).status, 0);
  const auto orphans = sync("check", {});
  EXPECT_THAT(orphans.err, HasSubstr("weft blacklist adopt host1:device1"));
  EXPECT_THAT(sync().err, HasSubstr("host2:device1: held back")) << "it counts for the cap";
  EXPECT_THAT(names(), ElementsAre("site-rule", "weft.f66.host1.rail1"));
}

TEST_F(BlacklistDevices, AreRefusedBeforeAnyChangeWithoutTheApiOrTheRight) {
  server_.deny("devicetaintrules");
  const auto denied = sync();
  EXPECT_EQ(denied.status, 69);
  EXPECT_THAT(denied.err, HasSubstr("may not create devicetaintrules"));
  server_.with_devices([](FakeDeviceRules& devices) { devices.versions = {{"v1", false}}; });
  EXPECT_THAT(sync().err, HasSubstr("the API server has no DeviceTaintRule in resource.k8s.io"));
  server_.with_devices([](FakeDeviceRules& devices) { devices.versions.clear(); });
  EXPECT_THAT(sync().err, HasSubstr("the API server has no DeviceTaintRule in resource.k8s.io"));
  EXPECT_THAT(names(), ElementsAre("site-rule"));
  EXPECT_EQ(on_target({"sync"}, {"--kube-dra", "dra.net"}).status, 64);
}

}  // namespace
}  // namespace weft::cli
