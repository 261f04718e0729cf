// The packet mode: what a packet takes, fairness, finite queues, and where it leaves the fluid model.
#include "balancer/flowsim/packets.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "balancer/demand/collectives.hpp"
#include "balancer/flowsim/strategies.hpp"
#include "tests/support/traffic.hpp"
#include "topology/model/clos.hpp"

namespace weft::flowsim {
namespace {

Fabric eight() { return *make_clos({.leaves = 8, .spines = 8, .hosts_per_leaf = 8}); }

std::vector<Sending> assigned(const Fabric& fabric, const demand::Phase& phase,
                              const assign::AssignOptions& options) {
  return routed_sendings(fabric, phase, assign::assign(fabric, phase, options).qps, Bytes(4096));
}

double last(const PacketRun& run) { return *std::ranges::max_element(run.seconds); }

/// Time in the packet mode over that of the same packets in the fluid model.
double over_fluid(const Fabric& fabric, const demand::Phase& phase, const assign::AssignOptions& options) {
  const auto settings = usual_packets(fabric);
  const auto sendings = assigned(fabric, phase, options);
  return last(send_packets(line_rates(fabric), sendings, settings)) /
         predicted_seconds(line_rates(fabric), sendings, settings.frames);
}

TEST(Packets, OnePacketTakesItsTimeOnEveryWireAndTheAckTheWayBack) {
  const auto fabric = *make_clos({.leaves = 2, .spines = 1, .hosts_per_leaf = 1});
  const demand::Phase phase{"", {{fabric.nics()[0], fabric.nics()[1], Bytes(4096)}}};
  const auto settings = usual_packets(fabric);
  const auto run = send_packets(line_rates(fabric), assigned(fabric, phase, {}), settings);
  const double wire = static_cast<double>((settings.frames.data + settings.frames.ack).count()) * 8 / 400e9;
  EXPECT_NEAR(run.seconds[0], 4 * wire + 8 * 500e-9, 1e-11);
  EXPECT_EQ(run.sent, 1u);
  EXPECT_EQ(run.dropped, 0u);
}

TEST(Packets, QpsThatShareALinkGetAnEqualShareOfIt) {
  const auto fabric = *make_clos({.leaves = 2, .spines = 1, .hosts_per_leaf = 4});
  const auto phase = demand::make_shift(fabric.nics(), 4, Bytes(4'096'000)).phases[0];
  const auto run = send_packets(line_rates(fabric), assigned(fabric, phase, {}), usual_packets(fabric));
  for (const double seconds : run.seconds) EXPECT_NEAR(seconds, 4 * 4'178'000 * 8 / 400e9, 0.05 * last(run));
}

TEST(Packets, AFullQueueDropsAndWhatWasLostIsSentAgain) {
  const auto fabric = *make_clos({.leaves = 2, .spines = 1, .hosts_per_leaf = 4});
  const auto phase = demand::make_shift(fabric.nics(), 4, Bytes(4'096'000)).phases[0];
  auto settings = usual_packets(fabric);
  settings.queue = settings.frames.data * 10;
  const auto sendings = assigned(fabric, phase, {});
  const auto run = send_packets(line_rates(fabric), sendings, settings);
  EXPECT_GT(run.dropped, 0u);
  EXPECT_GT(run.sent, 8u * 1000);
  for (const double seconds : run.seconds) EXPECT_GT(seconds, 0);  // all through
  EXPECT_GT(last(run), last(send_packets(line_rates(fabric), sendings, usual_packets(fabric))));
}

TEST(Packets, LinksOfAnyRateGiveTimesThatAreFinite) {
  for (const double bits : {1.0, 1e6, 1e13, 1e20}) {
    const auto fabric =
        *make_clos({.leaves = 2, .spines = 1, .hosts_per_leaf = 1, .link = Bandwidth::bit(bits)});
    const auto phase = demand::make_shift(fabric.nics(), 1, Bytes(100'000)).phases[0];
    const auto run = send_packets(line_rates(fabric), assigned(fabric, phase, {}), usual_packets(fabric));
    EXPECT_EQ(run.sent, 50u) << bits;
    EXPECT_GT(last(run), 100'000 * 8 / bits) << bits;
    EXPECT_LT(last(run), 1.2 * (125'000 * 8 / bits) + 1e-5) << bits;
  }
}

TEST(Packets, TheSameInputGivesTheSameTimes) {
  const auto fabric = eight();
  const auto phase = cross_leaf_permutation(fabric, 3);
  const auto sendings = assigned(fabric, phase, {.qps = 4});
  const auto once = send_packets(line_rates(fabric), sendings, usual_packets(fabric));
  EXPECT_EQ(once.seconds, send_packets(line_rates(fabric), sendings, usual_packets(fabric)).seconds);
}

TEST(Packets, ShiftsHealthyAndDegradedTakeWhatTheFluidModelSays) {
  const auto fabric = eight();
  const auto phase = demand::make_shift(fabric.nics(), 8, Bytes(4'000'000)).phases[0];
  EXPECT_LT(over_fluid(fabric, phase, {.qps = 4}), 1.08);
  auto links = random_uplinks(fabric, 1.0, 1);
  links.resize(6);
  EXPECT_LT(over_fluid(fabric, phase, {.qps = 4, .avoid = assign::without(links)}), 1.08);
}

TEST(Packets, AnAllToAllInTurnsMeetsNoIncastAndOneInTheOrderOfTheReceiversDoes) {
  const auto fabric = eight();
  auto phase = make_collective(demand::Collective::all_to_all, fabric.nics(), Bytes(10'000'000)).phases[0];
  EXPECT_LT(over_fluid(fabric, phase, {.qps = 4}), 1.08);
  std::ranges::stable_sort(phase.flows, {}, [](const demand::Flow& flow) { return flow.dst; });
  for (demand::Flow& flow : phase.flows) flow.turn = 0;
  EXPECT_GT(over_fluid(fabric, phase, {.qps = 4}), 1.12);
}

TEST(Packets, SimulatedStrategiesTellTheirFluidTimeAndWhatWasSentAgain) {
  const auto fabric = eight();
  const auto demand = demand::make_shift(fabric.nics(), 8, Bytes(2'000'000));
  const auto settings = usual_packets(fabric);
  const auto ours = simulate_packets(fabric, demand, {Spread::weft, 4}, {}, settings);
  EXPECT_EQ(ours.packets, packets_of(demand, 4, settings.payload));
  EXPECT_GT(ours.seconds, ours.fluid);
  EXPECT_LT(ours.mean_flow, ours.seconds + 1e-12);
  const auto hashed = simulate_packets(fabric, demand, {Spread::ecmp, 1}, {}, settings);
  EXPECT_GT(hashed.seconds, 1.5 * ours.seconds);
}

}  // namespace
}  // namespace weft::flowsim
