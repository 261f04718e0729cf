// The coordinator: driven by hand, with agents that misbehave; and over the simulator, for what a whole sweep
// finds.
#include "probes/session/coordinator.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "probes/run/engines.hpp"
#include "probes/session/coordinator_loop.hpp"
#include "probes/session/sweep.hpp"
#include "tests/fakes/fake_script.hpp"
#include "topology/files/diagnosis_document.hpp"
#include "topology/model/clos.hpp"

namespace weft::session {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;

const packet::RunSecrets kSecrets{RunId(7), {}};
constexpr TimePoint kBegin{};

/// A coordinator of two hosts and a script of some waves, at the times the test makes up.
class TwoHosts {
 public:
  explicit TwoHosts(int waves = 1) : script({host(0), host(1)}, waves) { keep(coordinator.start(kBegin)); }
  PortId host(std::size_t i) const { return fabric_.nics()[i]; }
  void says(const char* name, const ToCoordinator& message, TimePoint at = kBegin) {
    keep(coordinator.on_message(name, message, at));
  }
  void joins(const char* name) {
    says(name, Hello{.host = name});
    says(name, Ready{});
  }
  void speaks_garbage(const char* name) { keep(coordinator.give_up(name, "not JSON", kBegin)); }
  /// Ticks ten times a second; the agents `alive` give signs of life.
  void time_passes(TimePoint from, Nanoseconds span, std::vector<const char*> alive) {
    for (auto t = from; t < from + span; t += std::chrono::milliseconds(100)) {
      for (const char* name : alive) says(name, Alive{}, t);
      keep(coordinator.on_tick(t));
    }
  }
  /// The tasks given to a host so far.
  std::vector<Task> tasks_of(const char* name) const {
    std::vector<Task> tasks;
    for (const SendToAgent& sent : sent_)
      if (const auto* task = std::get_if<Task>(&sent.message); task && sent.host == name)
        tasks.push_back(*task);
    return tasks;
  }
  std::optional<StartRun> start_of(const std::string& name) const {
    for (const SendToAgent& sent : sent_)
      if (const auto* start = std::get_if<StartRun>(&sent.message); start && sent.host == name) return *start;
    return std::nullopt;
  }
  std::size_t told_progress() const { return progress_.size(); }
  const Progress& last_progress() const { return progress_.back(); }
  std::ptrdiff_t signs_of_life_for(const std::string& name) const {
    return std::ranges::count_if(sent_, [&](const SendToAgent& sent) {
      return sent.host == name && std::holds_alternative<Alive>(sent.message);
    });
  }
  bool was_stopped(const char* name) const {
    for (const SendToAgent& sent : sent_)
      if (sent.host == name && std::holds_alternative<StopRun>(sent.message)) return true;
    return false;
  }
  void answers(const char* name,
               TaskResult result = {.id = {}, .answer = std::vector<datapath::ReceivedTally>()}) {
    result.id = tasks_of(name).back().id;
    says(name, result);
  }
  /// Who was not tested, and why.
  std::string untested() const {
    std::string text;
    for (const NotTested& each : script.untested) text += fabric_.name_of(each.host) + ": " + each.why + "\n";
    return text;
  }
  /// Who is blamed, and what for.
  std::string blame() const {
    std::string text;
    for (const HostEvidence& evidence : script.blamed)
      text += fabric_.name_of(evidence.host) + ": " + evidence.text + "\n";
    return text;
  }

 private:
  void keep(const Coordinator::Actions& actions) {
    for (const CoordinatorAction& action : actions) {
      if (const auto* sent = std::get_if<SendToAgent>(&action)) sent_.push_back(*sent);
      if (const auto* progress = std::get_if<Progress>(&action)) progress_.push_back(*progress);
    }
  }
  Fabric fabric_ = make_clos({.leaves = 2, .spines = 1, .hosts_per_leaf = 1}).value();
  std::vector<SendToAgent> sent_;
  std::vector<Progress> progress_;

