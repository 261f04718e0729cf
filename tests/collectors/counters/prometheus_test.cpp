#include "collectors/counters/prometheus.hpp"

#include <gmock/gmock.h>

#include "collectors/counters/prometheus_answer.hpp"
#include "topology/base/outside_text.hpp"
#include "topology/model/clos.hpp"

namespace weft::counters {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

Fabric small() { return *make_clos({.leaves = 2, .spines = 2, .hosts_per_leaf = 2}); }

std::string answer(const std::string& series) {
  return R"({"status":"success","data":{"resultType":"matrix","result":[)" + series + "]}}";
}
std::string series(const std::string& labels, const std::string& values) {
  return "{\"metric\":{" + labels + "},\"values\":[" + values + "]}";
}

/// A server that has one metric.
AskPrometheus one_metric(std::string metric, std::string all) {
  return
      [metric = std::move(metric), all = std::move(all)](const std::string& promql) -> Result<std::string> {
        return answer(promql.starts_with(metric + "{") ? all : "");
      };
}

Result<CounterTable> read(const AskPrometheus& ask, std::string_view preset = "node_exporter") {
  const auto fabric = small();
  CounterTable table;
  WEFT_TRY_VOID(read_prometheus(
      fabric, {.presets = {*find_preset(preset)}, .renames = {{"10.0.0.7", "leaf2"}}}, ask, table));
  return table;
}

TEST(Prometheus, SamplesAreThoseOfTheScrapes) {
  const auto table = read(
      one_metric("node_network_receive_packets_total",
                 series(R"("instance":"leaf1.example.net:9100","device":"p1")",
                        R"([1764310000.123,"41"],[1764310060,"1e3"])") +
                     "," + series(R"("instance":"10.0.0.7:9100","device":"p2")", R"([1764310000,"7"])")));
  ASSERT_TRUE(table) << table.error().message;
  ASSERT_THAT(table->series(), SizeIs(2));
  const auto& points = table->series()[0].points;
  ASSERT_THAT(points, SizeIs(2));
  EXPECT_EQ(points[0].at, std::chrono::milliseconds(1764310000123));
  EXPECT_EQ(points[1].value, 1000U);
  EXPECT_EQ(small().name_of(table->series()[1].port), "leaf2/p2") << "renamed";
}

TEST(Prometheus, IsAskedForRawSamplesAlone) {
  std::vector<std::string> asked;
  const auto fabric = small();
  CounterTable table;
  ASSERT_TRUE(read_prometheus(
      fabric, {.presets = metric_presets(), .match = "job=\"sw\""},
      [&](const std::string& promql) -> Result<std::string> {
        asked.push_back(promql);
        return answer("");
      },
      table));
  EXPECT_GT(asked.size(), 30U);
  for (const auto& promql : asked) {
    EXPECT_THAT(promql, HasSubstr("{job=\"sw\""));
    EXPECT_TRUE(promql.ends_with("}[600000ms]")) << promql;
    EXPECT_EQ(promql.find('('), std::string::npos) << promql;
  }
}

TEST(Prometheus, AnotherBootIsAnotherEpoch) {
  const auto table = read([](const std::string& promql) -> Result<std::string> {
    const std::string where = R"("instance":"leaf1:9100","device":"p1")";
    if (promql.starts_with("node_boot_time_seconds"))
      return answer(series(where, R"([10,"1"],[20,"1"],[30,"25"])"));
    return answer(promql.starts_with("node_network_receive_packets")
                      ? series(where, R"([10,"5"],[20,"6"],[30,"9"])")
                      : "");
  });
  ASSERT_TRUE(table);
  const auto& points = table->series().at(0).points;
  EXPECT_EQ(points.at(0).epoch, points.at(1).epoch);
  EXPECT_NE(points.at(1).epoch, points.at(2).epoch);
}

TEST(Prometheus, WhatIsNoCountIsRefusedWithItsPlace) {
  const auto table =
      read(one_metric("node_network_receive_errs_total",
                      series(R"("instance":"leaf1","device":"p1")",
                             R"([10,"NaN"],[20,"+Inf"],[30,"1.5"],[40,"-1"],[50,"x"],[60,"3"])")));
  ASSERT_TRUE(table);
  EXPECT_EQ(table->points(), 1U);
  EXPECT_EQ(table->refused.count, 5U);
  EXPECT_THAT(table->refused.first.at(2),
              HasSubstr("node_network_receive_errs_total of leaf1 p1: 1.5 is a fraction"));
}

TEST(Prometheus, SeriesWithoutAPortAndTwoForOnePortAreTold) {
  const auto table = read(one_metric(
      "node_network_receive_errs_total",
      series(R"("instance":"leaf1","device":"p1","replica":"a")", R"([10,"1"])") + "," +
          series(R"("instance":"leaf1","device":"p1","replica":"b")", R"([10,"2"])") + "," +
          series(R"("instance":"leaf1","device":"lo")", R"([10,"2"])") + "," + series("", R"([10,"2"])")));
  ASSERT_TRUE(table);
  EXPECT_EQ(table->points(), 1U) << "of two the first";
  EXPECT_EQ(table->doubled.count, 1U);
  EXPECT_EQ(table->unplaced.count, 2U);
}

TEST(Prometheus, OneSeriesBehindAnotherIsACounterThatBeganAnew) {
  // As snmp_exporter tells a port whose ifIndex changed with a restart, in the order of its labels.
  for (const bool newest_first : {false, true}) {
    const auto of = [](const char* index, const char* values) {
      return series(fmt::format(R"("instance":"leaf1","ifName":"p1","ifIndex":"{}")", index), values);
    };
    const auto old = of(newest_first ? "9" : "1", R"([10,"5"],[20,"6"])");
    const auto now = of(newest_first ? "12" : "2", R"([30,"8"],[40,"9"])");
    const auto table = read(
        one_metric("dot3StatsFCSErrors", newest_first ? now + "," + old : old + "," + now), "snmp_exporter");
    ASSERT_TRUE(table);
    EXPECT_EQ(table->doubled.count, 0U);
    ASSERT_THAT(table->series(), SizeIs(1));
    const auto& points = table->series()[0].points;
    ASSERT_THAT(points, SizeIs(4));
    EXPECT_TRUE(std::ranges::is_sorted(points, {}, &CounterPoint::at));
    EXPECT_EQ(points[0].epoch, points[1].epoch);
    EXPECT_EQ(points[2].epoch, points[3].epoch);
    EXPECT_TRUE(points[0].epoch != 0 && points[2].epoch != 0 && points[1].epoch != points[2].epoch);
    for (const CounterPoint& point : points)
      EXPECT_FALSE(knows_boot(point.epoch)) << "that a series goes on rules out no restart";
  }
}

TEST(Prometheus, CountersOf32BitsAreKnownAsSuch) {
  const auto table =
      read(one_metric("dot3StatsFCSErrors", series(R"("instance":"leaf1","ifName":"p1")", R"([10,"1"])")),
           "snmp_exporter");
  ASSERT_TRUE(table);
  EXPECT_TRUE(table->series().at(0).narrow);
}

/// One target tells of the names of two presets: they are no two witnesses.
TEST(Prometheus, TheExporterIsTheScrapeTargetWhateverItsMetricsAreCalled) {
  const auto fabric = small();
  CounterTable table;
  const auto ask = [](const std::string& promql) -> Result<std::string> {
    const auto of = [](const char* port_label, const char* target) {
      return series(fmt::format(R"("job":"sw","instance":"leaf1:{}","{}":"p1")", target, port_label),
                    R"([10,"1"])");
    };
    if (promql.starts_with("dot3StatsFCSErrors{")) return answer(of("ifName", "9116"));
    if (promql.starts_with("node_network_receive_errs_total{")) return answer(of("device", "9116"));
    return answer(promql.starts_with("node_network_receive_drop_total{") ? of("device", "9100") : "");
  };
  ASSERT_TRUE(read_prometheus(fabric, {.presets = metric_presets()}, ask, table));
  std::map<PortCounter, std::string> exporters;
  for (const auto& one : table.series()) exporters[one.key.counter] = table.exporter_name(one.exporter);
  EXPECT_EQ(exporters[PortCounter::fcs_errors], "sw leaf1:9116");
  EXPECT_EQ(exporters[PortCounter::errors_in], "sw leaf1:9116");
  EXPECT_EQ(exporters[PortCounter::discards_in], "sw leaf1:9100");
}

/// What was read, as text.
std::string all_read_of(std::string_view text) {
  std::string all;
  const auto read = read_matrix(text, [&](const PrometheusSeries& one) {
    for (const auto& [name, value] : one.labels) all += fmt::format("{}={} ", name, value);
    for (const auto& [at, value] : one.points) all += fmt::format("{}:{} ", at.count(), value);
    all += '/';
    return Result<void>();
  });
  return read ? all : read.error().message;
}

TEST(PrometheusAnswer, IsReadInAnyOrderWithWhatElseStandsThere) {
  EXPECT_EQ(all_read_of(R"( { "warnings" : ["x", {"a": [1, null, true]}], "data": {"stats": {}, "result": [
      {"values": [[1.5, "7"], [2, "NaN"]], "histograms": [[1, {}]], "metric": {"a": "b", "n": 3, "c": ""}},
      {"value": [1, "2"], "metric": {}}], "resultType": "matrix"}, "status": "success" } )"),
            "a=b c= 1500000000:7 2000000000:nan //");
}

