// A Kubernetes cluster by its API: what is set and taken off there, and all that a server may do meanwhile.
#include "balancer/export/kubernetes_target.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "balancer/export/sync.hpp"
#include "tests/fakes/fake_kubernetes.hpp"
#include "tests/support/model_site.hpp"
#include "topology/model/clos.hpp"

namespace weft::exports {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;
using Json = nlohmann::json;

constexpr const char* kOurTaint = "weft/fabric=weft.f.1:NoSchedule";
constexpr const char* kOthersTaint = "nvidia.com/gpu=present:NoSchedule";

Json taint(const std::string& key, const std::string& value, const std::string& effect = "NoSchedule") {
  return {{"key", key}, {"value", value}, {"effect", effect}};
}

/// A cluster with the hosts of a fabric, and a ledger.
class KubernetesSite : public testing::Test {
 protected:
  KubernetesSite() {
    for (const NodeId host : fabric_.hosts()) server_.add_node(fabric_.name_of(host));
    open();
  }

  /// As a new run of weft does.
  void open(KubernetesKeys keys = {}) {
    auto api = open_kubernetes_api({.url = server_.url(),
                                    .token = server_.token_file(),
                                    .ca = server_.ca_file(),
                                    .limit = std::chrono::seconds(2)});
    ASSERT_TRUE(api) << api.error().message;
    target_ = std::make_unique<KubernetesTarget>(std::move(*api), std::move(keys));
  }
  void run(const std::vector<blacklist::Command>& commands) {
    ASSERT_TRUE(ledger_.change({}, [&](blacklist::Ledger read) -> Result<blacklist::Stepped> {
      return blacklist::step(std::move(read), fabric_, policy_, {}, commands, Mutes(), now_);
    }));
  }
  void add(const char* subject, const char* why = "line card") {
    run({blacklist::Add{blacklist::parse_subject(fabric_, subject).value(), std::chrono::hours(4), why,
                        "anna"}});
  }
  void release() { run({blacklist::Release{entry().id, "anna"}}); }
  /// How many changes did not come to stand.
  Result<std::size_t> sync() {
    events_.clear();
    const Site site{fabric_,
                    policy_,
                    ledger_,
                    *target_,
                    [&] { return now_; },
                    [&](const auto& events) { events_.insert(events_.end(), events.begin(), events.end()); }};
    WEFT_TRY(auto look, look_at(site, ledger_.ledger()));
    const auto refused = apply(site, look);
    plan_ = look.plan;
    return refused;
  }
  const blacklist::Entry& entry() const { return ledger_.ledger().entries.front(); }
  void set_taints(const std::string& host, const Json& taints) {
    server_.change(host, [&](Json& node) { node["spec"]["taints"] = taints; });
  }
  Standing standing(const std::string& object) {
    const auto standings = target_->read(std::vector<std::string>{object});
    return standings && standings->size() == 1 ? standings->front() : Standing{.object = "none"};
  }

