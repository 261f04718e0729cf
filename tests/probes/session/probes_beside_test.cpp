// Small probes beside the flows of load rounds: how many, by which ways, and that they are no observations.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "probes/datapath/flow_trips.hpp"
#include "probes/run/engines.hpp"
#include "probes/session/coordinator_loop.hpp"
#include "probes/session/load_stage.hpp"
#include "probes/session/sweep.hpp"
#include "tests/support/traced_fabric.hpp"
#include "topology/model/clos.hpp"

namespace weft::session {
namespace {

constexpr Nanoseconds kIdle = std::chrono::microseconds(20);

/// A flow from host1 to host2, over leaf1, spine1, leaf2, and two labels back: 50,007 and 50,008 by spine2.
struct FlowBeside {
  Fabric fabric = make_clos({.leaves = 2, .spines = 2, .hosts_per_leaf = 1}).value();
  AddressPlan addresses = plan_addresses(fabric, IpFamily::v4).value();
  SweepInputs in{fabric, addresses.book, {}, RunId(1)};
  SweepResults results{in};
  PortId from = *fabric.find_nic("host1");
  PortId to = *fabric.find_nic("host2");
  PathSetId there = learn(from, to, 50'000, 0);
  PathSetId back_first = learn(to, from, 50'007, 0);
  PathSetId back_second = learn(to, from, 50'008, 1);

  PathSetId learn(PortId src, PortId dst, std::uint32_t label, std::size_t choice) {
    const auto path = path_by_choice(fabric, results.learner.ways(), src, dst, choice);
    EXPECT_TRUE(results.learner.learn(src, dst, PathLabel(label),
                                      answers_along(fabric, addresses.book, path, path.size())));
    return results.learner.find(src, dst)->routes.back().paths;
  }
  void saw_idle(PathSetId back) {
    results.observations.probes.push_back({.path = there,
                                           .back = back,
                                           .size = datapath::kTripProbe,
                                           .rtt = RttQuantiles{kIdle, 2 * kIdle},
                                           .pair = LabelledPair{from, to, PathLabel(50'000)}});
  }
  std::vector<plan::LoadRound> rounds(Bandwidth rate = Bandwidth::mbit(10)) const {
    return {{{{from, to}, PathLabel(50'000), there, rate}}};
  }
  static const datapath::FlowRequest& request_of(const std::vector<WorkItem>& work) {
    return std::get<datapath::FlowRequest>(work.at(0).work);
  }
};

TEST(ProbesBeside, EchoesTakeTheWayBackOfTheIdleRoundTrip) {
  FlowBeside flow;
  flow.saw_idle(flow.back_second);
  LoadStage stage(flow.in, flow.results, flow.rounds(), 3, 1.0, true);
  const auto work = stage.next_wave();
  const auto& request = FlowBeside::request_of(work);
  ASSERT_TRUE(request.trips);
  EXPECT_NE(request.trips->batch, request.batch);
  EXPECT_EQ(request.trips->packets_per_second, 40);
  EXPECT_EQ(request.specs[0].back_label, PathLabel(50'008));
}

TEST(ProbesBeside, WhatCameOfThemIsKeptApartFromWhatAccuses) {
  FlowBeside flow;
  flow.saw_idle(flow.back_second);
  LoadStage stage(flow.in, flow.results, flow.rounds(), 3, 1.0, true);
  const auto work = stage.next_wave();
  const TaskAnswer sent = std::vector<datapath::FlowTally>{
      {.spec = 0,
       .packets = 152,
       .bytes = 622'592,
       .elapsed = std::chrono::milliseconds(500),
       .trips = datapath::TripTally{16, 9, RttQuantiles{kIdle * 3, kIdle * 4}}}};
  stage.take(work[0], &sent);
  const auto questions = stage.next_wave();
  ASSERT_EQ(questions.size(), 1U) << "nobody is asked how many probes arrived";
  const TaskAnswer arrived =
      std::vector<datapath::ReceivedTally>{{.batch = std::get<ReceivedQuery>(questions[0].work).batch,
                                            .from = flow.from,
                                            .packets = 152,
                                            .bytes = 622'592,
                                            .last = std::chrono::milliseconds(500)}};
  stage.take(questions[0], &arrived);
  EXPECT_TRUE(stage.next_wave().empty());
  EXPECT_EQ(flow.results.observations.probes.size(), 1U) << "seven that a full queue dropped are no loss";
  EXPECT_EQ(flow.results.sent, 0U);
  EXPECT_EQ(flow.results.lost, 0U);
  ASSERT_EQ(flow.results.loaded_trips.size(), 1U);
  const LoadedTrip& trip = flow.results.loaded_trips[0];
  EXPECT_EQ(trip.round, 3U);
  EXPECT_EQ(trip.pair, (LabelledPair{flow.from, flow.to, PathLabel(50'000)}));
  EXPECT_EQ(trip.back, flow.back_second);
  EXPECT_EQ(trip.answered, 9U);
  EXPECT_EQ(trip.wait(), 2 * kIdle);
}

TEST(ProbesBeside, OfWaysThatWereNotProbedIdleTheTimeUnderLoadAloneIsTold) {
  FlowBeside flow;
  const ProbesBeside beside(flow.in, flow.results);
  EXPECT_TRUE(beside.back_label(flow.rounds()[0][0]));
  ProbesBeside taker(flow.in, flow.results);
  taker.take(flow.rounds()[0][0], 0, {16, 16, RttQuantiles{kIdle, kIdle}});
  ASSERT_EQ(flow.results.loaded_trips.size(), 1U);
  EXPECT_FALSE(flow.results.loaded_trips[0].wait());
}

TEST(ProbesBeside, AreAtMostAHundredthOfTheBytesOfAFlowAndNoMoreThanANicMayProbe) {
  FlowBeside flow;
  const ProbesBeside beside(flow.in, flow.results);
  const auto pace = [&](Bandwidth rate, std::size_t flows) {
    const datapath::FlowSpec spec{.label = PathLabel(1), .rate = rate, .back_label = PathLabel(2)};
    return beside.pace(std::vector<datapath::FlowSpec>(flows, spec), BatchId(1));
  };
  EXPECT_NEAR(pace(Bandwidth::mbit(1), 1)->packets_per_second, 1e6 / 8 / 100 / 128, 1e-6);
  EXPECT_EQ(pace(Bandwidth::gbit(400), 3)->packets_per_second, 120);
  EXPECT_EQ(pace(Bandwidth::gbit(400), 300)->packets_per_second, 1000) << "as --probe-rate has it";
  EXPECT_FALSE(pace(Bandwidth::gbit(1), 0));
}

TEST(ProbesBeside, GoWithTheOwnRoundsOfALoadAlone) {
  FlowBeside flow;
  LoadStage pressing(flow.in, flow.results, flow.rounds(), 0);
  EXPECT_FALSE(FlowBeside::request_of(pressing.next_wave()).trips) << "it offers more than a link carries";
  flow.in.options.flow_options.operation = FlowOperation::read;
  LoadStage reading(flow.in, flow.results, flow.rounds(), 0, 1.0, true);
  EXPECT_FALSE(FlowBeside::request_of(reading.next_wave()).trips);
  flow.in.options.flow_options = {};
  flow.in.options.round_trips_count = false;
  LoadStage guests(flow.in, flow.results, flow.rounds(), 0, 1.0, true);
  EXPECT_FALSE(FlowBeside::request_of(guests.next_wave()).trips);
}

/// Over simulated engines, to its end.
std::vector<LoadedTrip> trips_of_sweep(const Fabric& fabric, const AddressBook& addresses,
                                       const std::vector<FaultSpec>& faults, Diagnosis& found) {
  std::vector<ExpectedHost> hosts;
  std::vector<std::string> names;
  for (const NodeId host : fabric.hosts()) {
    hosts.push_back({host, {{"p1", fabric.find_nic(fabric.name_of(host)).value()}}});
    names.push_back(fabric.name_of(host));
  }
  Sweep sweep(fabric, addresses,
              {.load = LoadLevel::full, .answers_per_second = 1e5, .probes_per_second = 1500}, RunId(1));
  Coordinator coordinator(fabric, sweep, {RunId(1), {}}, hosts);
  EXPECT_TRUE(coordinate_in_process(coordinator, names, run::simulated_engines(fabric, addresses, faults, 1),
                                    [](const Progress&) {}, {}));
  found = sweep.finish().diagnosis;
  return sweep.loaded_trips();
}

TEST(ProbesBeside, OfASimulatedSweepWaitLongestWhereAChannelCarriesLess) {
  const Fabric fabric = make_clos({.leaves = 3, .spines = 2, .hosts_per_leaf = 2}).value();
  const AddressPlan plan = plan_addresses(fabric, IpFamily::v4).value();
  Diagnosis found;
  const auto trips =
      trips_of_sweep(fabric, plan.book, {*parse_fault(fabric, "leaf1--spine2:rate=20G,from=leaf1")}, found);
  ASSERT_FALSE(trips.empty());
  Nanoseconds longest{};
  for (const LoadedTrip& trip : trips) longest = std::max(longest, trip.wait().value_or(Nanoseconds(0)));
  EXPECT_GT(longest, Nanoseconds(23'000)) << "60 KB at 20 Gbit/s";
  EXPECT_LT(longest, Nanoseconds(32'000)) << "and seven other channels at 95 %: .78 us each";
  ASSERT_EQ(found.links.size(), 1U);
  EXPECT_EQ(found.links[0].cause, Cause::rate) << "probes that the full queue drops make no loss of it";
}

TEST(ProbesBeside, OfAHealthySimulatedSweepAccuseNobody) {
  const Fabric fabric = make_clos({.leaves = 2, .spines = 2, .hosts_per_leaf = 2}).value();
  const AddressPlan plan = plan_addresses(fabric, IpFamily::v4).value();
  Diagnosis found;
  const auto trips = trips_of_sweep(fabric, plan.book, {}, found);
  ASSERT_FALSE(trips.empty());
  for (const LoadedTrip& trip : trips) EXPECT_TRUE(trip.wait());
  EXPECT_EQ(found.verdict, Verdict::healthy);
}

}  // namespace
}  // namespace weft::session
