// The simulator through its seams: what a session would see of every fault.
#include "probes/engine/sim/sim_fabric.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <thread>

#include "topology/model/clos.hpp"

namespace weft::sim {
namespace {

/// A simulated fabric with all it stands on.
class World {
 public:
  explicit World(Fabric fabric, const std::vector<std::string>& faults = {}, SimOptions options = {})
      : fabric_(std::move(fabric)), plan_(*plan_addresses(fabric_, IpFamily::v4)) {
    for (const auto& text : faults) {
      const auto fault = parse_fault(fabric_, text);
      EXPECT_TRUE(fault) << fault.error().message;
      options.faults.push_back(*fault);
    }
    sim_ = SimFabric::make(fabric_, plan_.book, options);
  }

  const Fabric& fabric() const { return fabric_; }
  PortId nic(std::string_view name) const { return *fabric_.find_nic(name); }
  datapath::Peer peer(std::string_view name) const { return {nic(name), *plan_.book.address_of(nic(name))}; }
  std::string hop_name(const IpAddress& address) const {
    return fabric_.name_of(fabric_.port(*plan_.book.port_of(address)).node);
  }
  std::shared_ptr<SimNic> engine(std::string_view name) const { return sim_->engine(nic(name)); }
  const SimFabric& sim() const { return *sim_; }

  /// One spec a label, from `src` to `dst`.
  datapath::PingRequest pings(std::string_view dst, std::uint32_t labels, std::uint32_t count,
                              Bytes size = Bytes(128)) const {
    datapath::PingRequest request{.batch = BatchId(1), .peers = {peer(dst)}};
    for (std::uint32_t l = 0; l < labels; ++l)
      request.specs.push_back(
          {.label = PathLabel(l), .back_label = PathLabel(l), .count = count, .size = size});
    return request;
  }
  bool crosses(std::string_view src, std::string_view dst, PathLabel label, std::string_view channel) const {
    std::vector<ChannelId> path;
    sim_->world().routing().path_of(nic(src), nic(dst), label, path);
    return std::ranges::find(path, *fabric_.find_channel(channel)) != path.end();
  }

