#include "collectors/compare/measured_run.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weft::compare {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kDocument = R"({"schema":"weft.diagnosis/1","generated_at":"2026-11-28T10:00:00Z",
"tool_version":"1","fabric":"f","verdict":"degraded","hosts":[],
"links":[{"link":"leaf1--spine2","from":"spine2","verdict":"degraded","cause":"rate","confidence":0.99,
"estimate":{"value":0.5,"low":0.4,"high":0.6}}],
"coverage":{"channels":4,"probed":4,"paths":2},"probes":{"sent":100,"lost":1},
"flows":{"pattern":"all-pairs","flows":[
{"round":0,"src":"h1","dst":"h2","path":["h1->l1","l1->h2"],"wanted":100,"delivered":80,"sender_stalled":false},
{"round":0,"src":"h2","dst":"h1","path":["h2->l1","l1->h1"],"wanted":100,"delivered":60,"sender_stalled":true},
{"round":1,"src":"h1","dst":"h3","path":["h1->l1","l1->s1","s1->l2","l2->h3"],"wanted":100,"delivered":50}]}})";

constexpr const char* kObservations =
    R"({"path":["h1->l1","l1->h2"],"sent":400,"lost":0,"bytes":128,"src":"h1","dst":"h2","label":7,"row":0}
{"path":["h1->l1","l1->h2"],"back":["h2->l1","l1->h1"],"sent":0,"lost":0,"bytes":128,"rtt_us":{"p50":8,"p99":20},"src":"h1","dst":"h2","label":7,"row":1}
{"path":["h1->l1","l1->h3"],"back":["h3->l1","l1->h1"],"sent":5,"lost":0,"bytes":128,"rtt_us":{"p50":9,"p99":90},"src":"h1","dst":"h3","label":7,"row":2}
{"path":["h1->l1","l1->h2"],"load":{"round":0,"wanted":1,"offered":1,"delivered":1,"line_rate":120},"row":3}

{"channel":"h1->l1","count":{}}
)";

Cell flow_cell(const char* work) { return {{"all-pairs", work}, kFlowPayload, Metric::bandwidth}; }

TEST(MeasuredRun, CountersOfCongestionAreReadAndHostDelaysAreNoticed) {
  const std::string nics = R"("nics":[
{"nic":"h1","counters":{"device":"mlx5_0","port":1,"seconds":2,"grew":{"np_cnp_sent":10,"rx_bytes":5}}},
{"nic":"h2","counters":{"device":"mlx5_0","port":1,"seconds":4,"grew":{"np_cnp_sent":4}},
 "delays":{"by_device":true}}],)";
  std::string document = kDocument;
  document.insert(document.find("\"flows\""), nics);
  const auto run = read_measured_run("run", document, "");
  ASSERT_TRUE(run) << run.error().message;
  EXPECT_EQ(run->counted_nics, 2U);
  EXPECT_TRUE(run->has_host_delays);
  EXPECT_THAT(run->grew_a_second, ElementsAre(testing::Pair("np_cnp_sent", 6.0)));
  document.replace(document.find("\"seconds\":2"), 11, "\"seconds\":0");
  EXPECT_FALSE(read_measured_run("run", document, ""));
}

TEST(MeasuredRun, PausesAreReadAsSharesOfTheTimeOfLoad) {
  const auto read = [](std::string_view load) {
    std::string document = kDocument;
    document.insert(document.find("\"flows\""),
                    fmt::format(R"("nics":[{{"nic":"h1","counters":{{"device":"mlx5_0","port":1,"seconds":2,)"
                                R"("grew":{{"rx_prio3_pause_duration":1900000}}{}}}}}],)",
                                load));
    return read_measured_run("run", document, "");
  };
  const auto paused = [&](std::string_view times, std::string_view seconds = "0.5") {
    return read(fmt::format(R"(,"load":{{"seconds":{},"paused":{{{}}}}})", seconds, times));
  };
  const auto run = paused(R"("rx_prio3_pause_duration":150000,"rx_prio5_pause_duration":50000,)"
                          R"("rx_global_pause_duration":0,"tx_prio3_pause_duration":20000)");
  ASSERT_TRUE(run) << run.error().message;
  EXPECT_TRUE(has_pause_times(*run));
  EXPECT_DOUBLE_EQ(run->paused.at("h1").sending, 0.3) << "the longest: priorities may stand together";
  EXPECT_DOUBLE_EQ(run->paused.at("h1").receiving, 0.04);
  EXPECT_DOUBLE_EQ(paused(R"("rx_prio3_pause_duration":900000)")->paused.at("h1").sending, 1);
  EXPECT_TRUE(paused(R"("rx_prio3_pause_duration":0)")->paused.empty());
  EXPECT_TRUE(has_pause_times(*paused(R"("rx_prio3_pause_duration":0)"))) << "none is a figure";
  EXPECT_FALSE(has_pause_times(*paused(R"("rx_prio3_pause":7)"))) << "frames are no time";
  EXPECT_FALSE(has_pause_times(*read(""))) << "of the whole run: other jobs may have begun those";
  EXPECT_THAT(paused(R"("rx_prio3_pause_duration":-1)").error().message,
              HasSubstr("load.paused.rx_prio3_pause_duration"));
  EXPECT_FALSE(paused(R"("tx_global_pause_duration":"9")"));
  EXPECT_FALSE(paused("", "0"));
  EXPECT_FALSE(paused("", "1e300"));
}