 public:
  fakes::FakeScript script;
  Coordinator coordinator{
      fabric_,
      script,
      kSecrets,
      {{*fabric_.find_node("host1"), {{"p1", host(0)}}}, {*fabric_.find_node("host2"), {{"p1", host(1)}}}}};
};

TEST(Coordinator, WorksThroughTheWavesAndStopsItsAgents) {
  TwoHosts run(2);
  run.joins("host1");
  EXPECT_TRUE(run.tasks_of("host1").empty()) << "not before all have come";
  run.joins("host2");
  for (int wave = 0; wave < 2; ++wave) {
    EXPECT_FALSE(run.coordinator.is_done());
    run.answers("host1");
    run.answers("host2");
  }
  EXPECT_TRUE(run.coordinator.is_done());
  EXPECT_EQ(run.script.answered, 4);
  EXPECT_EQ(run.blame(), "");
  EXPECT_TRUE(run.was_stopped("host1") && run.was_stopped("host2"));
}

TEST(Coordinator, GoesOnWithoutAnAgentThatNeverComes) {
  TwoHosts run;
  run.joins("host1");
  run.time_passes(kBegin, seconds(11), {"host1"});
  EXPECT_EQ(run.untested(), "host2: its agent did not come\n");
  EXPECT_EQ(run.blame(), "");
  ASSERT_EQ(run.tasks_of("host1").size(), 1u);
  run.answers("host1");
  EXPECT_TRUE(run.coordinator.is_done());
  EXPECT_TRUE(run.tasks_of("host2").empty());
}

TEST(Coordinator, SaysOfAnAgentThatServesAnotherRunThatItDoes) {
  TwoHosts run;
  run.joins("host1");
  run.coordinator.note_busy("host2");
  run.coordinator.note_busy("nobody");
  run.time_passes(kBegin, seconds(11), {"host1"});
  EXPECT_THAT(run.untested(), testing::HasSubstr("host2: its agent serves another run"));
  EXPECT_EQ(run.blame(), "");
}

TEST(Coordinator, ANicThatAnAgentWasNotStartedWithIsNotTestedAndNotBlamed) {
  const auto own = IpAddress::parse("10.0.0.1").value(), other = IpAddress::parse("10.9.9.9").value();
  TwoHosts run;
  run.coordinator.name_targets({{run.host(0), own}, {run.host(1), IpAddress::parse("10.0.0.2").value()}});
  run.says("host2", Hello{.host = "host2", .nics = {{"eth0", other}}});
  EXPECT_THAT(run.untested(), testing::HasSubstr("host2: its agent was started with none of the NICs"));
  EXPECT_EQ(run.blame(), "");
  EXPECT_FALSE(run.coordinator.listens_to("host2"));
  EXPECT_FALSE(run.coordinator.listens_to("host3"));
  // Which it calls otherwise, it has all the same.
  run.says("host1", Hello{.host = "host1", .nics = {{"eth9", other}, {"eth0", own}}});
  const auto started = run.start_of("host1");
  ASSERT_TRUE(started);
  ASSERT_EQ(started->nics.size(), 1u);
  EXPECT_EQ(started->nics[0].interface, "eth0");
}

TEST(Coordinator, KeepsTheAgentsOfOneEngine) {
  const auto joined = [](TwoHosts& run, const char* of_first, const char* of_second) {
    for (const auto& [host, engine] : {std::pair("host1", of_first), std::pair("host2", of_second)}) {
      run.says(host, Hello{.host = host, .engine = engine});
      run.says(host, Ready{});
    }
  };
  TwoHosts run;
  joined(run, "dpdk", "verbs");
  EXPECT_EQ(run.untested(),
            "host2: its agent probes by verbs, and those of most NICs by raw: neither answers the other\n");
  EXPECT_EQ(run.blame(), "");
  EXPECT_TRUE(run.was_stopped("host2"));
  ASSERT_EQ(run.tasks_of("host1").size(), 1u);
  TwoHosts alike;
  joined(alike, "raw", "dpdk");
  EXPECT_EQ(alike.untested(), "") << "their packets are the same";
}

TEST(Coordinator, DoesNotBlameWhoseAgentWasStartedWithAnotherEngineThanTheRunNeeds) {
  TwoHosts run;
  run.coordinator.require_engine("umad");
  run.says("host2", Hello{.host = "host2", .engine = "raw", .nics = {{"eth0", IpAddress()}}});
  EXPECT_EQ(run.untested(),
            "host2: its agent was started with --engine raw, and this fabric is probed by --engine umad\n");
  EXPECT_EQ(run.blame(), "");
  EXPECT_TRUE(run.was_stopped("host2"));
  run.says("host1", Hello{.host = "host1", .engine = "ibsim"});
  run.says("host1", Ready{});
  ASSERT_EQ(run.tasks_of("host1").size(), 1u) << "the same datagrams, in a lab";
}

TEST(Coordinator, GoesOnWithoutAnAgentOfAnotherProtocol) {
  TwoHosts run;
  run.says("host2", Hello{.host = "host2", .version = "0.1", .protocol = 1});
  run.says("host1", Hello{.host = "host1", .version = "of another program with the same messages"});
  run.says("host1", Ready{});
  EXPECT_EQ(
      run.untested(),
      fmt::format("host2: its weft is version 0.1 and speaks protocol 1, this one speaks {}\n", kProtocol));
  EXPECT_EQ(run.blame(), "");
  ASSERT_EQ(run.tasks_of("host1").size(), 1u);
  EXPECT_TRUE(run.tasks_of("host2").empty());
}

TEST(Coordinator, GoesOnWithoutAnAgentThatNeverGetsReady) {
  TwoHosts run;
  run.joins("host1");
  run.says("host2", Hello{.host = "host2"});
  run.time_passes(kBegin, seconds(11), {"host1"});
  EXPECT_EQ(run.untested(), "host2: its agent did not get ready\n");
  EXPECT_EQ(run.blame(), "");
  EXPECT_EQ(run.tasks_of("host1").size(), 1u);
}

TEST(Coordinator, WaitsForAnAgentThatLivesWhileItOpensItsNicsButNotForEver) {
  TwoHosts run;
  run.joins("host1");
  run.says("host2", Hello{.host = "host2"});
  run.time_passes(kBegin, seconds(69), {"host1", "host2"});
  EXPECT_EQ(run.untested(), "");
  EXPECT_TRUE(run.tasks_of("host1").empty()) << "nor does the run begin without it";
  run.time_passes(kBegin + seconds(69), seconds(2), {"host1", "host2"});
  EXPECT_EQ(run.untested(), "host2: its agent did not get ready\n");
  EXPECT_EQ(run.blame(), "");
  EXPECT_EQ(run.tasks_of("host1").size(), 1u);
}

TEST(Coordinator, GivesSignsOfLifeToAnAgentThatOpensItsNics) {
  TwoHosts run;
  run.says("host1", Hello{.host = "host1"});
  run.time_passes(kBegin, seconds(3), {"host1"});
  EXPECT_GE(run.signs_of_life_for("host1"), 2);
  EXPECT_EQ(run.signs_of_life_for("host2"), 0) << "it has not come";
}

TEST(Coordinator, TellsHowFarItIsEachSecondThoughNobodyAnswers) {
  TwoHosts run;
  run.joins("host1");
  std::size_t told = run.told_progress();
  run.time_passes(kBegin, seconds(5), {"host1"});
  EXPECT_GE(run.told_progress(), told + 4);
  EXPECT_EQ(run.last_progress().doing, "gathering agents");
  EXPECT_EQ(run.last_progress().done, 1u);
  run.joins("host2");
  told = run.told_progress();
  run.time_passes(kBegin + seconds(5), seconds(3), {"host1", "host2"});
  EXPECT_GE(run.told_progress(), told + 2);
  EXPECT_NE(run.last_progress().doing, "gathering agents");
}

TEST(Coordinator, EndsWhereNoAgentComes) {
  TwoHosts run;
  run.time_passes(kBegin, seconds(11), {});
  EXPECT_TRUE(run.coordinator.is_done());
  EXPECT_EQ(run.blame(), "");
  ASSERT_FALSE(run.coordinator.outcome());
  EXPECT_EQ(run.coordinator.outcome().error().kind, ErrorKind::absent);
  EXPECT_EQ(run.coordinator.outcome().error().message,
            "none of 2 hosts took part; host1: its agent did not come");
}

TEST(Coordinator, GivesUpAnAgentThatFallsSilent) {
  TwoHosts run;
  run.joins("host1");
  run.joins("host2");
  run.answers("host1");
  run.time_passes(kBegin, seconds(7), {"host1"});
  EXPECT_TRUE(run.coordinator.is_done());
  EXPECT_EQ(run.script.given_up, 1);
  EXPECT_NE(run.blame().find("host2: its agent"), std::string::npos) << run.blame();
  EXPECT_EQ(run.blame().find("host1"), std::string::npos) << run.blame();
}

TEST(Coordinator, GivesUpAnAgentThatLivesButDoesNotFinish) {
  TwoHosts run;
  run.joins("host1");
  run.joins("host2");
  run.answers("host1");
  run.time_passes(kBegin, seconds(6), {"host1", "host2"});
  EXPECT_TRUE(run.coordinator.is_done());
  EXPECT_EQ(run.blame(), "host2: its agent did not finish asking in time\n");
}

TEST(Coordinator, TakesAnAnswerOfAnotherKindForNone) {
  TwoHosts run;
  run.joins("host1");
  run.joins("host2");
  run.answers("host1");
  run.answers("host2", {.id = {}, .answer = std::vector<datapath::PingTally>{{0, 1, 1, 0}}});
  EXPECT_TRUE(run.coordinator.is_done());
  EXPECT_EQ(run.script.answered, 1);
  EXPECT_EQ(run.script.given_up, 1);
  EXPECT_NE(run.untested().find("host2: "), std::string::npos) << "it is said, not passed over";
}

TEST(Coordinator, BlamesTheNicWhoseTaskFailedAndAsksItNoMore) {
  TwoHosts run(2);
  run.joins("host1");
  run.joins("host2");
  run.answers("host1");
  run.answers("host2",
              {.id = {}, .error = "interface p1 is down", .answer = std::vector<datapath::ReceivedTally>()});
  EXPECT_EQ(run.blame(), "host2: interface p1 is down\n");
  EXPECT_EQ(run.script.blamed[0].nic, run.host(1));
  EXPECT_EQ(run.tasks_of("host1").size(), 2u);
  EXPECT_EQ(run.tasks_of("host2").size(), 1u);
}

TEST(Coordinator, RefusesAnAnswerThatCannotBeAndBlamesWhoGaveIt) {
  TwoHosts run(2);
  run.joins("host1");
  run.joins("host2");
  const datapath::ReceivedTally impossible{
      .batch = BatchId(1), .from = run.host(1), .packets = 10, .bytes = 9};
  run.answers("host1", {.id = {}, .answer = std::vector<datapath::ReceivedTally>{impossible}});
  run.answers("host2");
  EXPECT_EQ(run.blame(), "host1: its answer cannot be: 9 bytes in 10 packets received\n");
  EXPECT_EQ(run.script.blamed.at(0).nic, run.host(0));
  EXPECT_EQ(run.script.excluded, std::set{run.host(0)});
  EXPECT_EQ(run.script.answered, 1);
  EXPECT_EQ(run.tasks_of("host2").size(), 2u) << "the rest goes on";
}

TEST(Coordinator, TellsEachAgentTheNicsOfTheRun) {
  TwoHosts run;
  const std::vector<datapath::RunNic> targets{
      {run.host(0), *IpAddress::parse("10.0.1.1")},
      {run.host(1), *IpAddress::parse("fd00::9"), LidRange{Lid(8), 2}}};
  run.coordinator.name_targets(targets);
  for (const char* host : {"host1", "host2"}) {
    const auto actions = run.coordinator.on_message(host, Hello{.host = host}, kBegin);
    EXPECT_EQ(std::get<StartRun>(std::get<SendToAgent>(actions.at(0)).message).targets, targets);
  }
}

TEST(Coordinator, LosesAnAgentThatSpeaksGarbageOrLeavesOrBeginsAnew) {
  for (const int how : {0, 1, 2}) {
    TwoHosts run;
    run.joins("host1");
    run.joins("host2");
    if (how == 0) run.speaks_garbage("host2");
    if (how == 1) run.says("host2", Bye{"it was told to stop"});
    if (how == 2) run.says("host2", Hello{.host = "host2"});
    run.answers("host1");
    EXPECT_TRUE(run.coordinator.is_done()) << how;
    EXPECT_NE(run.untested().find("host2: "), std::string::npos) << how;
    EXPECT_EQ(run.blame(), "") << how;
    EXPECT_TRUE(run.was_stopped("host2")) << how;
  }
}

TEST(Coordinator, HeedsNoStrangersNorAnswersToOthersTasks) {
  TwoHosts run;
  run.joins("host1");
  run.says("host9", Hello{.host = "host9"});
  run.speaks_garbage("host9");
  run.joins("host2");
  TaskResult stolen{.id = run.tasks_of("host2").back().id, .answer = std::vector<datapath::ReceivedTally>()};
  run.says("host1", stolen);
  stolen.id = TaskId(4711);
  run.says("host1", stolen);
  EXPECT_EQ(run.script.answered + run.script.given_up, 0);
  EXPECT_EQ(run.blame(), "");
}

/// A NIC whose host lets its flows pause for a while in each of the first `stalls` rounds.
class StallingFlows : public datapath::FlowEngine {
 public:
  StallingFlows(std::shared_ptr<datapath::FlowEngine> real, int stalls)
      : real_(std::move(real)), stalls_(stalls) {}
  Result<std::vector<datapath::FlowTally>> run(const datapath::FlowRequest& request,
                                               std::stop_token stop) override {
    auto tallies = real_->run(request, stop);
    if (tallies && stalls_-- > 0)
      for (datapath::FlowTally& tally : *tallies) tally.longest_gap = request.duration;
    return tallies;
  }

