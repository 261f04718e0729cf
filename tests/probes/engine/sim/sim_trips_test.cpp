// Probes beside simulated flows wait where the flows, and the traffic of others, fill queues.
#include <gtest/gtest.h>

#include "probes/engine/sim/sim_fabric.hpp"
#include "topology/model/clos.hpp"

namespace weft::sim {
namespace {

double micros_of(Nanoseconds time) { return static_cast<double>(time.count()) / 1e3; }

/// host1 and host2 under leaf1, host3 and host4 under leaf2, one spine; 400 Gbit/s.
class LoadedSite {
 public:
  explicit LoadedSite(const std::string& fault = "") {
    SimOptions options;
    if (!fault.empty()) options.faults.push_back(*parse_fault(fabric_, fault));
    sim_ = SimFabric::make(fabric_, plan_.book, options);
  }
  datapath::FlowRequest flow(std::string_view dst, double gbit) const {
    const PortId nic = *fabric_.find_nic(dst);
    return {.batch = BatchId(9),
            .peers = {{nic, *plan_.book.address_of(nic)}},
            .specs = {{.label = PathLabel(3), .rate = Bandwidth::gbit(gbit), .back_label = PathLabel(4)}},
            .trips = datapath::TripProbes{BatchId(10), 1000}};
  }
  std::shared_ptr<SimNic> engine(std::string_view name) const {
    return sim_->engine(*fabric_.find_nic(name));
  }
  datapath::TripTally beside(std::string_view src, const datapath::FlowRequest& request) const {
    return engine(src)->run(request, {})->front().trips.value();
  }
  /// Of the same ways, idle, in microseconds.
  double idle(std::string_view src, const datapath::FlowRequest& request) const {
    const datapath::PingRequest pings{
        .batch = BatchId(2),
        .peers = request.peers,
        .specs = {{.label = PathLabel(3), .back_label = PathLabel(4), .count = 400}}};
    return micros_of(engine(src)->ping(pings, {})->front().rtt->p50);
  }

 private:
  Fabric fabric_ = *make_clos({.leaves = 2, .spines = 1, .hosts_per_leaf = 2});
  AddressPlan plan_ = *plan_addresses(fabric_, IpFamily::v4);
  std::shared_ptr<SimFabric> sim_;
};

TEST(SimTrips, WhereNothingIsFullAProbeWaitsLittle) {
  const LoadedSite site;
  const auto request = site.flow("host3", 100);
  const auto trips = site.beside("host1", request);
  EXPECT_EQ(trips.sent, 400U);
  EXPECT_EQ(trips.answered, 400U);
  EXPECT_NEAR(micros_of(trips.rtt->p50), site.idle("host1", request), 0.2);
}

TEST(SimTrips, AChannelThatCannotCarryTheFlowHasAFullQueue) {
  const LoadedSite site("leaf1--spine1:rate=200G,from=leaf1");
  const auto request = site.flow("host3", 380);
  const auto trips = site.beside("host1", request);
  // 60 KB at 200 Gbit/s are 2.4 us; at the host's own channel, which is used to 95 %, 9.5 packets wait.
  EXPECT_NEAR(micros_of(trips.rtt->p50) - site.idle("host1", request), 2.4 + 0.78, 0.25);
  EXPECT_LT(trips.answered, 300U) << "a full queue drops probes as it drops the flow's packets";
  EXPECT_GT(trips.answered, 150U);
  EXPECT_EQ(micros_of(trips.rtt->p50) < micros_of(trips.rtt->p99), true);
}

TEST(SimTrips, AnExpectedFlowOfAnotherNicFillsTheQueueToo) {
  const LoadedSite site;
  const auto first = site.flow("host3", 300), second = site.flow("host4", 300);
  const double alone = micros_of(site.beside("host1", first).rtt->p50);
  const LoadedSite both;
  both.engine("host1")->expect(first);
  both.engine("host2")->expect(second);
  // 60 KB at 400 Gbit/s are 1.2 us; alone it is a packet and a half at three channels.
  EXPECT_GT(micros_of(both.beside("host1", first).rtt->p50), alone + 0.8);
}

TEST(SimTrips, NoProbesAreSentWhereNoneAreAskedFor) {
  const LoadedSite site;
  auto request = site.flow("host3", 100);
  request.trips.reset();
  EXPECT_FALSE(site.engine("host1")->run(request, {})->front().trips);
}

}  // namespace
}  // namespace weft::sim