TEST(MeasuredRun, FlowsBecomeCellsByDistanceAndTheSlowestOfEachRound) {
  const auto run = read_measured_run("run", kDocument, kObservations);
  ASSERT_TRUE(run) << run.error().message;
  const auto cells = run_of(*run).cells;
  EXPECT_DOUBLE_EQ(cells.at(flow_cell("flow over 2 hops")).number, 70);
  EXPECT_DOUBLE_EQ(cells.at(flow_cell("flow over 4 hops")).number, 50);
  EXPECT_DOUBLE_EQ(cells.at(flow_cell("slowest flow")).number, (60 + 50) / 2.0);
}

TEST(MeasuredRun, A99thPercentileNeedsAHundredPackets) {
  const auto run = read_measured_run("run", kDocument, kObservations);
  ASSERT_TRUE(run) << run.error().message;
  const auto cells = run_of(*run).cells;
  EXPECT_DOUBLE_EQ(cells.at({{"round trip", "2 hops"}, Bytes(128), Metric::time}).number, 9e-6);
  // Of the two paths one has packets enough.
  EXPECT_DOUBLE_EQ(cells.at({{"round trip, 99th percentile", "2 hops"}, Bytes(128), Metric::time}).number,
                   20e-6);
}

TEST(MeasuredRun, RoundTripsUnderLoadAreAMeanOverFlowsOfWhichBothTimesAreKnown) {
  std::string document = kDocument;
  document.insert(document.find("\"flows\""), R"("queueing":{"trips":[
{"path":["h1->l1","l1->h2"],"back":["h2->l1","l1->h1"],"bytes":128,"rtt_us":{"p50":30,"p99":50},"idle_us":{"p50":10,"p99":12}},
{"path":["h1->l1","l1->h2"],"back":["h2->l1","l1->h1"],"bytes":128,"rtt_us":{"p50":10,"p99":50},"idle_us":{"p50":10,"p99":12}},
{"path":["h1->l1","l1->h2"],"back":[],"bytes":128,"rtt_us":{"p50":900,"p99":900},"idle_us":{"p50":10,"p99":12}},
{"path":["h1->l1","l1->h2"],"back":["h2->l1","l1->h1"],"bytes":128,"rtt_us":{"p50":900,"p99":900}},
{"path":["h1->l1","l1->h2"],"back":["h2->l1","l1->h1"],"bytes":128}],
"left_out":0,"channels":[{"channels":["h1->l1","l1->h2"],"wait_us":20,"error_us":1,"trips":3}]},)");
  const auto run = read_measured_run("run", document, kObservations);
  ASSERT_TRUE(run) << run.error().message;
  EXPECT_DOUBLE_EQ(
      run_of(*run).cells.at({{"round trip under load", "2 hops"}, Bytes(128), Metric::time}).number, 20e-6);
  ASSERT_EQ(run->queues.size(), 1U);
  EXPECT_EQ(run->queues[0].place, "h1->l1 or l1->h2");
  EXPECT_EQ(run->queues[0].channels, (std::vector<std::string>{"h1->l1", "l1->h2"}));
  EXPECT_DOUBLE_EQ(run->queues[0].wait, 20e-6);
  document.replace(document.find("\"wait_us\":20"), 12, "\"wait_us\":-2");
  EXPECT_THAT(read_measured_run("run", document, "").error().message, HasSubstr("wait_us"));
}