 private:
  Fabric fabric_;
  AddressPlan plan_;
  std::shared_ptr<SimFabric> sim_;
};

Fabric small() { return *make_clos({.leaves = 2, .spines = 4, .hosts_per_leaf = 2}); }

std::vector<datapath::PingTally> ping(const World& world, std::string_view src,
                                      const datapath::PingRequest& request) {
  return *world.engine(src)->ping(request, {});
}

std::vector<datapath::ReceivedTally> received(const World& world, std::string_view at,
                                              BatchId batch = BatchId(1)) {
  return *world.engine(at)->received(batch);
}

TEST(SimFabric, InAHealthyFabricEveryProbeIsCountedAndAnswered) {
  const World world(small());
  const auto tallies = ping(world, "host1", world.pings("host3", 20, 100));
  ASSERT_EQ(tallies.size(), 20u);
  for (const auto& tally : tallies) {
    EXPECT_EQ(tally.sent, 100u);
    EXPECT_EQ(tally.answered, 100u);
    EXPECT_GT(tally.rtt->p50.count(), 4'000);
    EXPECT_LT(tally.rtt->p50.count(), 20'000);
    EXPECT_GE(tally.rtt->p99, tally.rtt->p50);
  }
  const auto receipts = received(world, "host3");
  ASSERT_EQ(receipts.size(), 20u);
  EXPECT_EQ(receipts[7], (datapath::ReceivedTally{.batch = BatchId(1),
                                                  .from = world.nic("host1"),
                                                  .spec = 7,
                                                  .packets = 100,
                                                  .bytes = 12'800,
                                                  .first = receipts[7].first,
                                                  .last = receipts[7].last,
                                                  .missing = std::vector<LossRun>{}}));
  EXPECT_TRUE(received(world, "host4").empty());
  EXPECT_TRUE(received(world, "host3", BatchId(2)).empty());
}

TEST(SimFabric, LossInOneDirectionIsSeenOnThePathsThatCrossItAndNowhereElse) {
  const World world(small(), {"leaf1--spine2:loss=10%,from=leaf1"});
  ping(world, "host1", world.pings("host3", 40, 10'000));
  ping(world, "host3", world.pings("host1", 40, 10'000));
  for (const auto& there : received(world, "host3")) {
    const bool faulty = world.crosses("host1", "host3", PathLabel(there.spec), "leaf1->spine2");
    EXPECT_NEAR(static_cast<double>(there.packets), faulty ? 9'000 : 10'000, faulty ? 150 : 0);
  }
  for (const auto& back : received(world, "host1")) EXPECT_EQ(back.packets, 10'000u);
}

TEST(SimFabric, TheEchoIsLostOnTheWayBackToo) {
  const World world(small(), {"leaf2--spine2:loss=10%,from=leaf2"});
  const auto tallies = ping(world, "host1", world.pings("host3", 40, 10'000));
  std::set<bool> seen;
  for (const auto& tally : tallies) {
    const bool faulty = world.crosses("host3", "host1", PathLabel(tally.spec), "leaf2->spine2");
    EXPECT_NEAR(tally.answered, faulty ? 9'000 : 10'000, faulty ? 150 : 0);
    seen.insert(faulty);
  }
  EXPECT_EQ(seen.size(), 2u) << "some labels come back over the faulty channel, some do not";
  for (const auto& there : received(world, "host3")) EXPECT_EQ(there.packets, 10'000u);
}

TEST(SimFabric, AnMtuFaultSwallowsLargePacketsOnly) {
  const World world(small(), {"host1--leaf1:mtu=1000"});
  for (const auto& tally : ping(world, "host1", world.pings("host3", 4, 50, Bytes(1000))))
    EXPECT_EQ(tally.answered, 50u);
  for (const auto& tally : ping(world, "host1", world.pings("host3", 4, 50, Bytes(1001))))
    EXPECT_EQ(tally.answered, 0u);
}

TEST(SimFabric, ADelayFaultRaisesTheRoundTripByThatMuch) {
  const World healthy(small());
  const World slow(small(), {"host1--leaf1:delay=2ms,from=host1"});
  const auto before = ping(healthy, "host1", healthy.pings("host3", 1, 1000)).front().rtt->p50;
  const auto after = ping(slow, "host1", slow.pings("host3", 1, 1000)).front().rtt->p50;
  EXPECT_EQ(after - before, std::chrono::milliseconds(2));
}

TEST(SimFabric, CorruptPacketsAreCountedApartAndNotAnswered) {
  const World world(small(), {"host1--leaf1:corruption=10%,from=host1"});
  const auto tally = ping(world, "host1", world.pings("host3", 1, 10'000)).front();
  const auto receipt = received(world, "host3").front();
  EXPECT_NEAR(static_cast<double>(receipt.corrupt), 1000, 150);
  EXPECT_EQ(receipt.packets + receipt.corrupt, 10'000u);
  EXPECT_EQ(tally.answered, receipt.packets);
}

TEST(SimFabric, ADeadLinkIsAvoidedByItsEndsAndSwallowsWhatOthersSendThere) {
  const World world(small(), {"leaf1--spine2:down"});
  for (const auto& tally : ping(world, "host1", world.pings("host3", 40, 10))) {
    const bool into_the_hole = world.crosses("host3", "host1", PathLabel(tally.spec), "leaf2->spine2");
    EXPECT_EQ(tally.answered, into_the_hole ? 0u : 10u);
  }
  EXPECT_EQ(received(world, "host3").size(), 40u) << "the way there goes over the three other spines";
}

TEST(SimFabric, ALinkDeadInOneDirectionIsNotNoticedByTheSwitchThatSendsIntoIt) {
  const World world(small(), {"leaf1--spine2:down,from=leaf1"});
  ping(world, "host1", world.pings("host3", 40, 10));
  const auto receipts = received(world, "host3");
  EXPECT_LT(receipts.size(), 40u);
  for (const auto& receipt : receipts)
    EXPECT_FALSE(world.crosses("host1", "host3", PathLabel(receipt.spec), "leaf1->spine2"));
}

TEST(SimFabric, AHostWithoutItsCableSendsNothing) {
  const World world(small(), {"host1--leaf1:down"});
  EXPECT_EQ(ping(world, "host1", world.pings("host3", 1, 10)).front().sent, 0u);
  EXPECT_EQ(ping(world, "host3", world.pings("host1", 1, 10)).front().answered, 0u);
}

TEST(SimFabric, AProbeToNobodyIsLost) {
  const World world(small());
  datapath::PingRequest request = world.pings("host3", 1, 10);
  request.peers[0].address = *IpAddress::parse("192.0.2.1");
  request.specs.push_back({.peer = 7});
  for (const auto& tally : ping(world, "host1", request)) EXPECT_EQ(tally.answered, 0u);
}

TEST(SimFabric, HopsAnswerWithTheAddressTheProbeCameInBy) {
  const World world(small());
  const datapath::TraceRequest request{.peers = {world.peer("host3")}, .specs = {{.label = PathLabel(5)}}};
  const auto answers = *world.engine("host1")->trace(request, {});
  std::vector<ChannelId> path;
  world.sim().world().routing().path_of(world.nic("host1"), world.nic("host3"), PathLabel(5), path);
  ASSERT_EQ(answers.size(), 4u);
  for (std::size_t hop = 0; hop < 4; ++hop) {
    EXPECT_EQ(answers[hop].hop, hop + 1);
    EXPECT_EQ(answers[hop].is_peer, hop == 3);
    EXPECT_EQ(world.hop_name(answers[hop].from),
              world.fabric().name_of(world.fabric().target_node(path[hop])));
  }
}

TEST(SimFabric, HopsBeyondAHoleAndSilentSwitchesDoNotAnswer) {
  const auto fabric = small();
  const World world(small(), {"leaf1--spine2:down"}, {.silent = {*fabric.find_node("leaf2")}});
  datapath::TraceRequest request{.peers = {world.peer("host1")}};
  for (std::uint32_t l = 0; l < 40; ++l) request.specs.push_back({.label = PathLabel(l)});
  std::map<std::uint32_t, std::string> hops;
  const auto answers = *world.engine("host3")->trace(request, {});
  for (const auto& answer : answers) hops[answer.spec] += world.hop_name(answer.from) + " ";
  bool some_in_the_hole = false;
  for (const auto& [spec, names] : hops) {
    const bool hole = world.crosses("host3", "host1", PathLabel(spec), "leaf2->spine2");
    some_in_the_hole |= hole;
    EXPECT_EQ(hole ? names : names.substr(6), hole ? "spine2 " : " leaf1 host1 ") << "leaf2 is silent";
  }
  EXPECT_TRUE(some_in_the_hole);
}

TEST(SimFabric, APolicedSwitchAnswersAsManyProbesAsItsRateAllows) {
  const World world(small(), {}, {.answers_per_second = 100});
  datapath::TraceRequest request{
      .peers = {world.peer("host3")}, .attempts = 1, .pace = {.packets_per_second = 4000}};
  for (std::uint32_t l = 0; l < 4000; ++l) request.specs.push_back({.label = PathLabel(l), .max_hops = 1});
  const auto answers = world.engine("host1")->trace(request, {});
  EXPECT_NEAR(static_cast<double>(answers->size()), 100, 40) << "one second of probes to one leaf";
}

/// What two NICs of one leaf are answered by it, each asking as often as it answers in all.
std::pair<std::size_t, std::size_t> answered_of_two(const World& world, bool expected) {
  datapath::TraceRequest request{
      .peers = {world.peer("host3")}, .attempts = 1, .pace = {.packets_per_second = 1000}};
  for (std::uint32_t l = 0; l < 1000; ++l) request.specs.push_back({.label = PathLabel(l), .max_hops = 1});
  if (expected)
    for (const char* name : {"host1", "host2"}) world.engine(name)->expect(request);
  return {world.engine("host1")->trace(request, {})->size(),
          world.engine("host2")->trace(request, {})->size()};
}

TEST(SimFabric, ASwitchSharesItsAnswersAmongAllNicsThatAskIt) {
  const auto [one, other] = answered_of_two(World(small(), {}, {.answers_per_second = 1000}), true);
  EXPECT_NEAR(static_cast<double>(one), 500, 80);
  EXPECT_NEAR(static_cast<double>(other), 500, 80);
}

TEST(SimFabric, ARequestThatNobodyExpectedCountsFromWhenItComes) {
  const auto [one, other] = answered_of_two(World(small(), {}, {.answers_per_second = 1000}), false);
  EXPECT_EQ(one, 1000u);
  EXPECT_NEAR(static_cast<double>(other), 500, 80);
}

/// Where 40 packets of one label come in at hop 2.
std::set<std::string> spines_of_one_label(const World& world, const std::vector<PacketFields>& fields) {
  datapath::TraceRequest request{.peers = {world.peer("host3")}};
  for (const PacketFields& each : fields)
    request.specs.push_back({.label = PathLabel(50000), .max_hops = 2, .first_hop = 2, .fields = each});
  std::set<std::string> spines;
  const auto answers = *world.engine("host1")->trace(request, {});
  for (const auto& answer : answers) spines.insert(world.hop_name(answer.from));
  return spines;
}

std::vector<PacketFields> forty_queue_pairs() {
  std::vector<PacketFields> fields;
  for (std::uint32_t i = 0; i < 40; ++i) fields.push_back({.queue_pair = QpNum(i * 1000)});
  return fields;
}

TEST(SimFabric, AQueuePairMovesAPacketWhereSwitchesHashIt) {
  for (const char* hash : {"structureless:qp", "crc16:qp", "crc32:qp", "toeplitz:qp", "xor:qp"}) {
    const World hashed(small(), {}, {.hash = *routing::parse_hash(hash)});
    EXPECT_EQ(spines_of_one_label(hashed, forty_queue_pairs()).size(), 4u) << hash;
  }
  for (const char* hash : {"structureless", "crc16:class", "crc32", "toeplitz", "xor:ingress"}) {
    const World not_hashed(small(), {}, {.hash = *routing::parse_hash(hash)});
    EXPECT_EQ(spines_of_one_label(not_hashed, forty_queue_pairs()).size(), 1u) << hash;
  }
}

TEST(SimFabric, ATrafficClassMovesAPacketWhereSwitchesHashIt) {
  std::vector<PacketFields> fields;
  for (std::uint8_t dscp = 0; dscp < 40; ++dscp)
    fields.push_back({.traffic_class = static_cast<std::uint8_t>(dscp << 2)});
  EXPECT_EQ(
      spines_of_one_label(World(small(), {}, {.hash = *routing::parse_hash("crc32:class")}), fields).size(),
      4u);
  EXPECT_EQ(
      spines_of_one_label(World(small(), {}, {.hash = *routing::parse_hash("crc32:qp")}), fields).size(), 1u);
}

TEST(SimFabric, ASwitchThatSpraysSendsThePacketsOfOneLabelEverywhere) {
  const Fabric fabric = small();
  const World world(small(), {}, {.spraying = {*fabric.find_node("leaf1")}});
  EXPECT_EQ(spines_of_one_label(world, std::vector<PacketFields>(40)).size(), 4u);
}

TEST(SimFabric, AnAnonymousSwitchAnswersFromAnAddressThatIsNobodys) {
  const Fabric fabric = small();
  const World world(small(), {}, {.anonymous = {*fabric.find_node("leaf1")}});
  const datapath::TraceRequest request{.peers = {world.peer("host3")},
                                       .specs = {{.label = PathLabel(50000), .max_hops = 2}}};
  const auto answers = *world.engine("host1")->trace(request, {});
  ASSERT_EQ(answers.size(), 2u);
  EXPECT_EQ(answers[0].from, kAnonymous);
  EXPECT_NE(answers[1].from, kAnonymous);
}

TEST(SimFabric, RoutesGoElsewhereFromTheTimeOnAtWhichTheyChange) {
  const World world(small(), {}, {.routes_change = std::chrono::milliseconds(500)});
  datapath::TraceRequest request{
      .peers = {world.peer("host3")}, .attempts = 1, .pace = {.packets_per_second = 1000}};
  for (std::uint32_t i = 0; i < 1000; ++i)
    request.specs.push_back({.label = PathLabel(50000 + i % 10), .max_hops = 2, .first_hop = 2});
  std::map<std::uint32_t, std::set<IpAddress>> before, after;
  const auto answers = *world.engine("host1")->trace(request, {});
  for (const auto& answer : answers)
    (answer.spec < 500 ? before : after)[answer.spec % 10].insert(answer.from);
  std::size_t moved = 0;
  for (std::uint32_t label = 0; label < 10; ++label) {
    EXPECT_EQ(before[label].size(), 1u);
    EXPECT_EQ(after[label].size(), 1u);
    moved += before[label] != after[label];
  }
  EXPECT_GT(moved, 3u);
}

datapath::FlowRequest flow(const World& world, std::string_view dst, Bandwidth rate) {
  return {.batch = BatchId(9),
          .peers = {world.peer(dst)},
          .specs = {{.label = PathLabel(3), .rate = rate}},
          .duration = std::chrono::milliseconds(500)};
}

double gbit(const datapath::ReceivedTally& tally) {
  return Bandwidth::over(Bytes(static_cast<std::int64_t>(tally.bytes)), tally.last - tally.first)
             .bits_per_second() /
         1e9;
}

TEST(SimFabric, FlowsThatFitArriveWhole) {
  const World world(small());
  const auto tallies = world.engine("host1")->run(flow(world, "host3", Bandwidth::gbit(380)), {});
  const auto receipts = received(world, "host3", BatchId(9));
  ASSERT_EQ(receipts.size(), 1u);
  EXPECT_EQ(receipts[0].packets, tallies->front().packets);
  EXPECT_EQ(receipts[0].bytes, tallies->front().bytes);
  EXPECT_NEAR(gbit(receipts[0]), 380, 1);
}

TEST(SimFabric, FlowsOfARoundShareAChannelInProportionHoweverTheirSendersAreCalled) {
  const auto share = [](std::string_view first, std::string_view second) {
    const World world(small());
    for (const auto sender : {first, second})
      world.engine(sender)->run(flow(world, "host3", Bandwidth::gbit(sender == "host1" ? 300 : 100)), {});
    auto receipts = received(world, "host3", BatchId(9));
    return receipts;
  };
  const auto receipts = share("host1", "host4");
  ASSERT_EQ(receipts.size(), 2u);
  EXPECT_NEAR(gbit(receipts[0]), 300, 1) << "400G in all: just fits";
  EXPECT_NEAR(gbit(receipts[1]), 100, 1);
  EXPECT_EQ(receipts, share("host4", "host1"));
}

TEST(SimFabric, ACableHeldToARateDividesItAmongItsFlowsAsTheyArrive) {
  const World world(small(), {"host3--leaf2:rate=100G"});
  world.engine("host1")->run(flow(world, "host3", Bandwidth::gbit(300)), {});
  EXPECT_NEAR(gbit(received(world, "host3", BatchId(9)).front()), 100, 2);
  world.engine("host4")->run(flow(world, "host3", Bandwidth::gbit(100)), {});
  const auto receipts = received(world, "host3", BatchId(9));
  EXPECT_NEAR(gbit(receipts[0]), 75, 2);
  EXPECT_NEAR(gbit(receipts[1]), 25, 1);
}

TEST(SimFabric, OtherTrafficTakesItsShareOfFlowsAndDelaysProbes) {
  const World healthy(small());
  const World world(small(), {"host3--leaf2:load=300G,from=leaf2"});
  world.engine("host1")->run(flow(world, "host3", Bandwidth::gbit(300)), {});
  EXPECT_NEAR(gbit(received(world, "host3", BatchId(9)).front()), 200, 3) << "300 of 600 offered to 400G";
  EXPECT_GT(ping(world, "host1", world.pings("host3", 1, 1000)).front().rtt->p50,
            ping(healthy, "host1", healthy.pings("host3", 1, 1000)).front().rtt->p50);
}

TEST(SimFabric, AnOverloadedChannelDropsProbesOnceNotTwice) {
  const World world(small(), {"host3--leaf2:load=800G,from=leaf2"});
  ping(world, "host1", world.pings("host3", 1, 10'000));
  EXPECT_NEAR(static_cast<double>(received(world, "host3").front().packets), 5'000, 300);
  world.engine("host1")->run(flow(world, "host3", Bandwidth::gbit(100)), {});
  EXPECT_NEAR(gbit(received(world, "host3", BatchId(9)).front()), 100 * 400 / 900.0, 1);
}

TEST(SimFabric, TheSameSeedGivesTheSameAnswersInAnyOrderOfCalls) {
  const std::vector<std::string> faults{"leaf1--spine2:loss=1%", "leaf2--spine1:loss=2%"};
  const auto answers = [&](std::uint64_t seed, bool backwards) {
    const World world(small(), faults, {.seed = seed, .background_loss = Fraction(1e-3)});
    std::vector<std::string> hosts{"host1", "host2", "host3"};
    if (backwards) std::ranges::reverse(hosts);
    std::map<std::string, std::vector<datapath::PingTally>> tallies;
    for (const auto& host : hosts) tallies[host] = ping(world, host, world.pings("host4", 30, 1000));
    return std::pair(tallies, received(world, "host4"));
  };
  EXPECT_EQ(answers(1, false), answers(1, true));
  EXPECT_NE(answers(1, false), answers(2, false));
}

TEST(SimFabric, EnginesServeSeveralThreads) {
  const auto receipts = [](bool together) {
    const World world(small(), {}, {.background_loss = Fraction(1e-2)});
    const auto send = [&](std::string_view host) { ping(world, host, world.pings("host4", 200, 100)); };
    std::jthread one([&] { send("host1"); });
    if (!together) one.join();
    std::jthread two([&] { send("host2"); });
    if (one.joinable()) one.join();
    two.join();
    return received(world, "host4");
  };
  EXPECT_EQ(receipts(true), receipts(false));
}

TEST(SimFabric, AStopEndsALongRequestEarly) {
  const World world(small());
  std::stop_source stop;
  stop.request_stop();
  EXPECT_TRUE(world.engine("host1")->ping(world.pings("host3", 100, 1), stop.get_token())->empty());
}

TEST(SimFabric, BackgroundLossDiffersFromChannelToChannelAndIsAtMostWhatIsAsked) {
  const World world(small(), {}, {.background_loss = Fraction(1e-4)});
  std::vector<double> losses;
  for (std::uint32_t c = 0; c < world.fabric().channel_count(); ++c)
    losses.push_back(world.sim().world().channels()[ChannelId(c)].loss);
  std::ranges::sort(losses);
  EXPECT_GE(losses.front(), 1e-5);
  EXPECT_LE(losses.back(), 1e-4);
  EXPECT_GT(losses.back(), 3 * losses.front());
}

}  // namespace
}  // namespace weft::sim