  const Fabric fabric_ = *make_clos({.name = "f", .leaves = 2, .spines = 2, .hosts_per_leaf = 2});
  blacklist::Policy policy_;
  blacklist::Now now_{.wall = UtcTime(std::chrono::seconds(1'800'000'000)), .uptime = {}, .boot = "b"};
  FakeKubernetes server_;
  std::unique_ptr<KubernetesTarget> target_;
  ModelLedger ledger_{fabric_, [] { return Fate::well; }};
  std::vector<blacklist::LedgerEvent> events_;
  Plan plan_;
};

TEST_F(KubernetesSite, TaintsAHostWithItsEvidenceAndLeavesNothingBehind) {
  set_taints("host1", Json::array({taint("nvidia.com/gpu", "present")}));
  const auto before = server_.node("host1");
  add("host1");
  EXPECT_EQ(sync(), 0u);
  EXPECT_THAT(server_.taints("host1"), ElementsAre(kOthersTaint, kOurTaint));
  EXPECT_EQ(server_.condition("host1"), "weft: planned host1 id=f:1 line card");
  EXPECT_THAT(server_.taints("host2"), IsEmpty());
  ASSERT_EQ(entry().marks.size(), 2u);
  for (const auto& mark : entry().marks) EXPECT_TRUE(mark.read_back) << mark.object;
  release();
  EXPECT_EQ(sync(), 0u);
  auto after = server_.node("host1");
  after["metadata"]["resourceVersion"] = before["metadata"]["resourceVersion"];
  EXPECT_EQ(after, before);
  EXPECT_TRUE(entry().marks.empty());
}

TEST_F(KubernetesSite, ChangesNothingTheSecondTime) {
  add("host1");
  EXPECT_EQ(sync(), 0u);
  const auto patches = server_.calls_of("PATCH");
  EXPECT_EQ(patches, 2u);
  EXPECT_EQ(sync(), 0u);
  EXPECT_EQ(server_.calls_of("PATCH"), patches);
  EXPECT_FALSE(plan_.would_change());
}

TEST_F(KubernetesSite, MarksTheLabelOfARailAndSaysOkAgain) {
  policy_.nic_action = blacklist::NicAction::rail;
  add("host1/p1");
  EXPECT_EQ(sync(), 0u);
  EXPECT_THAT(plan_.left_alone, ElementsAre(HasSubstr("host1:rail1: kubernetes does not have it")));
  const auto label = [&] { return server_.node("host1")["metadata"]["labels"].value("weft/rail1", "none"); };
  server_.change("host1", [](Json& node) { node["metadata"]["labels"]["weft/rail1"] = "ok"; });
  EXPECT_EQ(sync(), 0u);
  EXPECT_EQ(label(), "weft.f.1");
  EXPECT_THAT(server_.taints("host1"), IsEmpty());
  release();
  EXPECT_EQ(sync(), 0u);
  EXPECT_EQ(label(), "ok");
}

TEST_F(KubernetesSite, TakesTheSitesOwnKeys) {
  open({.taint = "site.example/net", .effect = "NoExecute", .condition = "Fabric", .rail = "site.example/r"});
  add("host1");
  EXPECT_EQ(sync(), 0u);
  EXPECT_THAT(server_.taints("host1"), ElementsAre("site.example/net=weft.f.1:NoExecute"));
  EXPECT_THAT(server_.condition("host1", "Fabric"), StartsWith("weft: planned"));
}

TEST_F(KubernetesSite, LeavesATaintOfItsKeyAloneThatOthersSet) {
  set_taints("host1", Json::array({taint("weft/fabric", "by-hand")}));
  add("host1");
  EXPECT_EQ(sync(), 0u);
  EXPECT_THAT(server_.taints("host1"), ElementsAre("weft/fabric=by-hand:NoSchedule"));
  EXPECT_EQ(server_.condition("host1"), "");
  EXPECT_THAT(plan_.left_alone, testing::Contains("host1: left alone: weft/fabric=by-hand:NoSchedule"));
  EXPECT_EQ(server_.calls_of("PATCH"), 0u);
}

TEST_F(KubernetesSite, LeavesAConditionOfItsTypeAloneThatOthersSet) {
  server_.change("host1", [](Json& node) {
    node["status"]["conditions"].push_back(
        {{"type", "WeftFabric"}, {"status", "False"}, {"message", "theirs"}});
  });
  add("host1");
  EXPECT_EQ(sync(), 0u);
  EXPECT_EQ(server_.condition("host1"), "theirs");
  EXPECT_THAT(server_.taints("host1"), ElementsAre(kOurTaint));
}

TEST_F(KubernetesSite, KeepsACordonAndTaintsTheNodeOnceItIsLifted) {
  server_.change("host1", [](Json& node) { node["spec"]["unschedulable"] = true; });
  add("host1");
  EXPECT_EQ(sync(), 0u);
  EXPECT_THAT(server_.taints("host1"), IsEmpty());
  EXPECT_THAT(plan_.left_alone, testing::Contains(HasSubstr("host1: left alone: cordoned")));
  server_.change("host1", [](Json& node) { node["spec"].erase("unschedulable"); });
  EXPECT_EQ(sync(), 0u);
  EXPECT_THAT(server_.taints("host1"), ElementsAre(kOurTaint));
  server_.change("host1", [](Json& node) { node["spec"]["unschedulable"] = true; });
  release();
  EXPECT_EQ(sync(), 0u);
  EXPECT_THAT(server_.taints("host1"), IsEmpty());
  EXPECT_EQ(server_.node("host1")["spec"]["unschedulable"], true);
}

TEST_F(KubernetesSite, HoldsAnEntryWhoseTaintSomebodyTookOff) {
  add("host1");
  EXPECT_EQ(sync(), 0u);
  set_taints("host1", Json::array());
  EXPECT_EQ(sync(), 0u);
  EXPECT_THAT(server_.taints("host1"), IsEmpty());
  EXPECT_EQ(server_.condition("host1"), "") << "its other mark comes off";
  EXPECT_EQ(entry().state, blacklist::EntryState::proposed);
  EXPECT_TRUE(entry().marks.empty());
}

TEST_F(KubernetesSite, NamesAMarkThatTheLedgerDoesNotKnowAndOneOfAnotherFabricIsOthers) {
  set_taints("host1", Json::array({taint("weft/fabric", "weft.f.77")}));
  set_taints("host2", Json::array({taint("weft/fabric", "weft.g.1")}));
  add("host2");
  EXPECT_EQ(sync(), 0u);
  EXPECT_THAT(plan_.orphans, ElementsAre("host1"));
  EXPECT_THAT(server_.taints("host1"), ElementsAre("weft/fabric=weft.f.77:NoSchedule"));
  EXPECT_THAT(server_.taints("host2"), ElementsAre("weft/fabric=weft.g.1:NoSchedule"));
}

TEST_F(KubernetesSite, ReadsAgainWhereAnotherWritesAndKeepsWhatHeWrote) {
  std::atomic<int> writes = 0;
  server_.meddle([&](const auto& request, auto&) {
    if (request.method == "PATCH" && ++writes <= 2)
      server_.change("host1", [&](Json& node) {
        node["spec"]["taints"].push_back(taint("other" + std::to_string(writes), "x"));
      });
    return false;
  });
  add("host1");
  EXPECT_EQ(sync(), 0u);
  EXPECT_THAT(server_.taints("host1"), ElementsAre("other1=x:NoSchedule", "other2=x:NoSchedule", kOurTaint));
}

TEST_F(KubernetesSite, GivesWayToATaintThatIsSetBetweenItsReadingAndItsWriting) {
  std::atomic<bool> is_set = false;
  server_.meddle([&](const auto& request, auto&) {
    if (request.method == "PATCH" && !is_set.exchange(true))
      set_taints("host1", Json::array({taint("weft/fabric", "by-hand")}));
    return false;
  });
  add("host1");
  EXPECT_NE(sync(), 0u);
  EXPECT_THAT(server_.taints("host1"), ElementsAre("weft/fabric=by-hand:NoSchedule"));
  EXPECT_THAT(events_,
              testing::Contains(testing::Field(&blacklist::LedgerEvent::text, HasSubstr("left alone"))));
}

TEST_F(KubernetesSite, GivesUpAfterSoManyOtherWriters) {
  server_.meddle([&](const auto& request, auto&) {
    if (request.method == "PATCH") server_.change("host1", [](Json&) {});
    return false;
  });
  add("host1");
  EXPECT_EQ(sync(), 2u);
  EXPECT_EQ(server_.calls_of("PATCH"), 12u) << "six for the taint, six for the condition";
  EXPECT_TRUE(entry().marks.empty());
}

/// Of a run that ends for good at a call.
TEST_F(KubernetesSite, CompletesWhatARunThatEndedBetweenTaintAndConditionLeft) {
  std::atomic<bool> is_dead = false;
  server_.meddle([&](const auto& request, auto& response) {
    is_dead = is_dead || request.path.ends_with("/status");
    if (is_dead) FakeKubernetes::refuse(response, 418, "", "dead");
    return is_dead.load();
  });
  add("host1");
  EXPECT_FALSE(sync()) << "what stands there is not known";
  EXPECT_THAT(server_.taints("host1"), ElementsAre(kOurTaint));
  EXPECT_EQ(server_.condition("host1"), "");
  server_.meddle({});
  open();
  EXPECT_EQ(sync(), 0u);
  EXPECT_THAT(server_.taints("host1"), ElementsAre(kOurTaint));
  EXPECT_THAT(server_.condition("host1"), StartsWith("weft: planned host1"));
  is_dead = false;
  server_.meddle([&](const auto& request, auto& response) {
    is_dead = is_dead || request.path.ends_with("/status");
    if (is_dead) FakeKubernetes::refuse(response, 418, "", "dead");
    return is_dead.load();
  });
  release();
  EXPECT_FALSE(sync());
  server_.meddle({});
  open();
  EXPECT_EQ(sync(), 0u);
  EXPECT_THAT(server_.taints("host1"), IsEmpty());
  EXPECT_EQ(server_.condition("host1"), "");
  EXPECT_TRUE(entry().marks.empty());
}

/// The first run gets no answer from a call on, each in its turn.
TEST_F(KubernetesSite, CompletesOrUndoesWhatARunThatEndedAtAnyCallLeft) {
  for (const bool is_wanted : {true, false}) {
    int last = 0;  // call of the first run
    for (bool has_ended = true; has_ended;) {
      ++last;
      SCOPED_TRACE(fmt::format("ends at call {}, {}", last, is_wanted ? "still wanted" : "released"));
      ledger_ = ModelLedger(fabric_, [] { return Fate::well; });
      add("host1");
      std::atomic<int> calls = 0;
      server_.meddle([&](const auto&, auto& response) {
        if (++calls < last) return false;
        return FakeKubernetes::refuse(response, 418, "", "dead"), true;
      });
      open();
      static_cast<void>(sync());
      server_.meddle({});
      has_ended = calls >= last;
      open();
      if (!is_wanted) release();
      ASSERT_EQ(sync(), 0u);
      EXPECT_EQ(server_.taints("host1").size(), is_wanted ? 1u : 0u);
      EXPECT_EQ(server_.condition("host1").empty(), !is_wanted);
      EXPECT_EQ(entry().marks.size(), is_wanted ? 2u : 0u);
      if (is_wanted) release();
      ASSERT_EQ(sync(), 0u);
      ASSERT_THAT(server_.taints("host1"), IsEmpty());
    }
    EXPECT_GT(last, 10);
  }
}

TEST_F(KubernetesSite, TakesAChangeThatWasMadeThoughItsAnswerWasLostForMade) {
  std::atomic<int> lost = 0;
  server_.meddle([&](const auto& request, auto& response) {
    if (request.method != "PATCH" || request.path.ends_with("/status") || lost++ > 0) return false;
    set_taints("host1", Json::array({taint("weft/fabric", "weft.f.1")}));  // it came to stand
    FakeKubernetes::refuse(response, 504, "Timeout", "request did not complete");
    return true;
  });
  add("host1");
  EXPECT_EQ(sync(), 0u);
  EXPECT_THAT(server_.taints("host1"), ElementsAre(kOurTaint));
}

TEST_F(KubernetesSite, AsksAServerThatDoesNotAnswerNotForEachOfMany) {
  server_.meddle([](const auto& request, auto& response) {
    if (request.method != "PATCH") return false;
    FakeKubernetes::refuse(response, 503, "ServiceUnavailable");
    response.set_header("Retry-After", "60");
    return true;
  });
  std::vector<Change> changes;
  for (const char* host : {"host1", "host2", "host3", "host4"})
    changes.push_back({.act = Act::put, .object = host, .before = "in service", .set = kOurTaint});
  const auto done = target_->apply(changes);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().kind, ErrorKind::absent);
  EXPECT_EQ(server_.calls_of("PATCH"), 3u);
}

TEST_F(KubernetesSite, OneNodeThatIsRefusedOrFailsKeepsNoOtherFromItsTurn) {
  for (const int status : {403, 500}) {
    server_.meddle([status](const auto& request, auto& response) {
      if (request.method != "PATCH" || request.path.find("host1") == std::string::npos) return false;
      FakeKubernetes::refuse(response, status, "Forbidden", "admission webhook denied the request");
      return true;
    });
    std::vector<Change> changes;
    for (const char* host : {"host1", "host2"})
      changes.push_back({.act = Act::put, .object = host, .before = "in service", .set = kOurTaint});
    EXPECT_FALSE(target_->apply(changes));
    EXPECT_THAT(server_.taints("host2"), ElementsAre(kOurTaint)) << status;
    set_taints("host2", Json::array());
  }
}

TEST_F(KubernetesSite, SaysWhatWasRefusedBeforeWhatMayComeYet) {
  server_.meddle([](const auto& request, auto& response) {
    if (request.method != "PATCH") return false;
    const bool is_first = request.path.find("host1") != std::string::npos;
    FakeKubernetes::refuse(response, is_first ? 504 : 403, is_first ? "Timeout" : "Forbidden", "words");
    response.set_header("Retry-After", "60");
    return true;
  });
  std::vector<Change> changes;
  for (const char* host : {"host1", "host2"})
    changes.push_back({.act = Act::put, .object = host, .before = "in service", .set = kOurTaint});
  const auto done = target_->apply(changes);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().kind, ErrorKind::absent) << "the intents stay";
  EXPECT_THAT(done.error().message, testing::ContainsRegex("403.*; .*504"));
}

TEST_F(KubernetesSite, OfAnotherFabricOnTheSameNodeEachKeepsItsOwn) {
  open({.fabric = "f"});
  const auto others = taint("weft/fabric", "weft.other.7", "NoExecute");
  for (const bool is_first : {false, true}) {
    ledger_ = ModelLedger(fabric_, [] { return Fate::well; });
    set_taints("host1", Json::array());
    add("host1");
    EXPECT_EQ(sync(), 0u);
    const auto ours = taint("weft/fabric", "weft.f.1");
    set_taints("host1", is_first ? Json::array({others, ours}) : Json::array({ours, others}));
    EXPECT_EQ(sync(), 0u);
    EXPECT_EQ(entry().marks.size(), 2u);
    release();
    EXPECT_EQ(sync(), 0u);
    EXPECT_THAT(server_.taints("host1"), ElementsAre("weft/fabric=weft.other.7:NoExecute"));
  }
}

TEST_F(KubernetesSite, SetsATaintAnewWhoseEffectIsNotWhatIsAskedForNow) {
  add("host1");
  EXPECT_EQ(sync(), 0u);
  open({.effect = "NoExecute"});
  EXPECT_EQ(sync(), 0u);
  EXPECT_THAT(server_.taints("host1"), ElementsAre("weft/fabric=weft.f.1:NoExecute"));
  EXPECT_EQ(sync(), 0u);
  EXPECT_FALSE(plan_.would_change());
}

TEST_F(KubernetesSite, AConditionThatIsGoneIsSetAgainAndTheTaintStays) {
  add("host1");
  EXPECT_EQ(sync(), 0u);
  server_.change("host1", [](Json& node) {
    Json kept = Json::array();
    for (const Json& one : node["status"]["conditions"])
      if (one["type"] != "WeftFabric") kept.push_back(one);
    node["status"]["conditions"] = kept;
  });
  EXPECT_EQ(sync(), 0u);
  EXPECT_THAT(server_.taints("host1"), ElementsAre(kOurTaint));
  EXPECT_EQ(server_.condition("host1"), "weft: planned host1 id=f:1 line card");
  EXPECT_EQ(entry().state, blacklist::EntryState::active);
}

TEST_F(KubernetesSite, OfALostLedgerAllMarksAreOrphans) {
  policy_.nic_action = blacklist::NicAction::rail;
  server_.change("host2", [](Json& node) { node["metadata"]["labels"]["weft/rail1"] = "ok"; });
  add("host1");
  EXPECT_EQ(sync(), 0u);
  server_.change("host2", [](Json& node) { node["metadata"]["labels"]["weft/rail1"] = "weft.f.9"; });
  ledger_ = ModelLedger(fabric_, [] { return Fate::well; });
  EXPECT_EQ(sync(), 0u);
  EXPECT_THAT(plan_.orphans, ElementsAre("host1", "host1:condition", "host2:rail1"));
}

TEST_F(KubernetesSite, WhatAListLacksIsAskedForByName) {
  std::vector<std::string> objects;
  for (int i = 1; i <= 20; ++i) {
    objects.push_back(fmt::format("n{}", i));
    server_.add_node(objects.back());
  }
  server_.meddle([](const auto& request, auto& response) {
    if (request.path != "/api/v1/nodes") return false;
    response.set_content(R"({"kind":"NodeList","metadata":{},"items":[]})", "application/json");
    return true;
  });
  const auto standings = target_->read(objects);
  ASSERT_TRUE(standings) << standings.error().message;
  EXPECT_EQ(standings->size(), 20u);
}

TEST_F(KubernetesSite, MakesTheOtherChangesWhereOneIsRefused) {
  set_taints("host1", Json::array({taint("weft/fabric", "by-hand")}));
  std::vector<Change> changes;
  for (const char* host : {"host1", "host2"})
    changes.push_back({.act = Act::put, .object = host, .before = "in service", .set = kOurTaint});
  const auto done = target_->apply(changes);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().kind, ErrorKind::conflict);
  EXPECT_THAT(server_.taints("host2"), ElementsAre(kOurTaint));
}

TEST_F(KubernetesSite, SaysBeforeAnyChangeThatItMayNot) {
  for (const char* what : {"nodes/status", "nodes"}) {
    server_.deny(what);
    if (ledger_.ledger().entries.empty()) add("host1");
    const auto done = sync();
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().kind, ErrorKind::permission);
    EXPECT_THAT(done.error().message, AllOf(HasSubstr(what), HasSubstr("nothing was changed")));
    EXPECT_EQ(server_.calls_of("PATCH"), 0u);
    EXPECT_TRUE(entry().marks.empty());
  }
}

