// Agents that say that their queue pairs are somewhere else than the run has their NIC.
#include "probes/engine/verbs/peer_addresses.hpp"

#include <gmock/gmock.h>

#include "probes/engine/verbs/qp_messages.hpp"
#include "tests/probes/engine/verbs/fake_hosts.hpp"

namespace weft::verbs {
namespace {

using ::testing::HasSubstr;

constexpr PortId kPeer(7);
constexpr PortId kOther(8);

rdma::Gid gid(const char* text) { return rdma::gid_of(IpAddress::parse(text).value()); }

/// What is said against a peer at `address` that says it is at `told`; empty: nothing. Another NIC of the run
/// is at 10.0.9.9.
std::string against(const char* address, const char* told, const OwnAddress& own) {
  const auto nics = std::make_shared<const datapath::RunNics>(std::vector<datapath::RunNic>{
      {kPeer, IpAddress::parse(address).value()}, {kOther, IpAddress::parse("10.0.9.9").value()}});
  const auto checked = PeerAddresses(nics, own).check(kPeer, {gid(told), Lid(0), 0});
  if (checked) return "";
  EXPECT_EQ(checked.error().kind, ErrorKind::permission);
  return checked.error().message;
}

TEST(PeerAddresses, OfRoceAreTheGidOfTheNicsAddress) {
  const OwnAddress own{.gid = gid("10.0.1.1")};
  EXPECT_EQ(against("10.0.2.1", "10.0.2.1", own), "");
  EXPECT_EQ(against("10.0.2.1", "::ffff:10.0.2.1", own), "");
  EXPECT_EQ(against("fd00::2", "fd00::2", {.gid = gid("fd00::1")}), "");
  EXPECT_EQ(against("fe80::2", "fe80::2", {.gid = gid("fe80::1")}), "") << "the NIC's address in the run";
  for (const char* elsewhere : {"10.0.2.2", "10.0.9.9", "fd00::2", "fe80::2", "ff0e::1", "239.0.0.1"})
    EXPECT_THAT(against("10.0.2.1", elsewhere, own), HasSubstr("refused: NIC 7 of this run is 10.0.2.1"));
  EXPECT_THAT(against("10.0.2.1", "192.0.2.1", own),
              HasSubstr("at GID ::ffff:192.0.2.1, not ::ffff:10.0.2.1: where GIDs are chosen by index, give "
                        "--gid-index to all agents"));
}

TEST(PeerAddresses, ByIndexAreOfTheKindOfOursAndNoOtherNics) {
  const OwnAddress v4{.gid = gid("10.1.1.1"), .by_index = true};
  EXPECT_EQ(against("10.0.2.1", "10.0.2.1", v4), "");
  EXPECT_EQ(against("10.0.2.1", "10.1.2.1", v4), "") << "an address that the coordinator does not know";
  EXPECT_THAT(against("10.0.2.1", "10.0.9.9", v4), HasSubstr("::ffff:10.0.9.9, which is NIC 8"));
  for (const char* other_kind :
       {"fd00::2", "fe80::2", "239.0.0.1", "255.255.255.255", "127.0.0.1", "0.0.0.0"})
    EXPECT_THAT(against("10.0.2.1", other_kind, v4), HasSubstr("not of the kind of ours, ::ffff:10.1.1.1"));
  const OwnAddress v6{.gid = gid("fd00::1"), .by_index = true};
  EXPECT_EQ(against("10.0.2.1", "2001:db8::2", v6), "");
  for (const char* other_kind : {"10.1.2.1", "fe80::2", "ff0e::1", "::1", "::"})
    EXPECT_THAT(against("10.0.2.1", other_kind, v6), HasSubstr("not of the kind")) << other_kind;
  const OwnAddress link{.gid = gid("fe80::1"), .by_index = true};
  EXPECT_EQ(against("10.0.2.1", "fe80::2", link), "") << "it leaves no link";
  EXPECT_THAT(against("10.0.2.1", "fd00::2", link), HasSubstr("not of the kind"));
}

TEST(PeerAddresses, OfInfinibandAreThePortAndTheLidsThatTheSubnetGaveIt) {
  const auto with = [](std::optional<LidRange> known, const rdma::PortAddress& told, bool by_index = false) {
    const auto nics = std::make_shared<const datapath::RunNics>(
        std::vector<datapath::RunNic>{{kPeer, gid_address(Guid(0x1491)), known}});
    const auto checked = PeerAddresses(nics, {.infiniband = true, .by_index = by_index}).check(kPeer, told);
    return checked ? "" : checked.error().message;
  };
  const rdma::PortAddress truth{gid("fe80::1491"), Lid(12), 2};
  const LidRange known{Lid(12), 2};
  EXPECT_EQ(with(known, truth), "");
  EXPECT_EQ(with(known, {gid("fec0:1::1491"), Lid(12), 2}), "") << "a subnet has the prefix that it likes";
  EXPECT_THAT(with(known, {gid("fe80::2a33"), Lid(12), 2}), HasSubstr("at GID fe80::2a33, another port's"));
  EXPECT_EQ(with(known, {gid("fe80::2a33"), Lid(12), 2}, true), "") << "packets go by the LID";
  EXPECT_THAT(with(known, {gid("fe80::1491"), Lid(13), 2}),
              HasSubstr("says that its port has LID 13 (LMC 2), the subnet 12 (LMC 2)"));
  EXPECT_THAT(with(known, {gid("fe80::1491"), Lid(12), 7}), HasSubstr("LID 12 (LMC 7)"));
  EXPECT_EQ(with({}, truth), "") << "nobody knows better";
  for (const LidRange nobodys : {LidRange{Lid(0), 0},
                                 {Lid(0xC000), 0},
                                 {Lid(0xFFFF), 0},
                                 {Lid(0xBFFF), 1},
                                 {Lid(12), 8},
                                 {Lid(12), 255}})
    EXPECT_THAT(with({}, {gid("fe80::1491"), nobodys.base, nobodys.lmc}), HasSubstr("which no port has"));
}

TEST(PeerAddresses, WhoIsNoNicOfTheRunIsNowhere) {
  const PeerAddresses addresses(std::make_shared<const datapath::RunNics>(), {.gid = gid("10.0.1.1")});
  EXPECT_EQ(addresses.check(kPeer, {gid("10.0.2.1"), Lid(0), 0}).error().message,
            "refused: this run has no NIC 7");
}

/// Two hosts, and a third NIC of the run whose agent lies: NIC 12, which is the second host's device under
/// another id and another address, so that what it says can be chosen.
struct HostsAndLiar : FakeHosts {
  static constexpr PortId kLiar{12};
  static constexpr IpAddress::V4 kItsAddress{10, 0, 3, 1};
  explicit HostsAndLiar(datapath::ProbeTransport wish = datapath::ProbeTransport::by_device,
                        IpAddress says = outside())
      : FakeHosts{.nics = std::make_shared<const datapath::RunNics>(
                      std::vector<datapath::RunNic>{{nic(kHere), IpAddress(IpAddress::V4{10, 0, 1, 1})},
                                                    {nic(kThere), IpAddress(IpAddress::V4{10, 0, 2, 1})},
                                                    {kLiar, IpAddress(kItsAddress)}}),
                  .probes = wish} {
    exchange.join(kLiar, *there);
    exchange.answer_falsely(kLiar, [says](const std::string& truth) {
      auto answer = decode_qps_connected(truth);
      if (!answer) return truth;
      answer->from.gid = rdma::gid_of(says);
      return encode(*answer);
    });
    exchange.ask_falsely(kLiar, [says](const std::string& truth) {
      auto question = decode_qp_question(truth).value();
      if (auto* offer = std::get_if<ConnectQps>(&question)) offer->from.gid = rdma::gid_of(says);
      return encode(question);
    });
  }
  static IpAddress outside() { return IpAddress(IpAddress::V4{192, 0, 2, 1}); }
  datapath::Peer liar() const { return {kLiar, IpAddress(kItsAddress)}; }
};

class Liars : public ::testing::TestWithParam<datapath::ProbeTransport> {};
INSTANTIATE_TEST_SUITE_P(Both, Liars,
                         ::testing::Values(datapath::ProbeTransport::datagram,
                                           datapath::ProbeTransport::connected),
                         [](const auto& tested) { return std::string(to_string(tested.param)); });

TEST_P(Liars, WhoseAnswersDirectProbesElsewhereGetNoneAndTheOthersDo) {
  for (const IpAddress& says : {HostsAndLiar::outside(), IpAddress(IpAddress::V4{10, 0, 2, 1})}) {
    HostsAndLiar hosts(GetParam(), says);
    auto request = hosts.pings(5, 3);
    request.peers.push_back(hosts.liar());
    request.specs[1].peer = 1;
    const auto tallies = hosts.here->ping(request, {});
    ASSERT_TRUE(tallies) << tallies.error().message;
    EXPECT_EQ(tallies->at(1).sent, 0u);
    EXPECT_EQ(
        tallies->at(1).refused.value_or(""),
        fmt::format("refused: NIC 12 of this run is 10.0.3.1; its agent says that its queue pairs are at "
                    "GID ::ffff:{}, not ::ffff:10.0.3.1: where GIDs are chosen by index, give "
                    "--gid-index to all agents",
                    to_string(says)));
    for (const std::size_t honest : {0u, 2u}) EXPECT_EQ(tallies->at(honest).answered, 5u);
    EXPECT_EQ(hosts.fake.queue_pairs(), 0u) << "the far end's have gone too";
    EXPECT_EQ(hosts.leaked(), 0u);
  }
}

TEST_P(Liars, WhoseOffersDirectEchoesElsewhereAreRefused) {
  HostsAndLiar hosts(GetParam());
  // The liar asks: its line is the one that its device was given last.
  auto request = hosts.pings(5);
  request.peers = {{FakeHosts::nic(FakeHosts::kHere), hosts.addresses[FakeHosts::kHere]}};
  const auto tallies = hosts.there->ping(request, {});
  EXPECT_THAT(said_no(tallies),
              HasSubstr("NIC 12 of this run is 10.0.3.1; its agent says that its queue pairs "
                        "are at GID ::ffff:192.0.2.1"));
  EXPECT_TRUE(hosts.here->received(BatchId(2)).value().empty()) << "nothing was made for it";
  EXPECT_EQ(hosts.leaked(), 0u);
}

TEST(LiarsToo, WhoseAnswersDirectFlowsElsewhereGetNoneAndTheOthersDo) {
  for (const auto operation : {FlowOperation::write, FlowOperation::read, FlowOperation::send}) {
    HostsAndLiar hosts;
    auto request = hosts.flows({50'000, 50'001});
    request.peers.push_back(hosts.liar());
    request.specs[0].peer = 1;
    request.flow_options.operation = operation;
    const auto tallies = hosts.here->run(request, {});
    ASSERT_TRUE(tallies) << tallies.error().message;
    EXPECT_THAT(tallies->at(0).refused.value_or(""), HasSubstr("NIC 12 of this run is 10.0.3.1"));
    EXPECT_EQ(tallies->at(0).measure->packets, 0u);
    EXPECT_GT(tallies->at(1).measure->packets, 0u) << to_string(operation);
    EXPECT_EQ(hosts.leaked(), 0u);
  }
}

}  // namespace
}  // namespace weft::verbs
