// How queue pairs come to be over fake devices: their GID, how their packets are marked, whose clock they go
// by, a change of label; and what is said where the host refuses.
#include <gmock/gmock.h>

#include <limits>
#include <map>

#include "probes/packet/roce.hpp"
#include "tests/probes/engine/verbs/fake_hosts.hpp"

namespace weft::verbs {
namespace {

using fakes::FakeVerbs;
using std::chrono::hours;
using std::chrono::milliseconds;
using ::testing::Contains;
using ::testing::Each;
using ::testing::Field;
using ::testing::HasSubstr;

std::string refusal_of(FakeHosts& hosts, const IpAddress& address) {
  const auto opened = open_verbs_engine(
      hosts.fake.library(),
      {.gid = {address, ""}, .traffic = {}, .memory = {run::host_memory, run::host_memory}});
  return opened ? "" : opened.error().message;
}

/// What the far end is by this driver says of pings by datagrams.
std::string answer_of(rdma::RdmaDriver driver) {
  FakeHosts hosts{.probes = datapath::ProbeTransport::datagram};
  hosts.probes = datapath::ProbeTransport::connected;
  hosts.fake.drive(FakeHosts::kThere, driver);
  hosts.there = hosts.open(FakeHosts::kThere);
  return said_no(hosts.here->ping(hosts.pings(1), {}));
}

TEST(SetUp, TheDeviceItsGidAndWhyAreSaid) {
  FakeHosts hosts;
  EXPECT_EQ(
      hosts.here->uses(),
      "fake0 port 1, GID 0 (RoCE v2, ::ffff:10.0.1.1): the NIC's address; probes by connections (UC); time "
      "stamps of the host; flows in host memory");
}

TEST(SetUp, PacketsAreMarkedAsAskedForAtBothEnds) {
  FakeHosts hosts;
  hosts.traffic = {.traffic_class = 104, .service_level = 3};
  hosts.here = hosts.open(FakeHosts::kHere);
  hosts.there = hosts.open(FakeHosts::kThere);
  auto request = hosts.flows({50'000});
  request.duration = milliseconds(100);
  const auto seen = hosts.seen_during([&] { ASSERT_TRUE(hosts.here->run(request, {})); }).marks;
  ASSERT_EQ(seen.size(), 2u);
  EXPECT_THAT(seen, Each(FakeVerbs::Marks{packet::flow_label_for(UdpPort(50'000)), 104, 3}));
}

TEST(SetUp, ALiveFlowMovesToItsSecondLabelHalfWay) {
  FakeHosts hosts;
  auto request = hosts.flows({50'000});
  request.duration = milliseconds(200);
  request.specs[0].then = PathLabel(61'000);
  std::vector<FakeVerbs::Marks> late;
  std::jthread watcher([&] {
    std::this_thread::sleep_for(milliseconds(160));
    late = hosts.fake.marks();
  });
  const auto tallies = hosts.here->run(request, {});
  watcher.join();
  ASSERT_TRUE(tallies);
  EXPECT_EQ(tallies->at(0).moved, (datapath::LabelChange{true, "by the drained state"}));
  EXPECT_FALSE(tallies->at(0).error);
  EXPECT_THAT(late, Contains(Field(&FakeVerbs::Marks::flow_label, packet::flow_label_for(UdpPort(61'000)))));
}

TEST(SetUp, ABusyFlowLetsWhatIsUnderWayEndBeforeItMoves) {
  FakeHosts hosts;
  hosts.fake.tell_one_by_one();
  auto request = hosts.flows({50'000, 50'001}, Bandwidth::gbit(1e9));
  for (datapath::FlowSpec& spec : request.specs) spec.then = PathLabel(61'000);
  const auto tallies = hosts.here->run(request, {});
  ASSERT_TRUE(tallies);
  for (const datapath::FlowTally& tally : *tallies) {
    EXPECT_EQ(tally.moved, (datapath::LabelChange{true, "by the drained state"}));
    EXPECT_FALSE(tally.error);
  }
}

TEST(SetUp, FlowsThatMoveGetAsMuchTimeAfterwardsHoweverLongTheDeviceTakes) {
  FakeHosts hosts;
  hosts.fake.drain_slowly(FakeHosts::kHere, 10);  // asked every millisecond
  auto request = hosts.flows({50'000, 50'001, 50'002, 50'003});
  request.duration = milliseconds(20);
  for (datapath::FlowSpec& spec : request.specs) spec.then = PathLabel(61'000);
  const auto tallies = hosts.here->run(request, {});
  ASSERT_TRUE(tallies);
  for (const datapath::FlowTally& tally : *tallies) {
    EXPECT_EQ(tally.moved, (datapath::LabelChange{true, "by the drained state"}));
    EXPECT_GE(tally.elapsed, milliseconds(20 + 4 * 10));
  }
}

TEST(SetUp, WhereQueuePairsDoNotDrainTheOthersAreLeftAsTheyAre) {
  FakeHosts hosts;
  hosts.fake.drain_slowly(FakeHosts::kHere, std::numeric_limits<int>::max());
  auto request = hosts.flows({50'000, 50'001, 50'002, 50'003});
  for (datapath::FlowSpec& spec : request.specs) spec.then = PathLabel(61'000);
  const auto tallies = hosts.here->run(request, {});
  ASSERT_TRUE(tallies) << tallies.error().message;
  std::map<std::string, std::size_t> said;
  for (const datapath::FlowTally& tally : *tallies) {
    ASSERT_TRUE(tally.moved);
    EXPECT_FALSE(tally.moved->done);
    ++said[tally.moved->how];
  }
  EXPECT_EQ(said["fake0: a queue pair does not drain"], 2u);
  EXPECT_EQ(said["not tried: others did not drain"], 2u);
}

TEST(SetUp, AFlowThatItsDeviceDoesNotLetMoveSaysWhyAndGoesOn) {
  FakeHosts hosts;
  constexpr std::size_t kUntilConnected = 6;  // three states, at both ends
  hosts.fake.refuse(FakeVerbs::Call::modify_qp, EINVAL, kUntilConnected);
  auto request = hosts.flows({50'000});
  request.specs[0].then = PathLabel(61'000);
  const auto tallies = hosts.here->run(request, {});
  ASSERT_TRUE(tallies);
  EXPECT_EQ(tallies->at(0).moved,
            (datapath::LabelChange{false, "fake0: a queue pair does not become drained: Invalid argument"}));
  EXPECT_FALSE(tallies->at(0).error);
  EXPECT_EQ(hosts.leaked(), 0u);
}

/// Over devices with these limits, with so many messages under way: what either end was connected with.
std::pair<rdma::ReadLimits, rdma::ReadLimits> connected(const rdma::ReadLimits& here,
                                                        const rdma::ReadLimits& there, std::uint32_t depth) {
  FakeHosts hosts;
  hosts.fake.limit_reads(FakeHosts::kHere, here);
  hosts.fake.limit_reads(FakeHosts::kThere, there);
  hosts.here = hosts.open(FakeHosts::kHere);
  hosts.there = hosts.open(FakeHosts::kThere);
  auto request = hosts.flows({50'000});
  request.flow_options = {.operation = FlowOperation::read, .depth = depth};
  EXPECT_TRUE(hosts.here->run(request, {}));
  return {hosts.fake.reads_given(FakeHosts::kHere), hosts.fake.reads_given(FakeHosts::kThere)};
}

TEST(SetUp, AsManyReadsAreUnderWayAsOneEndAsksForAndTheOtherServes) {
  using Both = std::pair<rdma::ReadLimits, rdma::ReadLimits>;
  EXPECT_EQ(connected({.asks = 16, .serves = 7}, {.asks = 5, .serves = 12}, 64),
            (Both{{.asks = 12, .serves = 5}, {.asks = 5, .serves = 12}}));
  EXPECT_EQ(connected({.asks = 9, .serves = 3}, {.asks = 5, .serves = 12}, 64),
            (Both{{.asks = 9, .serves = 3}, {.asks = 3, .serves = 9}}));
  EXPECT_EQ(connected({.asks = 128, .serves = 128}, {.asks = 128, .serves = 128}, 16),
            (Both{{.asks = 16, .serves = 16}, {.asks = 16, .serves = 16}}))
      << "no more than there are messages";
}

TEST(SetUp, ReadsFromAPeerThatServesNoneAreRefused) {
  FakeHosts hosts;
  hosts.fake.limit_reads(FakeHosts::kThere, {.asks = 0, .serves = 0});
  hosts.there = hosts.open(FakeHosts::kThere);
  auto request = hosts.flows({50'000});
  EXPECT_TRUE(hosts.here->run(request, {})) << "writes go";
  request.flow_options.operation = FlowOperation::read;
  const auto refused = hosts.here->run(request, {});
  ASSERT_TRUE(refused) << "a peer costs its own flows alone: " << refused.error().message;
  EXPECT_THAT(refused->at(0).refused.value_or(""),
              HasSubstr("fake0 asks for 16 RDMA reads at a time, its peer serves 0"));
  EXPECT_EQ(hosts.leaked(), 0u);
}

TEST(SetUp, AConnectXMovesByItsOwnCallWhateverItsName) {
  FakeHosts hosts;
  hosts.fake.drive(FakeHosts::kHere, rdma::RdmaDriver::mlx5);
  hosts.here = hosts.open(FakeHosts::kHere);
  auto request = hosts.flows({50'000});
  request.specs[0].then = PathLabel(61'000);
  const auto tallies = hosts.here->run(request, {});
  ASSERT_TRUE(tallies) << tallies.error().message;
  EXPECT_EQ(tallies->at(0).moved, (datapath::LabelChange{true, "by the device's own call"}));
}

TEST(SetUp, ProbesGoByDatagramsWhereTheDeviceIsKnownToLabelThem) {
  FakeHosts hosts;
  hosts.fake.drive(FakeHosts::kHere, rdma::RdmaDriver::mlx5);
  EXPECT_THAT(hosts.open(FakeHosts::kHere)->uses(), HasSubstr("probes by datagrams (UD)"));
  hosts.probes = datapath::ProbeTransport::connected;
  EXPECT_THAT(hosts.open(FakeHosts::kHere)->uses(), HasSubstr("probes by connections (UC)"));
}

TEST(SetUp, DatagramsAreAnsweredOnlyWhereTheirAnswersHaveLabels) {
  EXPECT_EQ(answer_of(rdma::RdmaDriver::mlx5), "");
  EXPECT_EQ(answer_of(rdma::RdmaDriver::other), "");
  EXPECT_THAT(answer_of(rdma::RdmaDriver::soft_roce),
              HasSubstr("fake1: soft-RoCE ties the port of a datagram"));
}

TEST(SetUp, AGidThatVanishedIsSaidOfTheHostThatLostIt) {
  FakeHosts hosts;
  hosts.fake.forget_gid(FakeHosts::kHere);
  const auto flows = hosts.here->run(hosts.flows({50'000}), {});
  ASSERT_FALSE(flows);
  EXPECT_THAT(flows.error().message,
              HasSubstr("GID 0 (::ffff:10.0.1.1) has gone: its address was removed from its interface"));
  const auto pings = hosts.here->ping(hosts.pings(3), {});
  ASSERT_FALSE(pings);
  EXPECT_THAT(pings.error().message, HasSubstr("has gone"));
  EXPECT_EQ(hosts.leaked(), 0u);
}

TEST(SetUp, AGidWithoutAWayToThePeersIsNamedAsTheReason) {
  FakeHosts hosts;
  hosts.fake.refuse(FakeVerbs::Call::modify_qp, ENETUNREACH, 2);  // both ends were made
  EXPECT_THAT(said_no(hosts.here->run(hosts.flows({50'000}), {})),
              HasSubstr("Network is unreachable: is there a route from the GID that is used (--gid-index)"));
  EXPECT_EQ(hosts.leaked(), 0u);
}

TEST(SetUp, APortThatWentDownIsSaidOfItsHost) {
  FakeHosts hosts;
  hosts.fake.take_down(FakeHosts::kHere);
  EXPECT_THAT(said_no(hosts.here->run(hosts.flows({50'000}), {})),
              HasSubstr("fake0: port 1 is not active: is its interface up, and its cable in? (ip link)"));
  EXPECT_THAT(said_no(hosts.here->ping(hosts.pings(3), {})), HasSubstr("is not active"));
  EXPECT_EQ(hosts.leaked(), 0u);
}

TEST(SetUp, PingsGoByTheDevicesClocksWhereBothEndsHaveOne) {
  FakeHosts hosts;
  hosts.fake.stamp(FakeHosts::kHere, hours(5));
  hosts.fake.stamp(FakeHosts::kThere, -hours(7));
  hosts.here = hosts.open(FakeHosts::kHere);
  hosts.there = hosts.open(FakeHosts::kThere);
  EXPECT_THAT(hosts.here->uses(), HasSubstr("time stamps of the device"));
  const auto tallies = hosts.here->ping(hosts.spread_pings(), {});
  ASSERT_TRUE(tallies) << tallies.error().message;
  ASSERT_TRUE(tallies->at(0).delays);
  EXPECT_TRUE(tallies->at(0).delays->by_hardware);
  EXPECT_EQ(tallies->at(0).answered, 100u);
  EXPECT_LT(tallies->at(0).rtt->p99, hours(1)) << "no two clocks were mixed";
  EXPECT_LT(tallies->at(0).delays->prober.p99, hours(1));
  EXPECT_EQ(hosts.leaked(), 0u);
}

TEST(SetUp, PingsWhosePeerStampsNothingDoNotClaimTheDevicesClocks) {
  FakeHosts hosts;
  hosts.fake.stamp(FakeHosts::kHere, hours(5));
  hosts.here = hosts.open(FakeHosts::kHere);
  const auto tallies = hosts.here->ping(hosts.spread_pings(), {});
  ASSERT_TRUE(tallies);
  ASSERT_TRUE(tallies->at(0).delays);
  EXPECT_FALSE(tallies->at(0).delays->by_hardware);
}

TEST(SetUp, MemoryThatMayNotBeLockedSaysTheLimitAndHowToRaiseIt) {
  FakeHosts hosts;
  hosts.fake.refuse(FakeVerbs::Call::reg_mr, ENOMEM);
  const auto flows = hosts.here->run(hosts.flows({50'000}), {});
  ASSERT_FALSE(flows);
  EXPECT_EQ(flows.error().kind, ErrorKind::permission);
  EXPECT_THAT(flows.error().message, HasSubstr("cannot lock"));
  EXPECT_THAT(flows.error().message, HasSubstr("ulimit -l unlimited"));
  EXPECT_EQ(hosts.leaked(), 0u);
}

TEST(SetUp, DevicesThatMayNotBeOpenedAreNamedWithTheirFiles) {
  FakeHosts hosts;
  hosts.fake.refuse(FakeVerbs::Call::open_device, EACCES);
  hosts.fake.refuse(FakeVerbs::Call::open_device, EACCES);
  const auto said = refusal_of(hosts, hosts.addresses[0]);
  EXPECT_THAT(said, HasSubstr("no RDMA device may be opened; fake0 (/dev/infiniband/"));
  EXPECT_THAT(said, HasSubstr("Permission denied"));
}

TEST(SetUp, ADeviceThatMayNotBeOpenedIsNamedWhereTheOthersLackTheAddress) {
  FakeHosts hosts;
  hosts.fake.refuse(FakeVerbs::Call::open_device, EACCES);
  const auto said = refusal_of(hosts, hosts.addresses[0]);
  EXPECT_THAT(said, HasSubstr("no RDMA device has 10.0.1.1 as a RoCE v2 or InfiniBand GID"));
  EXPECT_THAT(said, HasSubstr("fake0 (/dev/infiniband/"));
}

}  // namespace
}  // namespace weft::verbs
