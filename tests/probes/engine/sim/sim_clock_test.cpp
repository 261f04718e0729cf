// The simulator's clock: when packets go, faults that come and go, losses in runs, hosts that stall.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "probes/engine/sim/sim_fabric.hpp"
#include "topology/findings/loss_runs.hpp"
#include "topology/model/clos.hpp"

namespace weft::sim {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

/// Two hosts of one path each way: host1 - leaf1 - spine1 - leaf2 - host2.
class Line {
 public:
  explicit Line(const std::vector<std::string>& faults = {}, SimOptions options = {})
      : fabric_(*make_clos({.leaves = 2, .spines = 1, .hosts_per_leaf = 1})),
        plan_(*plan_addresses(fabric_, IpFamily::v4)) {
    for (const auto& text : faults) {
      const auto fault = parse_fault(fabric_, text);
      EXPECT_TRUE(fault) << fault.error().message;
      options.faults.push_back(*fault);
    }
    sim_ = SimFabric::make(fabric_, plan_.book, options);
  }

  PortId nic(std::string_view name) const { return *fabric_.find_nic(name); }
  NodeId host(std::string_view name) const { return *fabric_.find_node(name); }
  SimNic& engine(std::string_view name) {
    engines_.push_back(sim_->engine(nic(name)));
    return *engines_.back();
  }
  /// 1,000 packets a second of all specs together.
  datapath::PingRequest pings(std::string_view dst, std::vector<std::uint32_t> counts,
                              BatchId batch = BatchId(1)) const {
    datapath::PingRequest request{.batch = batch, .peers = {{nic(dst), *plan_.book.address_of(nic(dst))}}};
    for (std::uint32_t s = 0; s < counts.size(); ++s)
      request.specs.push_back({.label = PathLabel(s), .back_label = PathLabel(s), .count = counts[s]});
    return request;
  }
  datapath::FlowRequest flow(std::string_view dst, BatchId batch) const {
    return {.batch = batch,
            .peers = {{nic(dst), *plan_.book.address_of(nic(dst))}},
            .specs = {{.label = PathLabel(3), .rate = Bandwidth::gbit(200)}},
            .duration = seconds(1)};
  }
  std::vector<datapath::PingTally> ping(std::string_view src, const datapath::PingRequest& request) {
    return *engine(src).ping(request, {});
  }
  std::vector<datapath::ReceivedTally> received(std::string_view at, BatchId batch = BatchId(1)) {
    return *engine(at).received(batch);
  }