TEST_F(KubernetesSite, ConcludesNothingOfAClusterThatHasNoneOfTheHosts) {
  add("host1");
  EXPECT_EQ(sync(), 0u);
  for (const NodeId host : fabric_.hosts()) server_.drop_node(fabric_.name_of(host));
  server_.add_node("elsewhere");
  open();
  const auto done = sync();
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().message, HasSubstr("nothing was concluded"));
  EXPECT_EQ(entry().marks.size(), 2u);
}

TEST_F(KubernetesSite, ForgetsTheMarksOfANodeThatIsGone) {
  add("host1");
  EXPECT_EQ(sync(), 0u);
  server_.drop_node("host1");
  EXPECT_EQ(sync(), 0u);
  EXPECT_TRUE(entry().marks.empty());
  EXPECT_THAT(plan_.left_alone, testing::Contains("host1: kubernetes does not have it"));
}

TEST_F(KubernetesSite, ReadsManyNodesAsAListInParts) {
  std::vector<std::string> objects;
  for (int i = 1; i <= 230; ++i) {
    objects.push_back(fmt::format("n{:03}", i));
    server_.add_node(objects.back());
  }
  set_taints("n230", Json::array({taint("weft/fabric", "weft.f.9")}));
  objects.emplace_back("absent");
  const auto standings = target_->read(objects);
  ASSERT_TRUE(standings) << standings.error().message;
  ASSERT_EQ(standings->size(), 230u);
  EXPECT_EQ(standings->back().mark, "f:9");
  EXPECT_EQ(server_.calls_of("GET"), 4u) << "three parts, and the one that was not in them";
}

