#include "probes/watch/standing_keys.hpp"

#include <gtest/gtest.h>

#include <set>

#include "probes/watch/mad_codec.hpp"
#include "tests/support/standing_bench.hpp"
#include "tests/support/standing_fleet.hpp"
#include "topology/model/clos.hpp"
#include "topology/model/infiniband.hpp"

namespace weft::watch {
namespace {

using namespace std::chrono_literals;
using fakes::Frame;
using fakes::Frames;
using fakes::StandingBench;

/// A NIC that asks and one that is asked.
struct End {
  PortId nic;
  IpAddress address;
};

Frame frame_of(const End& from, const End& to, packet::ProbeKind kind, PortId prober,
               const packet::RunSecrets& secrets, const ProbeCodec& codec = roce_codec()) {
  const datapath::LocalNic nic{.mac = {}, .address = from.address};
  Frame frame(codec.frame_size(Bytes(128), nic));
  codec.write(nic,
              {.header = {.kind = kind, .run = secrets.run, .batch = BatchId(1), .nic = prober},
               .from = from.address,
               .to = to.address,
               .label = PathLabel(50'000),
               .frame_size = frame.size()},
              secrets.key, frame);
  return frame;
}
Frame probe_of(const End& from, const End& to, const packet::RunSecrets& secrets,
               const ProbeCodec& codec = roce_codec()) {
  return frame_of(from, to, packet::ProbeKind::probe, from.nic, secrets, codec);
}

/// The assignments of a small fabric, and where its NICs are.
struct Assigned {
  explicit Assigned(const ProbeCodec& codec) {
    if (&codec == &mad_codec())
      for (auto& [nic, end] : ends) end.at.address = gid_address(Guid(1000 + nic.value()));
  }
  Fabric fabric = *make_clos({.leaves = 2, .spines = 2, .hosts_per_leaf = 2});
  StandingPlan plan = fleet_plan(fabric, {});
  StandingEnds ends = fleet_ends(fabric, plan);
  KeyEpochs epochs{{std::byte{3}}, 1h};

  Assignment told(NodeId host, Nanoseconds now = {}) const {
    return assignment_of(fabric, plan, host, PlanVersion(1), ends, epochs, now);
  }
  StandingKeys keys(NodeId host) const {
    StandingKeys keys;
    keys.renew(told(host), {});
    return keys;
  }
  End nic_of(NodeId host) const {
    const PortId nic = plan.nics_of(host).front().nic;
    return {nic, ends.at(nic).at.address};
  }
};

/// All that somebody who took a host can make keys of.
std::vector<packet::RunSecrets> taken(const Assigned& all, NodeId host) {
  std::vector<packet::RunSecrets> known;
  const auto assignment = all.told(host);
  for (const EpochKeys& keys : assignment.epochs) {
    for (const packet::RunKey& key : keys.pairs) known.push_back({keys.name, key});
    for (const NodeId from : all.fabric.hosts())
      for (const NodeId to : all.fabric.hosts())
        known.push_back(
            {keys.name, packet::pair_key(keys.own, all.nic_of(from).address, all.nic_of(to).address)});
  }
  return known;
}

/// Whatever carries probes.
class StandingKeysOf : public testing::TestWithParam<const ProbeCodec*> {
 protected:
  const ProbeCodec& codec = *GetParam();
  const Assigned all{codec};
};
INSTANTIATE_TEST_SUITE_P(EachCodec, StandingKeysOf, testing::Values(&roce_codec(), &mad_codec()));

TEST_P(StandingKeysOf, AllWhoProbeOneAnotherAgreeOnTheirKeys) {
  for (const StandingNic& nic : all.plan.nics)
    for (const StandingStream& stream : nic.streams) {
      const NodeId host = all.fabric.port(stream.peer).node;
      const End from = all.nic_of(nic.host), to = all.nic_of(host);
      auto asker = all.keys(nic.host), asked = all.keys(host);
      const auto read =
          asked.read(probe_of(from, to, asker.sending(nic.nic, to.address, 0s), codec), to.address, codec);
      ASSERT_TRUE(read);
      const packet::RunSecrets answer{read->packet.header.run, read->key};
      EXPECT_TRUE(asker.read(frame_of(to, from, packet::ProbeKind::echo, from.nic, answer, codec),
                             from.address, codec));
    }
}

TEST_P(StandingKeysOf, ATakenAgentForgesNoProbeAndNoEchoOfOthers) {
  const NodeId thief = all.fabric.hosts().front();
  const auto known = taken(all, thief);
  std::set<std::pair<NodeId, NodeId>> tried;
  for (const StandingNic& nic : all.plan.nics)
    for (const StandingStream& stream : nic.streams) {
      const NodeId host = all.fabric.port(stream.peer).node;
      if (nic.host == thief || host == thief || !tried.emplace(nic.host, host).second) continue;
      const End from = all.nic_of(nic.host), to = all.nic_of(host);
      auto asker = all.keys(nic.host), asked = all.keys(host);
      for (const packet::RunSecrets& secrets : known) {
        EXPECT_FALSE(asked.read(probe_of(from, to, secrets, codec), to.address, codec));
        EXPECT_FALSE(asker.read(frame_of(to, from, packet::ProbeKind::echo, from.nic, secrets, codec),
                                from.address, codec));
      }
    }
  EXPECT_GE(tried.size(), 4u);
}

TEST_P(StandingKeysOf, WhoIsNotToAskHasNoKey) {
  const NodeId host = all.fabric.hosts().front();
  auto keys = all.keys(host);
  const auto assignment = all.told(host);
  const End to = all.nic_of(host);
  const End stranger{PortId(4000), *IpAddress::parse(to.address.is_v6() ? "fe80::5" : "192.0.2.1")};
  const packet::RunSecrets own{assignment.epochs[0].name,
                               packet::pair_key(assignment.epochs[0].own, stranger.address, to.address)};
  EXPECT_FALSE(keys.read(probe_of(stranger, to, own, codec), to.address, codec));
}

std::size_t lost_of(const std::vector<Window>& told) {
  std::size_t lost = 0;
  for (const Window& window : told) lost += window.nics.at(0).lost.size() + window.nics[0].settled.size();
  return lost;
}

/// Each probe has been told of once, and the count of the responder went on.
void expect_no_gap(const StandingBench& bench) {
  ASSERT_FALSE(bench.told.empty());
  std::uint64_t next = bench.told[0].nics.at(0).first;
  for (const Window& window : bench.told) {
    EXPECT_EQ(window.nics.at(0).first, next);
    next += window.nics[0].count;
  }
  EXPECT_EQ(lost_of(bench.told), 0u);
}

std::set<RunId> names_sent(const StandingBench& bench) {
  std::set<RunId> names;
  for (const Frame& frame : bench.wire.sent()) names.insert(packet::decode_probe_frame(frame)->header.run);
  return names;
}

TEST(StandingKeysTest, AnHourChangesWithoutALostProbeWhoeverHearsOfItFirst) {
  for (const bool prober_first : {true, false}) {
    StandingBench bench({.key_time = 10s});
    bench.wire.hop_time = 15ms;  // some echoes are on their way
    bench.run_for(9s);
    for (int hour = 0; hour < 3; ++hour) {
      while (!bench.epochs.renew(bench.wire.now())) bench.run_for(100ms);
      prober_first ? bench.renew_keys() : bench.renew_peer_keys();
      bench.run_for(4s);
      prober_first ? bench.renew_peer_keys() : bench.renew_keys();
      bench.run_for(3s);
    }
    expect_no_gap(bench);
    EXPECT_EQ(names_sent(bench).size(), 4u);
  }
}

TEST(StandingKeysTest, WithoutAWatcherAnAgentTakesTheNextKeyByItselfAndKeepsIt) {
  StandingBench bench({.key_time = 10s});
  bench.run_for(35s);
  expect_no_gap(bench);
  EXPECT_EQ(names_sent(bench).size(), 2u);
}

TEST(StandingKeysTest, WhoDoesNotHearOfANewHourIsAnsweredInIt) {
  StandingBench bench({.key_time = 10s});
  bench.run_for(9s);
  while (!bench.epochs.renew(bench.wire.now())) bench.run_for(100ms);
  bench.renew_peer_keys();
  bench.run_for(9s);
  expect_no_gap(bench);
}

TEST(StandingKeysTest, AnotherWatchersKeysAreAnsweredBesideThoseOfTheOneBefore) {
  StandingBench bench;
  bench.run_for(5s);
  bench.epochs = KeyEpochs({std::byte{9}}, 1h);
  bench.renew_peer_keys();
  bench.run_for(4s);
  bench.renew_keys();
  bench.run_for(4s);
  expect_no_gap(bench);
  EXPECT_EQ(names_sent(bench).size(), 2u);
}

TEST(StandingKeysTest, AKeyOfAnHourThatIsOverOpensNothing) {
  StandingBench bench;
  const auto old = bench.keys.sending(PortId(1), bench.wire.peer_nic().address, bench.wire.now());
  const auto probe =
      probe_of({PortId(1), bench.wire.nic().address}, {PortId(2), bench.wire.peer_nic().address}, old);
  const auto start = bench.wire.now();
  bench.epochs.renew(start + 1h);
  bench.wire.let_pass(1h + 4min);
  bench.renew_peer_keys();
  EXPECT_TRUE(bench.peer_keys.read(probe, bench.wire.peer_nic().address, roce_codec()));
  bench.wire.let_pass(1h);
  bench.epochs.renew(bench.wire.now());
  bench.renew_peer_keys();
  EXPECT_FALSE(bench.peer_keys.read(probe, bench.wire.peer_nic().address, roce_codec()));
}

TEST(StandingKeysTest, EpochsFollowOneByOneHoweverLateTheWatcherLooks) {
  KeyEpochs epochs({std::byte{1}}, 1h);
  epochs.renew(0s);
  Assignment before, after;
  epochs.give(before, NodeId(1), {}, {}, 0s);
  EXPECT_FALSE(epochs.renew(59min));
  EXPECT_TRUE(epochs.renew(5h));
  EXPECT_FALSE(epochs.renew(5h + 59min));
  epochs.give(after, NodeId(1), {}, {}, 5h);
  EXPECT_EQ(after.epochs.at(0).name, before.epochs.at(1).name);
  EXPECT_EQ(after.epochs.at(0).own, before.epochs.at(1).own);
}

TEST(StandingKeysTest, AFloodInOneNicsNameLeavesOthersTheirAnswers) {
  StandingBench bench;
  const End peer{PortId(2), bench.wire.peer_nic().address};
  const End one{PortId(1), bench.wire.nic().address}, other{PortId(3), *IpAddress::parse("10.9.9.9")};
  bench.peer_assignment.asked = {{one.nic, one.address}, {other.nic, other.address}};
  bench.renew_peer_keys();
  const auto& epoch = bench.peer_assignment.epochs.front();
  const auto answered = [&](const End& from, std::uint32_t sequence) {
    const packet::RunKey key = packet::pair_key(epoch.own, from.address, peer.address);
    Frame frame(packet::kEthernetSize + 128), reply = frame;
    packet::encode_probe_frame(
        {.from = from.address, .to = peer.address, .label = UdpPort(50'000)},
        {.run = epoch.name, .batch = BatchId(1), .nic = from.nic, .sequence = sequence}, key, 128, frame);
    const auto read = bench.peer_keys.read(frame, peer.address, roce_codec());
    return read && bench.responder->take(*read, 0s, 0s, reply) > 0;
  };
  std::uint32_t flood = 0;
  for (std::uint32_t i = 0; i < 20'000; ++i) flood += answered(one, i) ? 1 : 0;
  EXPECT_EQ(flood, StandingLimits().rate);
  for (std::uint32_t i = 0; i < 500; ++i) EXPECT_TRUE(answered(other, i)) << i;
}

}  // namespace
}  // namespace weft::watch
