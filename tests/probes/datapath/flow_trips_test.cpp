#include "probes/datapath/flow_trips.hpp"

#include <gtest/gtest.h>

namespace weft::datapath {
namespace {

/// Two flows of half a second, of which the second has a label for echoes, at a pace for 16 probes.
FlowRequest two_flows() {
  const IpAddress address(IpAddress::V4{10, 0, 0, 2});
  return {
      .run = RunId(5),
      .batch = BatchId(6),
      .peers = {{PortId(4), address}},
      .specs = {{.label = PathLabel(50'000), .rate = Bandwidth::mbit(10)},
                {.label = PathLabel(50'001), .rate = Bandwidth::mbit(10), .back_label = PathLabel(50'007)}},
      .trips = TripProbes{BatchId(7), 40}};
}

TEST(FlowTrips, OnlyFlowsWithALabelForEchoesHaveProbesBesideThem) {
  const auto trips = trip_request(two_flows());
  ASSERT_TRUE(trips);
  EXPECT_EQ(trips->pings.batch, BatchId(7)) << "receivers count them apart from the flows";
  EXPECT_EQ(trips->pings.run, RunId(5));
  ASSERT_EQ(trips->pings.specs.size(), 1U);
  EXPECT_EQ(trips->pings.specs[0], (PingSpec{0, PathLabel(50'001), PathLabel(50'007), 16, kTripProbe}));
  EXPECT_EQ(trips->flows, std::vector<std::uint32_t>{1});
}

TEST(FlowTrips, TheLastProbesHaveTheirEchoesWhenTheFlowsEnd) {
  const FlowRequest request = two_flows();
  const auto trips = trip_request(request);
  ASSERT_TRUE(trips);
  const double sending = 16 / trips->pings.pace.packets_per_second;
  EXPECT_NEAR(sending + std::chrono::duration<double>(trips->pings.pace.answer_wait).count(), 0.5, 1e-6);
  EXPECT_NEAR(sending, 0.4, 1e-6);
}

TEST(FlowTrips, NoneAreSentWhereNobodyAsksOrThePaceLeavesNone) {
  FlowRequest request = two_flows();
  request.trips->packets_per_second = 1;
  EXPECT_FALSE(trip_request(request));
  request.trips->packets_per_second = 1e300;
  EXPECT_EQ(trip_request(request)->pings.specs[0].count, 10'000U) << "whatever another program asks for";
  request.specs[1].back_label.reset();
  EXPECT_FALSE(trip_request(request));
  request = two_flows();
  request.trips.reset();
  EXPECT_FALSE(trip_request(request));
}

TEST(FlowTrips, WhatCameOfThemIsToldOfTheirFlow) {
  const auto trips = trip_request(two_flows());
  ASSERT_TRUE(trips);
  std::vector<FlowTally> flows{{.spec = 0, .packets = 5}, {.spec = 1, .packets = 5}};
  const RttQuantiles rtt{Nanoseconds(5), Nanoseconds(9)};
  add_trips(*trips, {{.spec = 0, .sent = 16, .answered = 15, .rtt = rtt}, {.spec = 9, .sent = 1}}, flows);
  EXPECT_FALSE(flows[0].trips);
  EXPECT_EQ(flows[1].trips, (TripTally{16, 15, rtt}));
}

}  // namespace
}  // namespace weft::datapath