TEST_F(KubernetesSite, EndsAListThatGoesInACircle) {
  server_.meddle([](const auto& request, auto& response) {
    if (request.path != "/api/v1/nodes") return false;
    response.set_content(R"({"kind":"NodeList","metadata":{"continue":"x"},"items":[]})", "application/json");
    return true;
  });
  std::vector<std::string> objects;
  for (int i = 1; i <= 20; ++i) objects.push_back(fmt::format("n{}", i));
  const auto standings = target_->read(objects);
  ASSERT_FALSE(standings);
  EXPECT_THAT(standings.error().message, HasSubstr("in a circle"));
}

TEST_F(KubernetesSite, AsksAServerForNoNameThatAUrlReadsOtherwise) {
  const auto calls = server_.calls().size();
  const std::vector<std::string> objects{"../secrets", "host1/status", "host1?x", "a%2fb",
                                         "",           "HOST1",        "host1:x"};
  const auto standings = target_->read(objects);
  ASSERT_TRUE(standings);
  EXPECT_THAT(*standings, IsEmpty());
  EXPECT_EQ(server_.calls().size(), calls);
}

TEST_F(KubernetesSite, TellsWhatAnOperatorTypes) {
  Change put{.act = Act::put, .object = "host1", .before = "in service", .set = kOurTaint};
  EXPECT_EQ(target_->by_hand(put), fmt::format("kubectl taint nodes host1 {}", kOurTaint));
  EXPECT_EQ(target_->by_hand(reversed(put)), fmt::format("kubectl taint nodes host1 {}-", kOurTaint));
  put.object = "host1:rail3", put.before = "ok", put.set = "weft.f.1";
  EXPECT_EQ(target_->by_hand(put), "kubectl label --overwrite node host1 weft/rail3=weft.f.1");
  EXPECT_EQ(target_->by_hand(reversed(put)), "kubectl label --overwrite node host1 weft/rail3=ok");
  put.object = "host1:condition", put.set = "weft: failed host1--leaf1 id=f:1 it's down; rm -rf /";
  EXPECT_EQ(target_->by_hand(put),
            R"(kubectl patch node host1 --subresource=status --type=strategic -p '{"status":{"conditions":[{)"
            R"("type":"WeftFabric","status":"True","reason":"FabricFailed","message":"weft: failed )"
            R"(host1--leaf1 id=f:1 it'\''s down; rm -rf /"}]}}')");
  EXPECT_THAT(target_->by_hand(reversed(put)), HasSubstr(R"({"$patch":"delete","type":"WeftFabric"})"));
  EXPECT_EQ(target_->subject_of("host1:condition"), "host1");
  EXPECT_EQ(target_->subject_of("host1:rail3"), "host1/p3");
}

}  // namespace
}  // namespace weft::exports