TEST(PrometheusAnswer, EscapesAreThoseOfJson) {
  EXPECT_EQ(all_read_of(answer(series(R"("\u0061\n":"\"\\\/\u00e4\u20ac\ud83d\ude00")", ""))),
            "a\n=\"\\/ä€😀 /");
  for (const char* wrong : {R"("a":"\x")", R"("a":"\u12")", R"("a":"\ud83d")", R"("a":"\ude00")",
                            R"("a":"\ud83d\u0041")", R"("a":"\u-123")", R"("a":"\)"})
    EXPECT_THAT(all_read_of(answer(series(wrong, ""))), HasSubstr("no JSON at byte")) << wrong;
}

TEST(PrometheusAnswer, EachOfItsBeginningsIsAnError) {
  const auto whole = answer(series(R"("a\n":"b")", R"([1,"2"],[3,"4"])") + "," + series("", ""));
  for (std::size_t n = 0; n < whole.size(); ++n)
    EXPECT_THAT(all_read_of(whole.substr(0, n)), HasSubstr("cannot be used")) << whole.substr(0, n);
}

TEST(PrometheusAnswer, TextsWithEscapesWithoutEndTakeNoMemory) {
  std::string labels, others;
  for (int i = 0; i < 5'000; ++i) labels += R"("\n":1,)", others += R"({"\n":"\n"},)";
  EXPECT_THAT(all_read_of(answer(series(labels + R"("a":1)", ""))), HasSubstr("more escaped texts"));
  EXPECT_EQ(all_read_of(R"({"status":"success","warnings":[)" + others +
                        R"(1],"data":{"resultType":"matrix","result":[]}})"),
            "");
}

TEST(Prometheus, AHostileAnswerIsAnError) {
  for (const std::string& hostile :
       {std::string(), std::string("<html>"), std::string("{}"), std::string("[[[["),
        std::string(1'000'000, '['),
        std::string(R"({"status":"success","data":{"resultType":"vector","result":[]}})"),
        answer(series(R"("instance":"leaf1","device":"p1")", R"(["10","1"])")),
        answer(series(R"("instance":"leaf1","device":"p1")", R"([1e300,"1"])")),
        answer(series(R"("instance":"leaf1")", R"([10,"1"])")).substr(0, 90)}) {
    const auto table = read([&](const std::string&) -> Result<std::string> { return hostile; });
    ASSERT_FALSE(table) << hostile.substr(0, 90);
    EXPECT_TRUE(is_harmless(table.error().message));
  }
  const auto refused = read([](const std::string&) -> Result<std::string> {
    return std::string("{\"status\":\"error\",\"error\":\"parse error\\u001b[2J\"}");
  });
  EXPECT_THAT(refused.error().message, HasSubstr("parse error\\x1b"));
}

TEST(Presets, OfFecTellCodewords) {
  for (const char* name : {"node_ethtool", "gnmic_transceiver"}) {
    const auto preset = find_preset(name);
    ASSERT_TRUE(preset) << name;
    EXPECT_TRUE(std::ranges::any_of(preset->rules, [](const MetricRule& rule) {
      return rule.key.counter == PortCounter::fec_uncorrectable;
    })) << name;
  }
}

TEST(Presets, HaveKnownCountersAndOneRuleForAMetricAndItsLabel) {
  for (const MetricPreset& preset : metric_presets()) {
    std::set<std::tuple<std::string, std::string>> seen;
    for (const MetricRule& rule : preset.rules)
      EXPECT_TRUE(seen.insert({rule.metric, rule.value}).second) << rule.metric;
  }
  EXPECT_THAT(find_preset("mrtg").error().message, HasSubstr("node_exporter"));
}

}  // namespace
}  // namespace weft::counters
