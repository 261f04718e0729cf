// Documents as nccl-tests and perftest write them: the members that matter, in the order and form of their
// sources.
#include "collectors/compare/recorded_json.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "collectors/compare/recorded_run.hpp"
#include "tests/places.hpp"
#include "tests/support/text_of.hpp"

namespace weft::compare {
namespace {

using testing::Contains;
using testing::HasSubstr;

std::string times(int count) {
  std::string text;
  for (int i = 1; i <= count; ++i) text += fmt::format("{}{}.000000", i == 1 ? "" : ",", i);
  return text;
}

/// One size, on two hosts of four devices.
std::string nccl(const std::string& time, const std::string& wrong, const std::string& more = "") {
  return fmt::format(
      R"({{"version":2,"start_time":"2026-01-01 00:00:00","args":["./build/all_reduce_perf","-b","1M"],"env":["A=1"],"nccl_version":22800,"config":{{"nthreads":1,"ngpus":4,"minimum_bytes":1048576,"graph":0,"devices":[{{"rank":0}},{{"rank":4}}]}},"results":[{{"size":1048576,"count":262144,"type":"float","redop":"sum","root":"    -1","out_of_place":{{"time":{},"alg_bw":8.3,"bus_bw":12.5,"nwrong":{}}}{},"in_place":{{"time":125.500000,"alg_bw":8.3,"bus_bw":12.5,"nwrong":null}},"actual_iterations":20,"experiment_name":"x"}}],"out_of_bounds":{{"count":0,"okay":"true"}},"average_bus_bandwidth":{{"bandwidth":12.5,"okay":"unchecked"}},"errors":[],"end_time":"2026-01-01 00:00:09"}})",
      time, wrong, more);
}

Run run_of_text(const std::string& text) {
  RecordedRunReader reader("run");
  for (std::size_t at = 0; at < text.size(); at += 100)  // in pieces, as a file comes
    EXPECT_TRUE(reader.take(std::string_view(text).substr(at, 100)));
  auto run = std::move(reader).finish();
  EXPECT_TRUE(run) << run.error().message;
  return run.value_or(Run());
}

std::string refused(const std::string& text) {
  const auto run = read_recorded_json("run", text);
  EXPECT_FALSE(run);
  return run ? "" : run.error().message;
}

double seconds(const Run& run, const std::vector<std::string>& more) {
  std::vector<std::string> work{"all_reduce", "8 ranks", "float", "sum"};
  work.insert(work.end(), more.begin(), more.end());
  const auto at = run.cells.find({work, Bytes(1 << 20), Metric::time});
  return at == run.cells.end() ? -1 : at->second.number;
}

TEST(RecordedJson, NcclTestsHasTheCellsOfItsTable) {
  const auto run = run_of_text(nccl("126.250000", "0.000000"));
  EXPECT_DOUBLE_EQ(seconds(run, {"out-of-place"}), 126.25e-6);
  EXPECT_DOUBLE_EQ(seconds(run, {"in-place"}), 125.5e-6);
  EXPECT_EQ(run.cells.size(), 2U);
  RecordedRunReader reader("table");
  ASSERT_TRUE(reader.take("# Collective test starting: all_reduce_perf\n# nThread 1 nGpus 4 graph: 0\n"));
  for (int rank = 0; rank < 8; ++rank) ASSERT_TRUE(reader.take(fmt::format("#  Rank {} Group 0\n", rank)));
  ASSERT_TRUE(reader.take(
      "# size count type redop root time algbw busbw #wrong time algbw busbw #wrong\n"
      "1048576 262144 float sum -1 126.2 8.3 12.5 0 125.5 8.3 12.5 N/A\n# Out of bounds values : 0 OK\n"));
  const auto table = std::move(reader).finish();
  ASSERT_TRUE(table) << table.error().message;
  EXPECT_TRUE(std::ranges::equal(run.cells, table->cells, {}, &std::pair<const Cell, Value>::first,
                                 &std::pair<const Cell, Value>::first));
}

TEST(RecordedJson, IterationsGivePercentilesWhereThereAreEnough) {
  const auto per_iteration = [](int count) {
    return fmt::format(R"(,"out_of_place_per_iter":{{"min_us":1,"times_us":[{}]}})", times(count));
  };
  const auto many = run_of_text(nccl("50.000000", "0.000000", per_iteration(200)));
  EXPECT_DOUBLE_EQ(seconds(many, {"out-of-place", "95th percentile"}), 190e-6);
  EXPECT_DOUBLE_EQ(seconds(many, {"out-of-place", "99th percentile"}), 198e-6);
  const auto some = run_of_text(nccl("50.000000", "0.000000", per_iteration(40)));
  EXPECT_DOUBLE_EQ(seconds(some, {"out-of-place", "95th percentile"}), 38e-6);
  EXPECT_EQ(seconds(some, {"out-of-place", "99th percentile"}), -1);
  EXPECT_THAT(some.remarks, Contains(HasSubstr("fewer than 100 iterations")));
}

TEST(RecordedJson, WrongResultsAndTimesThatAreNoneDoNotCount) {
  const auto wrong = run_of_text(nccl("126.250000", "3.000000"));
  EXPECT_EQ(wrong.wrong_rows, 1U);
  EXPECT_EQ(seconds(wrong, {"out-of-place"}), -1);
  for (const char* time : {"\"nan\"", "0.000000", "-1.000000", "1e300"})
    EXPECT_EQ(seconds(run_of_text(nccl(time, "0.000000")), {"out-of-place"}), -1) << time;
}

TEST(RecordedJson, PerftestIsReadWithQuotesAndWithout) {
  const char* quoted =
      "{\n\"test_info\": {\n\"test\": \"RDMA_Write_BW_Test\",\n\"Device\": \"mlx5_11\",\n\"Number_of_qps\": "
      "4,\n"
      "\"Connection_type\": \"RC\",\n\"Mtu\": 1024\n},\n\"results\": {\n\"MsgSize\": "
      "65536,\n\"n_iterations\": "
      "5000,\n\"BW_peak\": 5293.52,\n\"BW_average\": 2229.27,\n\"MsgRate\": 0.035668\n}\n}\n";
  std::string bare = quoted;
  std::erase(bare, '"');
  const Cell cell{{"RDMA_Write BW", "4 QPs"}, Bytes(65536), Metric::bandwidth};
  for (const std::string& text : {std::string(quoted), bare}) {
    const auto run = run_of_text(text);
    ASSERT_TRUE(run.cells.contains(cell)) << text;
    EXPECT_NEAR(run.cells.at(cell).number, 2229.27 * 8 * 1024 * 1024, 1e3) << "MB/sec, by its MsgRate";
    EXPECT_THAT(run.mtus, testing::ElementsAre("1024"));
  }
}

TEST(RecordedJson, TheUnitOfABandwidthFollowsFromTheRateOfMessages) {
  const auto text = [](const char* average, const char* rate) {
    return fmt::format("{{\ntest: RDMA_Write_BW_Test,\nMsgSize: 65536,\nBW_average: {},\nMsgRate: {}\n}}\n",
                       average, rate);
  };
  const auto run = run_of_text(text("18.70", "0.035668"));
  EXPECT_NEAR(run.cells.begin()->second.number, 18.7e9, 1);
  EXPECT_THAT(refused(text("18.70", "0.000000")), HasSubstr("does not tell the unit"));
}

TEST(RecordedJson, LatencyOfPerftestIsItsTypicalOne) {
  const auto run = run_of_text(
      "{\ntest_info: {\ntest: RDMA_Write_Latency_Test,\nMtu: 4096\n}\nresults: {\nMsgSize: 2,\nt_typical: "
      "1.25,\npercentile_99: 2.10,\n},\n}\n");
  const Cell cell{{"RDMA_Write Latency"}, Bytes(2), Metric::time};
  ASSERT_TRUE(run.cells.contains(cell));
  EXPECT_DOUBLE_EQ(run.cells.at(cell).number, 1.25e-6);
}

TEST(RecordedJson, PerftestIsReadAsSomebodyPublishedIt) {
  const auto run = run_of_text(text_of(WEFT_SOURCE_DIR "/tests/data/benchmarks/ib_write_lat-2023.json"));
  ASSERT_EQ(run.cells.size(), 1U);
  const auto& [cell, value] = *run.cells.begin();
  EXPECT_EQ(cell, Cell({"RDMA_Write Latency"}, Bytes(128), Metric::time));
  EXPECT_DOUBLE_EQ(value.number, 2.42e-6);
  EXPECT_THAT(run.mtus, testing::ElementsAre("1024"));
}

TEST(RecordedJson, AnOperationThatIsBlankSaysNothingAsInATable) {
  const auto run = run_of_text(
      R"({"args":["./hypercube_perf"],"results":[{"size":8,"type":"float","redop":"","root":"    -1","in_place":{"time":9.0,"nwrong":null}}],"end_time":"x"})");
  EXPECT_TRUE(run.cells.contains({{"hypercube", "float", "in-place"}, Bytes(8), Metric::time}));
}

TEST(RecordedJson, OfSeveralRowsOfACellTheMedianCounts) {
  const auto row = [](int time) {
    return fmt::format(R"({{"size":8,"out_of_place":{{"time":{}.0,"nwrong":0}}}})", time);
  };
  const auto run =
      run_of_text(fmt::format(R"({{"results":[{},{},{}],"end_time":"x"}})", row(10), row(30), row(20)));
  ASSERT_EQ(run.cells.size(), 1U);
  EXPECT_DOUBLE_EQ(run.cells.begin()->second.number, 20e-6);
  const auto document = [](const char* time) {
    return fmt::format("{{\ntest: RDMA_Write_Latency_Test,\nMsgSize: 2,\nt_typical: {},\n}}\n", time);
  };
  const auto latency = run_of_text(document("1.00") + document("4.00"));
  ASSERT_EQ(latency.cells.size(), 1U);
  EXPECT_DOUBLE_EQ(latency.cells.begin()->second.number, 2e-6) << "of two the geometric mean";
}

TEST(RecordedJson, EachOfSeveralDocumentsOfPerftestHasItsOwnSettings) {
  const auto run = run_of_text(
      "{\ntest: RDMA_Write_Latency_Test,\nNumber_of_qps: 4,\nConnection_type: UC,\nMsgSize: 2,\nt_typical: "
      "1.00,\n}\n{\ntest: RDMA_Read_Latency_Test,\nNumber_of_qps: 1,\nConnection_type: RC,\nMsgSize: 2,\n"
      "t_typical: 2.00,\n}\n");
  EXPECT_TRUE(run.cells.contains({{"RDMA_Write Latency", "4 QPs", "UC"}, Bytes(2), Metric::time}));
  EXPECT_TRUE(run.cells.contains({{"RDMA_Read Latency"}, Bytes(2), Metric::time}));
}

TEST(RecordedJson, WhatIsNoDocumentOfABenchmarkIsRefused) {
  EXPECT_THAT(refused("{}"), HasSubstr("no results"));
  EXPECT_THAT(refused("{\"results\":[]}"), HasSubstr("no results"));
  const auto whole = nccl("126.250000", "0.000000");
  EXPECT_THAT(refused(whole.substr(0, whole.size() / 2)), HasSubstr("no results"));
  EXPECT_THAT(refused(R"({"results":[{"size":-1}]})"), HasSubstr("size"));
  EXPECT_THAT(refused(R"({"results":[{"size":8,"in_place":{}}]})"), HasSubstr("neither 'time'"));
  EXPECT_THAT(refused(R"({"results":[7]})"), HasSubstr("expected an object"));
}

}  // namespace
}  // namespace weft::compare