 private:
  Fabric fabric_;
  AddressPlan plan_;
  std::shared_ptr<SimFabric> sim_;
  std::vector<std::shared_ptr<SimNic>> engines_;
};

double share(std::uint64_t part, std::uint64_t whole) {
  return static_cast<double>(part) / static_cast<double>(whole);
}

TEST(SimClock, PacketsGoAtTheirRequestsPaceAndSpecsTakeTurns) {
  Line line;
  const auto tallies = line.ping("host1", line.pings("host2", {100, 100, 10}));
  EXPECT_EQ(tallies[0].window->start, Nanoseconds(0));
  EXPECT_EQ(tallies[1].window->start, microseconds(700)) << "a third of a turn";
  EXPECT_EQ(tallies[2].window->start, milliseconds(14));
  EXPECT_EQ(tallies[0].window->length, microseconds(207'900)) << "99 of 100 turns in 210 ms";
  EXPECT_EQ(tallies[2].window->length, milliseconds(189)) << "few packets see the whole time too";
}

TEST(SimClock, ABatchBeginsWhenAllBeforeItIsOverAndForAllItsNicsAtOnce) {
  Line line;
  const auto first = line.ping("host1", line.pings("host2", {500}));
  const auto same = line.ping("host2", line.pings("host1", {10}));
  const auto second = line.ping("host2", line.pings("host1", {10}, BatchId(2)));
  EXPECT_EQ(first[0].window->start, same[0].window->start);
  EXPECT_EQ(second[0].window->start, milliseconds(500) + datapath::Pace().answer_wait);
}

TEST(SimClock, AFaultThatComesAndGoesLosesInStretchesOfThatLength) {
  Line line({"leaf1--spine1:loss=100%,on=200ms,off=800ms,from=leaf1"});
  const auto tally = line.ping("host1", line.pings("host2", {5'000})).front();
  const auto there = line.received("host2").front();
  EXPECT_NEAR(share(there.packets, 5'000), 0.8, 0.01);
  EXPECT_EQ(tally.answered, there.packets);
  ASSERT_GE(there.missing->size(), 4u);
  for (std::size_t i = 1; i + 1 < there.missing->size(); ++i) {
    EXPECT_NEAR((*there.missing)[i].count, 200, 2);
    EXPECT_NEAR((*there.missing)[i].first - (*there.missing)[i - 1].first,
                i == 1 && (*there.missing)[0].first == 0 ? (*there.missing)[0].count + 800 : 1000, 2);
  }
  EXPECT_EQ(packets_in(tally.unanswered), 5'000 - tally.answered);
}

TEST(SimClock, WhenAFaultIsThereFollowsFromTheSeedAlone) {
  const auto missing = [](std::uint64_t seed) {
    Line line({"leaf1--spine1:down,on=500ms,off=500ms"}, {.seed = seed});
    return line.ping("host1", line.pings("host2", {2'000})).front().unanswered;
  };
  EXPECT_EQ(missing(1), missing(1));
  EXPECT_NE(missing(1), missing(2));
}

TEST(SimClock, ADelayThatComesAndGoesIsInTheSlowestRoundTripsOnly) {
  Line line({"leaf1--spine1:delay=2ms,on=100ms,off=900ms,from=leaf1"});
  const auto rtt = *line.ping("host1", line.pings("host2", {5'000})).front().rtt;
  EXPECT_LT(rtt.p50, milliseconds(1));
  EXPECT_GT(rtt.p99, milliseconds(2));
}

TEST(SimClock, LossInRunsTakesSoManyPacketsOfARowAtATimeAndTheShareStays) {
  Line line({"leaf1--spine1:loss=2%,burst=10,from=leaf1"});
  std::uint64_t came = 0;
  std::size_t runs = 0;
  std::size_t whole = 0;
  line.ping("host1", line.pings("host2", std::vector<std::uint32_t>(1'000, 200)));
  for (const datapath::ReceivedTally& tally : line.received("host2")) {
    came += tally.packets;
    for (const LossRun& run : tally.missing.value()) {
      ++runs;
      whole += run.count % 10 == 0;
    }
  }
  EXPECT_NEAR(1 - share(came, 200'000), 0.02, 0.003);
  EXPECT_GT(share(whole, runs), 0.85) << "but those that the begin of a row cuts";
}

TEST(SimClock, TheOrderOfAFewOrdinaryLossesIsToldAndThatOfManyIsNot) {
  Line line({"leaf1--spine1:loss=0.5%,from=leaf1", "leaf2--spine1:loss=0.5%,from=leaf2"});
  const auto few = line.ping("host1", line.pings("host2", {2'000})).front();
  const auto there = line.received("host2").front();
  EXPECT_EQ(packets_in(few.unanswered), 2'000 - few.answered);
  EXPECT_TRUE(are_loss_runs(few.unanswered, 2'000));
  EXPECT_GT(there.missing.value().size(), 2u);
  EXPECT_LE(packets_in(*there.missing), 2'000 - there.packets);
  const auto many = line.ping("host1", line.pings("host2", {20'000}, BatchId(2))).front();
  EXPECT_LT(many.answered, 20'000 - kMaxLossRuns);
  EXPECT_TRUE(many.unanswered.empty());
  EXPECT_FALSE(line.received("host2", BatchId(2)).front().missing);
}

TEST(SimClock, ARowThatIsLostWholeIsOneRun) {
  Line line({"leaf1--spine1:down,from=leaf1"});
  const auto tally = line.ping("host1", line.pings("host2", {20'000})).front();
  EXPECT_EQ(tally.unanswered, (std::vector<LossRun>{{0, 20'000}}));
}

TEST(SimClock, AHostThatStallsHoldsWhatComesAndAnswersLate) {
  Line line;
  Line stalled({}, {.stalls = {{line.host("host2"), milliseconds(500), milliseconds(320)}}});
  const auto tally = stalled.ping("host1", stalled.pings("host2", {2'000})).front();
  const auto there = stalled.received("host2").front();
  EXPECT_EQ(there.packets, 2'000u);
  EXPECT_EQ(there.dropped, 0u);
  EXPECT_EQ(there.late, 221u) << "100 ms and more: from 500 ms to 720 ms";
  EXPECT_EQ(tally.answered, 2'000u);
  EXPECT_EQ(tally.late, 221u);
}

TEST(SimClock, EchoesOfAHostThatStallsLongerThanItsProberWaitsAreUnanswered) {
  Line line;
  Line stalled({}, {.stalls = {{line.host("host2"), milliseconds(1'500), seconds(3)}}});
  const auto tally = stalled.ping("host1", stalled.pings("host2", {2'000})).front();
  const auto there = stalled.received("host2").front();
  EXPECT_EQ(there.packets, 2'000u);
  EXPECT_EQ(there.late, 500u);
  EXPECT_EQ(tally.answered, 1'500u);
  EXPECT_EQ(tally.late, 0u);
  EXPECT_EQ(tally.unanswered, (std::vector<LossRun>{{1'500, 500}}));
}

TEST(SimClock, AHostThatStallsDropsWhatItsSocketsDoNotHoldAndSaysHowMuch) {
  Line line;
  Line stalled({}, {.stalls = {{line.host("host2"), seconds(1), seconds(6)}}});
  const auto tally = stalled.ping("host1", stalled.pings("host2", {8'000})).front();
  const auto there = stalled.received("host2").front();
  EXPECT_NEAR(static_cast<double>(there.dropped), 1'000, 50) << "5,000 small probes find a place";
  EXPECT_EQ(there.packets + there.dropped, 8'000u);
  EXPECT_EQ(tally.answered, there.packets);
  EXPECT_EQ(tally.dropped, 0u);
  Line prober({}, {.stalls = {{line.host("host1"), seconds(1), seconds(6)}}});
  const auto own = prober.ping("host1", prober.pings("host2", {8'000})).front();
  EXPECT_EQ(prober.received("host2").front().packets, 8'000u);
  EXPECT_EQ(own.answered + own.dropped, 8'000u);
  EXPECT_EQ(own.dropped, there.dropped);
}

TEST(SimClock, AFlowMeetsAFaultForThePartOfItsTimeThatTheFaultIsThere) {
  Line line({"leaf1--spine1:rate=100G,on=10ms,off=30ms,from=leaf1"});
  const auto sent = line.engine("host1").run(line.flow("host2", BatchId(1)), {})->front();
  EXPECT_EQ(sent.started, Nanoseconds(0));
  EXPECT_NEAR(share(line.received("host2").front().packets, sent.packets), 0.75 + 0.25 / 2, 0.02);
  Line lossy({"leaf1--spine1:loss=100%,on=10ms,off=30ms,from=leaf1"});
  lossy.engine("host1").run(lossy.flow("host2", BatchId(1)), {});
  EXPECT_NEAR(share(lossy.received("host2").front().packets, sent.packets), 0.75, 0.02);
  Line often({"leaf1--spine1:loss=100%,on=100us,off=300us,from=leaf1"});
  often.engine("host1").run(often.flow("host2", BatchId(1)), {});
  EXPECT_NEAR(share(often.received("host2").front().packets, sent.packets), 0.75, 0.2);
}

TEST(SimClock, AStalledHostSendsNoFlowsAndDropsThoseForIt) {
  Line line;
  const HostStall stall{line.host("host2"), milliseconds(100), milliseconds(420)};
  Line stalled({}, {.stalls = {stall}});
  const auto whole = stalled.engine("host1").run(stalled.flow("host2", BatchId(1)), {})->front();
  const auto there = stalled.received("host2").front();
  EXPECT_NEAR(share(there.packets, whole.packets), 0.6, 0.001);
  EXPECT_EQ(there.packets + there.dropped, whole.packets);
  Line sender({}, {.stalls = {stall}});
  const auto part = sender.engine("host2").run(sender.flow("host1", BatchId(1)), {})->front();
  EXPECT_NEAR(share(part.packets, whole.packets), 0.58, 0.001);
  EXPECT_EQ(part.longest_gap, milliseconds(420));
}

TEST(SimClock, TheOrderOfCallsWithinABatchDoesNotMatter) {
  const auto answers = [](bool backwards) {
    Line line({"leaf1--spine1:loss=30%,burst=5,on=70ms,off=130ms"});
    std::vector<std::string> hosts{"host1", "host2"};
    if (backwards) std::ranges::reverse(hosts);
    std::map<std::string, std::vector<datapath::PingTally>> tallies;
    for (const auto& host : hosts)
      tallies[host] = line.ping(host, line.pings(host == "host1" ? "host2" : "host1", {300, 200}));
    return std::tuple(tallies, line.received("host1"), line.received("host2"));
  };
  EXPECT_EQ(answers(false), answers(true));
}

}  // namespace
}  // namespace weft::sim
