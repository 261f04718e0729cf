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

}  // namespace
}  // namespace weft::cli
