// Queue pairs over InfiniBand ports of fake devices: labels are LIDs, in every kind of queue pair.
#include <gmock/gmock.h>

#include "probes/engine/verbs/qp_messages.hpp"
#include "tests/probes/engine/verbs/fake_hosts.hpp"
#include "topology/model/infiniband.hpp"

namespace weft::verbs {
namespace {

using fakes::FakeVerbs;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

/// Two adapters of one subnet, with four LIDs each.
struct SubnetHosts : FakeHosts {
  static constexpr std::uint16_t kOurs = 8;
  static constexpr std::uint16_t kTheirs = 12;
  explicit SubnetHosts(datapath::ProbeTransport wish = datapath::ProbeTransport::by_device)
      : FakeHosts{.addresses = {gid_address(Guid(0x1491)), gid_address(Guid(0x2a33))}, .probes = wish} {
    fake.join_subnet(kHere, {Lid(kOurs), 2});
    fake.join_subnet(kThere, {Lid(kTheirs), 2});
    here = open(kHere);
    there = open(kThere);
  }
};

FakeVerbs::Marks to(std::uint16_t dlid, std::uint8_t path_bits) {
  return {.dlid = dlid, .path_bits = path_bits};
}

class OnInfiniband : public ::testing::TestWithParam<datapath::ProbeTransport> {};
INSTANTIATE_TEST_SUITE_P(Both, OnInfiniband,
                         ::testing::Values(datapath::ProbeTransport::datagram,
                                           datapath::ProbeTransport::connected),
                         [](const auto& tested) { return std::string(to_string(tested.param)); });

TEST_P(OnInfiniband, PingsGoToTheLidsOfTheirLabelsThereAndBack) {
  SubnetHosts hosts(GetParam());
  auto request = hosts.spread_pings(2);
  request.specs[0].label = PathLabel(13);
  request.specs[0].back_label = PathLabel(9);
  request.specs[1].label = PathLabel(15);
  request.specs[1].back_label = PathLabel(8);
  std::vector<datapath::PingTally> tallies;
  const auto seen = hosts.seen_during([&] { tallies = hosts.here->ping(request, {}).value(); });
  for (const datapath::PingTally& tally : tallies) EXPECT_EQ(tally.answered, 100u);
  // Each says that it comes from the LID that its answers go to.
  EXPECT_THAT(seen.marks, UnorderedElementsAre(to(13, 1), to(15, 0), to(9, 1), to(8, 3)));
  EXPECT_EQ(hosts.leaked(), 0u);
}

TEST_P(OnInfiniband, PingsWithoutAKnownWayBackAreAnsweredByTheFirstLid) {
  SubnetHosts hosts(GetParam());
  auto request = hosts.spread_pings(1);
  request.specs[0].label = request.specs[0].back_label = PathLabel(13);  // as plan_pings says it
  std::vector<datapath::PingTally> tallies;
  const auto seen = hosts.seen_during([&] { tallies = hosts.here->ping(request, {}).value(); });
  EXPECT_EQ(tallies.at(0).refused.value_or(""), "");
  EXPECT_EQ(tallies.at(0).answered, 100u);
  EXPECT_THAT(seen.marks, UnorderedElementsAre(to(13, 0), to(8, 1)));
  EXPECT_EQ(hosts.leaked(), 0u);
}

TEST_P(OnInfiniband, ALabelThatIsNoLidOfThePeerIsRefused) {
  SubnetHosts hosts(GetParam());
  auto request = hosts.pings(1);
  request.specs[0].label = PathLabel(16);
  request.specs[0].back_label = PathLabel(8);
  const auto tallies = hosts.here->ping(request, {});
  ASSERT_TRUE(tallies) << tallies.error().message;
  EXPECT_EQ(tallies->at(0).sent, 0u);
  EXPECT_THAT(tallies->at(0).refused.value_or(""),
              HasSubstr("label 16 is no LID of the port: it has 12 to 15"));
  EXPECT_EQ(hosts.leaked(), 0u);
}

/// A queue pair without a label goes to the first LID that its peer says it has.
TEST(OnInfinibandToo, APeerThatSaysItHasOtherLidsThanTheSubnetGaveItIsRefused) {
  for (const bool known : {true, false}) {
    SubnetHosts hosts;
    const auto lids = known ? std::optional(LidRange{Lid(SubnetHosts::kTheirs), 2}) : std::nullopt;
    hosts.nics = std::make_shared<const datapath::RunNics>(std::vector<datapath::RunNic>{
        {FakeHosts::nic(FakeHosts::kHere), hosts.addresses[FakeHosts::kHere]},
        {FakeHosts::nic(FakeHosts::kThere), hosts.addresses[FakeHosts::kThere], lids}});
    hosts.here = hosts.open(FakeHosts::kHere);
    hosts.exchange.answer_falsely(FakeHosts::nic(FakeHosts::kThere), [](const std::string& truth) {
      auto answer = decode_qps_connected(truth);
      if (!answer) return truth;
      answer->from.lid = Lid(99);
      return encode(*answer);
    });
    const auto tallies = hosts.here->run(hosts.flows({14}), {});
    ASSERT_TRUE(tallies) << tallies.error().message;
    EXPECT_THAT(tallies->at(0).refused.value_or(""),
                known ? HasSubstr("says that its port has LID 99 (LMC 2), the subnet 12 (LMC 2)")
                      : HasSubstr("label 14 is no LID of the port: it has 99 to 102"));
    EXPECT_EQ(hosts.leaked(), 0u);
  }
}

TEST(OnInfinibandToo, FlowsGoToTheLidOfTheirLabelAndReadsComeByOneOfOurs) {
  for (const auto operation : {FlowOperation::write, FlowOperation::send, FlowOperation::read}) {
    SubnetHosts hosts;
    const bool reads = operation == FlowOperation::read;
    auto request = hosts.flows({reads ? 10U : 14U});
    request.duration = std::chrono::milliseconds(100);
    request.flow_options.operation = operation;
    Result<std::vector<datapath::FlowTally>> tallies;
    const auto seen = hosts.seen_during([&] { tallies = hosts.here->run(request, {}); });
    ASSERT_TRUE(tallies) << to_string(operation) << tallies.error().message;
    EXPECT_FALSE(tallies->at(0).error) << *tallies->at(0).error;
    EXPECT_GT(tallies->at(0).measure->packets, 0u) << to_string(operation);
    if (reads)
      EXPECT_THAT(seen.marks, UnorderedElementsAre(to(12, 2), to(10, 0)));
    else
      EXPECT_THAT(seen.marks, UnorderedElementsAre(to(14, 0), to(8, 2)));
    EXPECT_EQ(hosts.leaked(), 0u);
  }
}

TEST(OnInfinibandToo, TransfersGoToTheLidOfTheirLabelAndAreAcknowledgedToOneOfOurs) {
  SubnetHosts hosts;
  datapath::TransferRequest request{
      .run = RunId(1),
      .batch = BatchId(3),
      .peers = {{FakeHosts::nic(FakeHosts::kThere), hosts.addresses[FakeHosts::kThere]}},
      .specs = {{0, PathLabel(14), PathLabel(9), 20'000}}};
  Result<std::vector<datapath::TransferTally>> tallies;
  const auto seen = hosts.seen_during([&] { tallies = hosts.here->transfer(request, {}); });
  ASSERT_TRUE(tallies) << tallies.error().message;
  EXPECT_EQ(tallies->at(0).delivered, 20'000u) << tallies->at(0).error.value_or("");
  EXPECT_THAT(seen.marks, UnorderedElementsAre(to(14, 1), to(9, 2)));
  request.specs[0].label = PathLabel(16);
  EXPECT_THAT(hosts.here->transfer(request, {})->at(0).error.value_or(""),
              HasSubstr("label 16 is no LID of the port: it has 12 to 15"));
  EXPECT_EQ(hosts.leaked(), 0u);
}

TEST(OnInfinibandToo, PingsWithoutALabelBackAreAnsweredToTheFirstLid) {
  SubnetHosts hosts;
  auto request = hosts.spread_pings(1);
  request.specs[0].label = PathLabel(13);
  request.specs[0].back_label = PathLabel(0);
  std::vector<datapath::PingTally> tallies;
  const auto seen = hosts.seen_during([&] { tallies = hosts.here->ping(request, {}).value(); });
  EXPECT_EQ(tallies.at(0).answered, 100u);
  EXPECT_THAT(seen.marks, UnorderedElementsAre(to(13, 0), to(8, 1)));
}

TEST(OnInfinibandToo, ThePortIsKnownByItsGuidAndProbedByDatagrams) {
  SubnetHosts hosts;
  EXPECT_TRUE(hosts.here->is_infiniband());
  EXPECT_THAT(hosts.here->uses(), HasSubstr("fake0 port 1, GID 0 (InfiniBand, fe80::1491)"));
  EXPECT_THAT(hosts.here->uses(), HasSubstr("probes by datagrams (UD)"));
}

}  // namespace
}  // namespace weft::verbs
