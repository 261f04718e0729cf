// Queue pairs over real packets: four guests with soft-RoCE on the 4x4 lab. The guests are booted once for
// all tests.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "probes/packet/probe_frame.hpp"
#include "tests/rdma/queue_pairs_rig.hpp"

namespace weft {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;
using Json = nlohmann::json;

TEST_F(QueuePairs, FindNothingInAHealthyFabric) {
  auto document = sweep("none", "6s");
  expect_healthy_but_for_this_machine(document);
  EXPECT_EQ(document["coverage"]["complete"], true);
  EXPECT_EQ(document["coverage"]["probed"], 40);
  ASSERT_EQ(document["nics"].size(), 4u);
  for (auto& nic : document["nics"]) {
    EXPECT_THAT(nic["uses"].get<std::string>(), HasSubstr("(RoCE v2, ::ffff:"));
    EXPECT_GT(nic["counters"]["grew"]["sent_pkts"], 0);
    EXPECT_GT(nic["delays"]["prober"]["p50"], 0) << nic.dump();
    EXPECT_GT(nic["delays"]["responder"]["p99"], 0);
    EXPECT_EQ(nic["delays"]["by_device"], false) << "soft-RoCE stamps nothing";
  }
}

TEST_F(QueuePairs, AskedForMemoryOfGpusThatAreNotThereSayWhatIsMissing) {
  const auto answer = rig().weft({"sweep", "--lab=" + rig().name(), "--engine", "verbs", "--memory", "gpu",
                                  "--budget", "6s", "-o", "json"});
  EXPECT_EQ(answer.status, 2) << answer.errors;
  EXPECT_THAT(answer.output, HasSubstr("memory of a GPU")) << "a finding of every host";
}

TEST_F(QueuePairs, NameTheChannelThatOnlyTheLabelsOfSomeCross) {
  rig().user().fault("leaf1--spine2", {"--loss", "1", "--from", "leaf1"});
  auto document = sweep("full", "30s");
  rig().weft({"lab", "heal", "--name", rig().name()});
  bool named = false;
  for (auto& link : document["links"])
    named |= link["link"] == "leaf1--spine2" && link["from"] == "leaf1" && link["cause"] == "loss";
  for (auto& link : document["links"]) EXPECT_EQ(link["link"], "leaf1--spine2") << said_;
  // Whether a device also counts a packet sent again is chance: probes' connections send none again.
  for (auto& nic : document["nics"]) EXPECT_GT(nic["counters"]["grew"]["sent_pkts"], 0) << nic.dump();
  EXPECT_TRUE(named) << said_;
}

TEST_F(QueuePairs, NameTheHostInWhoseMemoryAReceivedByteChanged) {
  const RdmaRig::TestAgent bad(rig(), "host3", "flipping_agent");
  auto document = sweep("full", "6s");
  EXPECT_EQ(document["verdict"], "failed") << said_;
  std::set<std::string> corrupted;
  for (auto& host : document["hosts"])
    if (host["cause"] == "corruption") {
      corrupted.insert(host["host"]);
      EXPECT_EQ(host["verdict"], "failed");
      EXPECT_THAT(host["evidence"].dump(), HasSubstr("silent corruption"));
    }
  EXPECT_EQ(corrupted, std::set<std::string>{"host3"}) << said_;
  for (auto& link : document["links"]) EXPECT_NE(link["cause"], "corruption") << said_;
}

TEST_F(QueuePairs, UseThePortTheyWereGivenAndNoOther) {
  const std::vector<std::uint32_t> labels{49152, 49153, 50152, 51000, 57345, 60001, 65000, 65535};
  RigAnswers done;
  const auto seen = rig().ports_used("host1", [&] {
    done = rig().run({"host1", "host3"}, {{flows(labels, seconds(1))}});
  });
  ASSERT_EQ(done.error, "");
  ASSERT_TRUE(done.blamed.empty()) << done.blamed[0].text;
  std::set<UdpPort> ports;
  for (const auto& [qp, used] : seen) {
    EXPECT_EQ(used.size(), 1u) << "queue pair " << qp.value() << " changed its port";
    ports.insert(used.begin(), used.end());
  }
  EXPECT_EQ(seen.size(), labels.size());
  std::set<UdpPort> given;
  for (const auto label : labels) given.insert(UdpPort(static_cast<std::uint16_t>(label)));
  EXPECT_EQ(ports, given);
}

TEST_F(QueuePairs, WithoutALabelUseThePortsThatTheirNumbersGive) {
  constexpr std::size_t kCount = 12;
  auto work = flows(std::vector<std::uint32_t>(kCount, 0), milliseconds(500));
  for (datapath::FlowSpec& spec : std::get<datapath::FlowRequest>(work.work).specs)
    spec = {0, std::nullopt, Bandwidth::mbit(0.2), Bytes(256)};
  RigAnswers done;
  const auto seen = rig().ports_used("host1", [&] { done = rig().run({"host1", "host3"}, {{work}}); });
  ASSERT_EQ(done.answers.size(), 1u) << done.error;
  ASSERT_TRUE(done.answers[0]);
  std::multiset<std::uint32_t> told;
  for (const datapath::FlowTally& tally : std::get<std::vector<datapath::FlowTally>>(*done.answers[0]))
    if (tally.chosen) told.insert(tally.chosen->value());
  std::multiset<std::uint32_t> captured;
  for (const auto& [qp, ports] : seen)
    for (const UdpPort port : ports) captured.insert(port.value());
  EXPECT_EQ(captured.size(), kCount);
  EXPECT_EQ(told, captured);
}

TEST_F(QueuePairs, WithDefaultSettingsAreAuditedPathByPath) {
  const auto answer = rig().weft({"trace", "host1", "host3", "--lab=" + rig().name(), "--audit", "12"});
  EXPECT_EQ(answer.status, 0) << answer.errors;
  EXPECT_THAT(answer.output, HasSubstr("12 queue pairs with default settings use "));
  int on_paths = 0;
  std::set<std::string> paths;
  std::istringstream lines(answer.output);
  for (std::string line; std::getline(lines, line);) {
    const auto at = line.find("host1->leaf1->");
    if (at == std::string::npos) continue;
    on_paths += std::stoi(line);
    paths.insert(line.substr(at));
  }
  EXPECT_EQ(on_paths, 12) << answer.output;
  EXPECT_EQ(paths.size(), 4u) << "all paths are listed, used or not";
}

/// Queue pairs by port, as a document has them.
std::map<UdpPort, std::size_t> ports_told(Json& ports) {
  std::map<UdpPort, std::size_t> told;
  for (Json& port : ports) told[UdpPort(port["port"].get<std::uint16_t>())] = port["queue_pairs"];
  return told;
}

TEST_F(QueuePairs, AuditedMoveAliveToThePortsThatAreToldAndSpreadEvenly) {
  Answer answer;
  auto seen = rig().packets_of("host1", [&] {
    answer = rig().weft(
        {"trace", "host1", "host3", "--lab=" + rig().name(), "--audit", "12", "--move", "-o", "json"});
  });
  std::erase_if(seen,
                [](const SeenPacket& packet) { return packet.qp == packet::kProbeQueuePair; });  // traces
  EXPECT_EQ(answer.status, 0) << answer.errors;
  expect_matches_schema(answer.output, "audit");
  auto document = Json::parse(answer.output, nullptr, false);
  auto& move = document["move"];
  EXPECT_EQ(move["moved"], 12) << answer.output;
  EXPECT_EQ(move["manners"], Json::parse(R"([{"manner":"by the drained state","queue_pairs":12}])"));
  EXPECT_TRUE(move["failures"].empty()) << answer.output;
  ASSERT_EQ(move["ways"].size(), 4u);
  for (auto& way : move["ways"]) EXPECT_EQ(way["queue_pairs"], 3);

  std::map<QpNum, std::pair<UdpPort, UdpPort>> first_and_last;
  for (const SeenPacket& packet : seen)
    first_and_last.try_emplace(packet.qp, packet.source_port, packet.source_port).first->second.second =
        packet.source_port;
  std::map<UdpPort, std::size_t> before;
  std::map<UdpPort, std::size_t> after;
  for (const auto& [qp, ports] : first_and_last) {
    ++before[ports.first];
    ++after[ports.second];
  }
  EXPECT_EQ(first_and_last.size(), 12u);
  EXPECT_EQ(before, ports_told(document["ports"]));
  EXPECT_EQ(after, ports_told(move["ports"]));
  for (const auto& [qp, used] : ports_by_qp(seen)) EXPECT_LE(used.size(), 2u) << "queue pair " << qp.value();
}

TEST_F(QueuePairs, AuditedFindTheirPeersByTheCoordinatorOrByAddress) {
  constexpr QpNum kConnectionManagers(1);  // where librdmacm's own messages go
  for (const std::string exchange : {"nats", "rdmacm"}) {
    Answer answer;
    const auto seen = rig().ports_used("host1", [&] {
      answer = rig().weft({"trace", "host1", "host3", "--lab=" + rig().name(), "--audit", "5", "--exchange",
                           exchange, "-o", "json"});
    });
    EXPECT_EQ(answer.status, 0) << answer.errors;
    expect_matches_schema(answer.output, "audit");
    EXPECT_EQ(Json::parse(answer.output, nullptr, false)["queue_pairs"], 5) << answer.errors;
    EXPECT_EQ(seen.contains(kConnectionManagers), exchange == "rdmacm") << exchange;
  }
}

TEST_F(QueuePairs, CountPingsOneWayAndTellTheHostsDelaysFromTheNetworks) {
  const auto done = rig().run({"host1", "host3"}, {{pings(50, 4)}, {asked("host3", 2)}});
  ASSERT_EQ(done.answers.size(), 2u) << done.error;
  const auto tallies = std::get<std::vector<datapath::PingTally>>(done.answers[0].value());
  ASSERT_EQ(tallies.size(), 4u);
  for (const auto& tally : tallies) {
    EXPECT_EQ(tally.sent, 50u);
    EXPECT_GE(tally.answered, 45u);
    ASSERT_TRUE(tally.rtt && tally.delays);
    EXPECT_GT(tally.delays->responder.p50, Nanoseconds(0));
    EXPECT_FALSE(tally.delays->by_hardware) << "soft-RoCE stamps nothing";
  }
  const auto receipts = std::get<std::vector<datapath::ReceivedTally>>(done.answers[1].value());
  ASSERT_EQ(receipts.size(), 4u);
  for (const auto& receipt : receipts) {
    EXPECT_EQ(receipt.from, rig().nic("host1"));
    EXPECT_GE(receipt.packets, 45u);
    EXPECT_LE(receipt.packets, 50u);
    EXPECT_EQ(receipt.bytes, receipt.packets * 128);
  }
}

TEST_F(QueuePairs, ReportWhatAFlowMovedAndThatItArrivedAsSent) {
  const auto done =
      rig().run({"host1", "host3"}, {{flows({50'000, 51'000}, seconds(2))}, {asked("host3", 1)}});
  ASSERT_EQ(done.answers.size(), 2u) << done.error;
  const auto tallies = std::get<std::vector<datapath::FlowTally>>(done.answers[0].value());
  const auto receipts = std::get<std::vector<datapath::ReceivedTally>>(done.answers[1].value());
  ASSERT_EQ(receipts.size(), 2u);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_FALSE(tallies[i].error) << *tallies[i].error;
    // 1 Mbit/s for two seconds.
    EXPECT_NEAR(static_cast<double>(receipts[i].bytes), 250'000, 60'000);
  }
}