TEST(MeasuredRun, ASetHasTheChannelsOfItsMembersAndWhatIsNotCoveredIsRead) {
  std::string document = kDocument;
  document.insert(document.find("\"flows\""), R"("sets":[{"cause":"rate","verdict":"degraded",
"confidence":0.9,"alternatives":[["h1->l1"],["l1->h2"]]}],"groups":[{"nodes":["l1","l2"],"channels":["s1->l2"],
"cause":"loss","verdict":"degraded","confidence":0.9,"evidence":[]}],)");
  document.replace(document.find("\"paths\":2"), 9,
                   R"("paths":2,"thin":["h1->l1"],"masked":["l1->h2"],"missing":["l1->s1"])");
  const auto run = read_measured_run("run", document, kObservations);
  ASSERT_TRUE(run) << run.error().message;
  const auto names = [&](const ChannelPath& path) {
    std::vector<std::string> all;
    for (const std::uint32_t channel : path) all.push_back(run->channels[channel]);
    return all;
  };
  ASSERT_EQ(run->culprits.size(), 3U);
  EXPECT_EQ(run->culprits[1].place, "one of h1->l1, l1->h2");
  EXPECT_TRUE(run->culprits[1].is_one_of);
  EXPECT_THAT(names(run->culprits[1].channels), ElementsAre("h1->l1", "l1->h2"));
  EXPECT_EQ(run->culprits[2].place, "l1, l2");
  EXPECT_FALSE(run->culprits[2].is_one_of);
  EXPECT_THAT(names(run->culprits[2].channels), ElementsAre("s1->l2"));
  EXPECT_THAT(names(run->thin), ElementsAre("h1->l1", "l1->h2"));
  EXPECT_THAT(names(run->missing), ElementsAre("l1->s1"));
}

TEST(MeasuredRun, ACulpritHasTheChannelThatLeavesItsNode) {
  const auto run = read_measured_run("run", kDocument, kObservations);
  ASSERT_TRUE(run) << run.error().message;
  ASSERT_EQ(run->culprits.size(), 1U);
  const Culprit& culprit = run->culprits.front();
  ASSERT_EQ(culprit.channels.size(), 1U);
  EXPECT_EQ(run->channels[culprit.channels.front()], "spine2->leaf1");
  EXPECT_EQ(culprit.value, 0.5);
  EXPECT_EQ(run->line_rate, 120);
  EXPECT_EQ(run->lost, 1U);
}

TEST(MeasuredRun, WhatIsBrokenIsRefusedWithItsPlace) {
  const auto refused = [](std::string document, const char* observations = "") {
    const auto run = read_measured_run("block-0001-A1", document, observations);
    return run ? std::string("taken") : run.error().message;
  };
  const std::string good = kDocument;
  const auto with = [&](const char* what, const char* instead) {
    auto text = good;
    return text.replace(text.find(what), std::string_view(what).size(), instead);
  };
  EXPECT_EQ(refused(good), "taken");
  EXPECT_THAT(refused(with("\"delivered\":60", "\"delivered\":-1")), HasSubstr("flows.flows[1].delivered"));
  EXPECT_THAT(refused(with("\"wanted\":100", "\"wanted\":1e19")), HasSubstr("bits per second"));
  EXPECT_THAT(refused(good.substr(0, 300)), HasSubstr("block-0001-A1"));
  EXPECT_THAT(refused(good, "{\"path\":"), HasSubstr("observations, line 1"));
  EXPECT_THAT(refused(good, "\n{\"path\":[\"a->b\"],\"sent\":1,\"rtt_us\":{\"p50\":-1,\"p99\":2}}"),
              HasSubstr("line 2"));
  EXPECT_EQ(refused(good, "{\"path\":7,\"sent\":1}\n[]\n3"), "taken") << "rows of which nothing is needed";
}

TEST(MeasuredRun, NamesFromOutsideAreMadeHarmless) {
  std::string text = kDocument;
  text.replace(text.find("leaf1--spine2"), 13, "l\\u001b[31m--s");
  const auto run = read_measured_run("run", text, "");
  ASSERT_TRUE(run) << run.error().message;
  EXPECT_EQ(run->culprits.front().place, "l\\x1b[31m--s");
}

}  // namespace
}  // namespace weft::compare
