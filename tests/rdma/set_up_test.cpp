// How queue pairs come to be on real packets of soft-RoCE: their marks and labels, a label that changes, an
// address that goes, what the host does not allow, what the device counts.
#include <gmock/gmock.h>

#include <thread>

#include "tests/places.hpp"
#include "tests/rdma/queue_pairs_rig.hpp"
#include "tests/support/left_labs.hpp"

namespace weft {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;

const auto* const kRemovesLeftLabs = testing::AddGlobalTestEnvironment(new RemovesLeftLabs);

std::map<std::string, std::uint64_t> counted(const RigAnswers& done) {
  if (done.answers.size() != 1 || !done.answers[0]) return {};
  const auto& read = std::get<std::vector<NicCounters>>(*done.answers[0]);
  return read.empty() ? std::map<std::string, std::uint64_t>() : read[0].values;
}

TEST_F(QueuePairs, MarkTheirPacketsWithTheTrafficClassThatWasAskedFor) {
  RigAnswers done;
  const auto seen = rig().packets_of("host1", [&] {
    done =
        rig().run({"host1", "host3"}, {{flows({50'000}, seconds(1))}}, {.packets = {.traffic_class = 104}});
  });
  ASSERT_EQ(done.error, "");
  EXPECT_THAT(done.uses[rig().nic("host1")], HasSubstr("traffic class 104"));
  std::size_t marked = 0;
  for (const SeenPacket& packet : seen) marked += packet.traffic_class == 104;
  EXPECT_GT(seen.size(), 10u);
  EXPECT_EQ(marked, seen.size());
}

TEST_F(QueuePairs, TakeTheTrafficClassOfTheJobWhereNobodyAsks) {
  const RdmaRig::Restricted job(rig(), "host1", "NCCL_IB_TC=96 exec");
  RigAnswers done;
  const auto seen = rig().packets_of("host1", [&] {
    done = rig().run({"host1", "host3"}, {{flows({50'000}, seconds(1))}});
  });
  ASSERT_EQ(done.error, "");
  EXPECT_THAT(done.uses[rig().nic("host1")], HasSubstr("traffic class 96 (NCCL_IB_TC)"));
  EXPECT_GT(seen.size(), 10u);
  for (const SeenPacket& packet : seen) ASSERT_EQ(packet.traffic_class, 96);
}

TEST_F(QueuePairs, MoveToAnotherLabelWhileTheyLive) {
  auto work = flows({50'000}, seconds(3));
  std::get<datapath::FlowRequest>(work.work).specs[0].then = PathLabel(61'000);
  RigAnswers done;
  const auto seen = rig().packets_of("host1", [&] { done = rig().run({"host1", "host3"}, {{work}}); });
  ASSERT_EQ(done.answers.size(), 1u) << done.error;
  ASSERT_TRUE(done.answers[0]) << done.blamed.at(0).text;
  const auto tally = std::get<std::vector<datapath::FlowTally>>(*done.answers[0]).at(0);
  EXPECT_EQ(tally.moved, (datapath::LabelChange{true, "by the drained state"}));
  EXPECT_FALSE(tally.error) << *tally.error;
  const auto by_qp = ports_by_qp(seen);
  ASSERT_EQ(by_qp.size(), 1u);
  EXPECT_EQ(by_qp.begin()->second, (std::set<UdpPort>{UdpPort(50'000), UdpPort(61'000)}));
  EXPECT_EQ(seen.back().source_port, UdpPort(61'000));
}

TEST_F(QueuePairs, FindTheirPeersByAddressAlone) {
  const auto done =
      rig().run({"host1", "host3"}, {{flows({50'000, 51'000}, seconds(1))}, {asked("host3", 1)}},
                {.exchange = run::ExchangeBy::address});
  ASSERT_EQ(done.error, "");
  ASSERT_TRUE(done.blamed.empty()) << done.blamed[0].text;
  EXPECT_THAT(done.uses.at(rig().nic("host1")), HasSubstr("peers found by address (librdmacm)"));
  ASSERT_EQ(done.answers.size(), 2u);
  const auto receipts = std::get<std::vector<datapath::ReceivedTally>>(done.answers[1].value());
  ASSERT_EQ(receipts.size(), 2u);
  for (const auto& receipt : receipts) EXPECT_GT(receipt.packets, 0u);
}

TEST_F(QueuePairs, WhoseGidVanishesMidRunAreAFindingOfTheirHost) {
  const std::string address = to_string(rig().peer("host1").address);
  RigAnswers done;
  std::jthread remover([&] {
    std::this_thread::sleep_for(seconds(4));
    const auto gone = rig().in("host1", {"sh", "-c", "/bin/ip address flush dev p1 to " + address});
    EXPECT_EQ(gone.status, 0) << gone.errors;
  });
  done = rig().run({"host1", "host3"}, {{flows({50'000}, seconds(9))}});
  remover.join();
  rig().restore_nic("host1");
  EXPECT_TRUE(done.blames("GID 1 (::ffff:" + address + ") has gone"))
      << (done.blamed.empty() ? "nothing was blamed" : done.blamed[0].text);
}

TEST_F(QueuePairs, WhoseMemoryMayNotBeLockedSayTheLimit) {
  const RdmaRig::Restricted small(rig(), "host1", "ulimit -l 64; exec /bin/setpriv --bounding-set -ipc_lock");
  const auto done = rig().run({"host1", "host3"}, {{flows({50'000, 50'001, 50'002, 50'003}, seconds(1))}});
  EXPECT_TRUE(done.blames("cannot lock "))
      << (done.blamed.empty() ? "nothing was blamed" : done.blamed[0].text);
  EXPECT_TRUE(done.blames("(limit: 64 KiB): raise it with `ulimit -l unlimited`"));
}

TEST_F(QueuePairs, OfAHostThatRefusesThemAreNotTestedAndTheOthersAreSwept) {
  const RdmaRig::Restricted small(rig(), "host2", "ulimit -l 64; exec /bin/setpriv --bounding-set -ipc_lock");
  auto document = sweep("none", "6s");
  EXPECT_TRUE(document["hosts"].empty()) << said_;
  auto& not_tested = document["coverage"]["not_tested"];
  ASSERT_EQ(not_tested.size(), 1u) << said_;
  EXPECT_EQ(not_tested[0]["host"], "host2");
  EXPECT_THAT(not_tested[0]["why"].dump(), HasSubstr("cannot lock "));
  EXPECT_EQ(document["coverage"]["probed"], 30) << "all channels but those of host2 and its leaf";
}

TEST_F(QueuePairs, WhoseLibraryHasNoDriverForTheDeviceSaySo) {
  ASSERT_EQ(rig().in("host4", {"mv", "/etc/libibverbs.d", "/etc/away"}).status, 0);
  const auto done = rig().run({"host1", "host4"}, {{asked("host1", 9)}});
  EXPECT_EQ(rig().in("host4", {"mv", "/etc/away", "/etc/libibverbs.d"}).status, 0);
  EXPECT_TRUE(done.blames("libibverbs does not see this host's RDMA device rxe_p1"))
      << (done.blamed.empty() ? "nothing was blamed" : done.blamed[0].text);
}

TEST_F(QueuePairs, WhoseInterfaceGoesDownMidRunSaySo) {
  RigAnswers done;
  std::jthread downer([&] {
    std::this_thread::sleep_for(seconds(4));
    EXPECT_EQ(rig().in("host1", {"/bin/ip", "link", "set", "p1", "down"}).status, 0);
  });
  done = rig().run({"host1", "host3"}, {{flows({50'000}, seconds(7))}});
  downer.join();
  rig().restore_nic("host1");
  EXPECT_TRUE(done.blames("rxe_p1: port 1 is not active: is p1 up"))
      << (done.blamed.empty() ? "nothing was blamed" : done.blamed[0].text);
}

TEST_F(QueuePairs, WhoseDeviceMayNotBeOpenedSayWhichFile) {
  const RdmaRig::Restricted denied(rig(), "host1",
                                   "chmod 000 /dev/infiniband/uverbs0; exec /bin/setpriv --bounding-set "
                                   "-dac_override,-dac_read_search");
  const auto done = rig().run({"host1", "host3"}, {{asked("host3", 9)}});
  EXPECT_EQ(rig().in("host1", {"chmod", "600", "/dev/infiniband/uverbs0"}).status, 0);
  EXPECT_TRUE(
      done.blames("no RDMA device may be opened; rxe_p1 (/dev/infiniband/uverbs0): Permission denied"))
      << (done.blamed.empty() ? "nothing was blamed" : done.blamed[0].text);
}

TEST_F(QueuePairs, ALinkThatWentDownIsCountedByItsDevice) {
  const session::WorkItem question{rig().nic("host4"), seconds(5), session::CounterQuery{}};
  const auto before = counted(rig().run({"host1", "host4"}, {{question}}));
  ASSERT_TRUE(before.contains("link_downed"));
  EXPECT_EQ(rig().in("host4", {"/bin/ip", "link", "set", "p1", "down"}).status, 0);
  rig().restore_nic("host4");
  const auto after = counted(rig().run({"host1", "host4"}, {{question}}));
  ASSERT_TRUE(after.contains("link_downed"));
  EXPECT_EQ(after.at("link_downed"), before.at("link_downed") + 1);
}

/// Two guests on an IPv6 lab.
class QueuePairsOverIpv6 : public testing::Test {
 protected:
  static constexpr const char* kFabric =
      "fabric: rig6\nkind: roce\nclos: {leaves: 2, spines: 2, hosts_per_leaf: 1}\nlab: {link_rate: 10M, "
      "family: ipv6, guests: all, guest_image: " WEFT_BINARY_DIR "/guest}\n";
};

TEST_F(QueuePairsOverIpv6, GoByTheGidOfTheAddressAndKeepTheirLabels) {
  if (const auto missing = missing_for_guests(); !missing.empty()) GTEST_SKIP() << missing;
  const RdmaRig rig(kFabric);
  ASSERT_EQ(rig.trouble(), "");
  datapath::FlowRequest request{.run = RunId(1),
                                .batch = BatchId(1),
                                .peers = {rig.peer("host2")},
                                .specs = {{0, PathLabel(50'000), Bandwidth::mbit(1), Bytes(4096)},
                                          {0, PathLabel(61'000), Bandwidth::mbit(1), Bytes(4096)}},
                                .duration = seconds(1)};
  RigAnswers done;
  const auto seen = rig.packets_of("host1", [&] {
    done = rig.run({"host1", "host2"}, {{session::WorkItem{rig.nic("host1"), seconds(20), request}}},
                   {.packets = {.traffic_class = 104}});
  });
  ASSERT_EQ(done.error, "");
  ASSERT_TRUE(done.blamed.empty()) << done.blamed[0].text;
  EXPECT_THAT(done.uses[rig.nic("host1")], HasSubstr("(RoCE v2, " + to_string(rig.peer("host1").address)));
  std::set<UdpPort> ports;
  for (const SeenPacket& packet : seen) {
    EXPECT_TRUE(packet.v6);
    EXPECT_EQ(packet.traffic_class, 104);
    ports.insert(packet.source_port);
  }
  EXPECT_EQ(ports, (std::set<UdpPort>{UdpPort(50'000), UdpPort(61'000)}));
  expect_healthy_but_for_this_machine(document_of(
      rig.weft({"sweep", "--lab=" + rig.name(), "--load", "none", "--budget", "6s", "-o", "json"})));
}

}  // namespace
}  // namespace weft