TEST_F(QueuePairs, MoveAVolumeByEachOperationToWhoReceives) {
  constexpr std::uint64_t kVolume = 400'000;
  for (const auto operation : {FlowOperation::write, FlowOperation::read, FlowOperation::send}) {
    const auto name = std::string(to_string(operation));
    auto work = flows({50'000, 51'000, 52'000}, seconds(20));
    auto& request = std::get<datapath::FlowRequest>(work.work);
    request.flow_options = {.operation = operation,
                            .message = Bytes(16'384),
                            .depth = 4,
                            .warm_up = milliseconds(200),
                            .volume = Bytes(kVolume)};
    const char* receiver = operation == FlowOperation::read ? "host1" : "host3";
    const auto done = rig().run({"host1", "host3"}, {{work}, {asked(receiver, 1)}});
    ASSERT_EQ(done.answers.size(), 2u) << name << done.error;
    ASSERT_TRUE(done.answers[0]) << name << (done.blamed.empty() ? "" : done.blamed[0].text);
    const auto tallies = std::get<std::vector<datapath::FlowTally>>(*done.answers[0]);
    const auto receipts = std::get<std::vector<datapath::ReceivedTally>>(done.answers[1].value());
    ASSERT_EQ(receipts.size(), 3u) << name;
    for (const datapath::FlowTally& tally : tallies) {
      EXPECT_FALSE(tally.error) << name << *tally.error;
      ASSERT_TRUE(tally.measure) << name;
      EXPECT_GE(tally.measure->bytes, kVolume) << name;
      EXPECT_LT(tally.measure->bytes, kVolume + 20'000) << name << ": it ends with its volume";
      EXPECT_EQ(receipts[tally.spec].bytes, tally.measure->bytes) << name;
      EXPECT_GE(tally.measure->messages.count(), tally.measure->packets / 8) << name;
    }
  }
}

TEST_F(QueuePairs, LoadAsAnIncastAndGiveEachSenderItsRight) {
  auto document =
      sweep("light", "6s", {"--pattern", "incast", "--qps", "2", "--load-time", "2s", "--warm-up", "300ms"});
  expect_healthy_but_for_this_machine(document);
  auto& flows = document["flows"];
  EXPECT_EQ(flows["receivers"].size(), 4u) << said_;
  for (auto& receiver : flows["receivers"]) EXPECT_EQ(receiver["senders"], 3);
  for (auto& flow : flows["flows"]) {
    EXPECT_EQ(flow["qps"].size(), 2u);
    if (flow["sender_stalled"]) continue;
    for (auto& qp : flow["qps"]) EXPECT_GT(qp["latency_us"]["count"].get<int>(), 10);
  }
  EXPECT_TRUE(flows["slow"].empty()) << said_;
}

TEST_F(QueuePairs, LoadAllPairsAndFindAHealthyFabricHealthy) {
  auto document = sweep("full", "6s", {"--pattern", "all-pairs", "--qps", "2"});
  expect_healthy_but_for_this_machine(document);
  std::set<std::pair<std::string, std::string>> pairs;
  for (auto& flow : document["flows"]["flows"]) pairs.emplace(flow["src"], flow["dst"]);
  EXPECT_EQ(pairs.size(), 12u) << said_;
  EXPECT_TRUE(document["flows"]["slow"].empty()) << said_;
}

TEST_F(QueuePairs, ThatLoseTheirPathMidFlowEndWithTheReason) {
  RigAnswers done;
  std::jthread fault([&] {
    std::this_thread::sleep_for(seconds(4));
    rig().user().fault("host3--leaf3", {"--loss", "100", "--from", "leaf3"});
  });
  done = rig().run({"host1", "host3"}, {{flows({50'000}, seconds(9))}});
  fault.join();
  rig().weft({"lab", "heal", "--name", rig().name()});
  ASSERT_EQ(done.answers.size(), 1u) << done.error;
  ASSERT_TRUE(done.answers[0]) << done.blamed.at(0).text;
  const auto tallies = std::get<std::vector<datapath::FlowTally>>(*done.answers[0]);
  ASSERT_TRUE(tallies.at(0).error);
  EXPECT_THAT(*tallies[0].error, HasSubstr("status 12"));
}

TEST_F(QueuePairs, WhosePeerDiesEndTooAndTheDeadAgentIsBlamed) {
  RigAnswers done;
  std::jthread killer([&] {
    const auto agent = child_with_word(getpid(), "host3");
    std::this_thread::sleep_for(seconds(4));
    if (agent) kill(*agent, SIGKILL);
  });
  done = rig().run({"host1", "host3"}, {{flows({50'000}, seconds(12))}});
  killer.join();
  ASSERT_EQ(done.answers.size(), 1u) << done.error;
  EXPECT_TRUE(done.blames("its agent"));
  ASSERT_TRUE(done.answers[0]);
  EXPECT_TRUE(std::get<std::vector<datapath::FlowTally>>(*done.answers[0]).at(0).error);
}

TEST_F(QueuePairs, MoreThanTheCompletionQueueHoldsAreRefusedBeforeItOverruns) {
  auto work = flows(std::vector<std::uint32_t>(80, 50'000), seconds(1));
  std::get<datapath::FlowRequest>(work.work).flow_options = {
      .operation = FlowOperation::send, .message = Bytes(64), .depth = 64};  // 256 places each
  const auto done = rig().run({"host1", "host3"}, {{work}});
  ASSERT_EQ(done.answers.size(), 1u) << done.error;
  ASSERT_TRUE(done.answers[0]) << done.blamed.at(0).text;
  EXPECT_THAT(std::get<std::vector<datapath::FlowTally>>(*done.answers[0]).at(0).refused.value_or(""),
              HasSubstr("would overrun"));
}

TEST_F(QueuePairs, ProbesOfManyWaysKeepWithinWhatTheFarQueueHolds) {
  const auto done = rig().run({"host1", "host3"}, {{pings(1, 150)}});
  ASSERT_EQ(done.answers.size(), 1u) << done.error;
  ASSERT_TRUE(done.answers[0]) << done.blamed.at(0).text;
  for (const auto& tally : std::get<std::vector<datapath::PingTally>>(*done.answers[0])) {
    EXPECT_FALSE(tally.refused) << *tally.refused;
    EXPECT_EQ(tally.sent, 1u);
  }
}

TEST_F(QueuePairs, OfAHostWithoutADeviceAreAFindingThatSaysSo) {
  ASSERT_EQ(rig().in("host4", {"rdma", "link", "delete", "rxe_p1"}).status, 0);
  const auto done = rig().run({"host1", "host4"}, {{asked("host1", 9)}});
  const auto back = rig().in("host4", {"rdma", "link", "add", "rxe_p1", "type", "rxe", "netdev", "p1"});
  EXPECT_EQ(back.status, 0) << back.errors;
  EXPECT_TRUE(done.blames("no RDMA device")) << done.error;
}

}  // namespace
}  // namespace weft