 private:
  std::shared_ptr<datapath::FlowEngine> real_;
  int stalls_;
};

TEST(Coordinator, KnowsSeveralAgentsOfOneHostByTheirOwnNames) {
  const auto fabric = make_rails({.groups = 1, .hosts_per_group = 1, .rails = 2, .spines = 1}).value();
  const NodeId host = fabric.hosts()[0];
  const PortId one = fabric.nics()[0];
  const PortId other = fabric.nics()[1];
  fakes::FakeScript script({one, other}, 1);
  Coordinator coordinator(fabric, script, kSecrets,
                          {{host, {{"a", one}}, "host1/p1"}, {host, {{"b", other}}, "host1/p2"}});
  coordinator.start(kBegin);
  for (const char* agent : {"host1/p1", "host1/p2"}) coordinator.on_message(agent, Hello{}, kBegin);
  coordinator.on_message("host1/p1", Ready{}, kBegin);
  const auto actions = coordinator.on_message("host1/p2", Ready{}, kBegin);
  std::map<std::string, PortId> asked;
  for (const auto& action : actions)
    if (const auto* sent = std::get_if<SendToAgent>(&action))
      asked.emplace(sent->host, std::get<Task>(sent->message).nic);
  EXPECT_EQ(asked, (std::map<std::string, PortId>{{"host1/p1", one}, {"host1/p2", other}}));
  coordinator.give_up("host1/p2", "it ended", kBegin);
  ASSERT_EQ(script.untested.size(), 1u);
  EXPECT_EQ(script.untested[0].nic, other) << "its other NIC is tested";
}

TEST(Coordinator, IsDoneAtOnceWhereNoAgentIsExpected) {
  const auto fabric = make_clos({.leaves = 2, .spines = 1, .hosts_per_leaf = 1}).value();
  fakes::FakeScript script({}, 1);
  Coordinator coordinator(fabric, script, kSecrets, {});
  coordinator.start(kBegin);
  EXPECT_TRUE(coordinator.is_done());
}

/// The document of a whole sweep of a simulated fabric, without times. The first NIC stalls `stalls` times.
std::string swept(const Fabric& fabric, const std::vector<std::string>& fault_texts, std::uint64_t seed,
                  int stalls = 0) {
  std::vector<FaultSpec> faults;
  for (const std::string& text : fault_texts) faults.push_back(parse_fault(fabric, text).value());
  const auto addresses = plan_addresses(fabric, IpFamily::v4).value();
  std::vector<ExpectedHost> hosts;
  std::vector<std::string> names;
  for (const NodeId host : fabric.hosts()) {
    const PortId nic = fabric.find_nic(fabric.name_of(host)).value();
    hosts.push_back({host, {{"p1", nic}}});
    names.push_back(fabric.name_of(host));
  }
  Sweep sweep(fabric, addresses.book,
              {.load = LoadLevel::full, .answers_per_second = 1e5, .probes_per_second = 1500}, RunId(seed));
  Coordinator coordinator(fabric, sweep, {RunId(seed), {}}, hosts);
  const auto simulated = run::simulated_engines(fabric, addresses.book, faults, seed);
  const auto open = [&](const NicAssignment& nic, const packet::RunSecrets& secrets,
                        const datapath::SharedNics& nics) {
    auto engines = simulated(nic, secrets, nics);
    if (engines && nic.nic == fabric.nics()[0])
      engines->flows = std::make_shared<StallingFlows>(engines->flows, stalls);
    return engines;
  };
  EXPECT_TRUE(coordinate_in_process(coordinator, names, open, [](const Progress&) {}, {}));
  const auto report = sweep.finish();
  return files::diagnosis_json(
      files::diagnosis_document(fabric, report.diagnosis, {report.sent, report.lost, {}}, {{}, "1"}));
}

Fabric three_tiers() {
  return make_pod_clos({.pods = 4, .leaves = 2, .spines = 2, .cores = 4, .hosts_per_leaf = 4}).value();
}

/// "LINK from NODE: CAUSE" of every finding of a document.
std::set<std::string> findings_of(const std::string& document) {
  const auto json = nlohmann::json::parse(document);
  std::set<std::string> findings;
  for (const auto& link : json["links"])
    findings.insert(fmt::format("{} from {}: {}", link["link"].get<std::string>(),
                                link.value("from", "either end"), link["cause"].get<std::string>()));
  for (const auto& host : json["hosts"]) findings.insert(host.dump());
  for (const auto& group : json["groups"]) findings.insert(group.dump());
  return findings;
}

TEST(SimulatedSweep, NamesFourFaultsOfDifferentKindsInThreeTiersAndNothingElse) {
  const auto found = swept(three_tiers(),
                           {"leaf1--spine1:loss=1%,from=leaf1", "leaf4--spine4:rate=100G,from=leaf4",
                            "spine5--core1:down", "leaf7--spine8:delay=2ms,from=spine8"},
                           1);
  EXPECT_THAT(findings_of(found),
              ElementsAre("leaf1--spine1 from leaf1: loss", "leaf4--spine4 from leaf4: rate",
                          "leaf7--spine8 from spine8: delay", "spine5--core1 from either end: down"));
}

TEST(SimulatedSweep, PacketsThatComeDamagedAreCorruptionAndNoLoss) {
  const auto found = swept(three_tiers(), {"leaf1--spine1:corruption=2%,from=leaf1"}, 2);
  EXPECT_THAT(findings_of(found), ElementsAre("leaf1--spine1 from leaf1: corruption"));
}

TEST(SimulatedSweep, FindsNothingWhereNothingIsWrong) {
  const auto found = swept(three_tiers(), {}, 3);
  EXPECT_NE(found.find("\"verdict\":\"healthy\""), std::string::npos) << found;
}

TEST(SimulatedSweep, LoadsAgainWhatAStalledSenderLeftUnloaded) {
  const auto found = swept(three_tiers(), {"host1--leaf1:rate=100G,from=host1"}, 4, 4);
  const auto json = nlohmann::json::parse(found);
  EXPECT_TRUE(json["coverage"]["unloaded"].empty()) << found;
  ASSERT_EQ(json["hosts"].size(), 1u) << found;
  EXPECT_EQ(json["hosts"][0]["cause"], "rate");
}

TEST(SimulatedSweep, SaysWhatStalledSendersLeftUnloaded) {
  const auto json = nlohmann::json::parse(swept(three_tiers(), {}, 4, 1000));
  EXPECT_EQ(json["coverage"]["unloaded"], nlohmann::json{"host1->leaf1"});
  EXPECT_EQ(json["coverage"]["complete"], false);
  EXPECT_EQ(json["verdict"], "unknown") << "nobody knows what that cable carries";
}

TEST(SimulatedSweep, GivesTheSameDocumentForTheSameSeed) {
  const std::vector<std::string> faults{"leaf1--spine1:loss=0.5%,from=leaf1"};
  EXPECT_EQ(swept(three_tiers(), faults, 5), swept(three_tiers(), faults, 5));
  EXPECT_NE(swept(three_tiers(), faults, 5), swept(three_tiers(), faults, 6));
}

TEST(Coordinator, TheScriptMeetsTheHostsOnceBeforeItsFirstWave) {
  TwoHosts run(2);
  HostInventory told{.shares_machine = true};
  told.nics.push_back({.interface = "p1", .serves = true, .mtu = Bytes(1500)});
  run.says("host1", Hello{.host = "host1"});
  run.says("host1", Ready{.inventory = told});
  EXPECT_EQ(run.script.meetings, 0);
  run.joins("host2");  // an agent that tells nothing
  EXPECT_EQ(run.script.meetings, 1);
  ASSERT_EQ(run.script.met.size(), 1u);
  EXPECT_EQ(run.script.met[0].inventory, told);
  ASSERT_EQ(run.script.met[0].nics.size(), 1u);
  EXPECT_EQ(run.script.met[0].nics[0].nic, run.host(0));
  run.answers("host1");
  run.answers("host2");
  EXPECT_EQ(run.script.meetings, 1);
}

TEST(Coordinator, ASweepSaysWhatIsWrongWithAHostThatJoined) {
  const Fabric fabric = *make_clos({.leaves = 2, .spines = 2, .hosts_per_leaf = 1});
  const AddressPlan addresses = *plan_addresses(fabric, IpFamily::v4);
  Sweep sweep(fabric, addresses.book, {}, kSecrets.run);
  sweep.expect_of_hosts({.mtu = Bytes(4200)});
  diagnosis::JoinedHost host{fabric.hosts()[0], {{fabric.nics()[0], "p1"}}, {.shares_machine = true}};
  host.inventory.nics.push_back({.interface = "p1", .serves = true, .mtu = Bytes(1500)});
  sweep.meet({host});
  const auto hosts = sweep.finish().diagnosis.hosts;
  ASSERT_EQ(hosts.size(), 1u);
  EXPECT_EQ(hosts[0].cause, Cause::mtu);
  EXPECT_EQ(hosts[0].verdict, Verdict::degraded);
}

}  // namespace
}  // namespace weft::session
