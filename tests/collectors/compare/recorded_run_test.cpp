// Tables as the tools print them, by version; all figures are invented.
#include "collectors/compare/recorded_run.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weft::compare {
namespace {

using testing::AllOf;
using testing::DoubleNear;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

Result<Run> read(std::string_view text) {
  RecordedRunReader reader("r");
  if (const auto taken = reader.take(text); !taken) return pass_on(taken);
  return std::move(reader).finish();
}

Cell cell(std::vector<std::string> work, std::int64_t size, Metric metric = Metric::time) {
  return {.work = std::move(work), .size = Bytes(size), .metric = metric};
}

double only(const Run& run, const Cell& cell) {
  const auto found = run.cells.find(cell);
  return found == run.cells.end() ? -1 : found->second.number;
}

const std::string kFooter = "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 1.5\n#\n";

const std::string kCommand = "mpirun -np 2 ./build/all_reduce_perf_mpi -b 1024\n";

const std::string kNccl213 =
    "# nThread 1 nGpus 1 minBytes 1024 maxBytes 2048 step: 2(factor) warmup iters: 5 iters: 20\n"
    "host1:77:91 [0] NCCL INFO Channel 00/02 : 0 1\n"
    "#                                                              out-of-place                       "
    "in-place\n"
    "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   "
    "busbw "
    "#wrong\n"
    "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  "
    "(GB/s)\n"
    "        1024           256     float     sum      -1    20.11    0.05    0.09      0    19.87    0.05   "
    " 0.09  "
    "    0\n"
    "host1:77:91 [0] NCCL INFO something in between\n"
    "        2048           512     float     sum      -1    21.50    0.10    0.17      0    21.40    0.10   "
    " 0.17  "
    "  N/A\n";

TEST(NcclTests, Of213HaveATypeAnOperationAndTwoPlacements) {
  const auto run = read(kCommand + kNccl213 + kFooter);
  ASSERT_TRUE(run.has_value()) << run.error().message;
  EXPECT_THAT(run->cells, SizeIs(4));
  EXPECT_THAT(run->remarks, IsEmpty());
  EXPECT_NEAR(only(*run, cell({"all_reduce", "float", "sum", "out-of-place"}, 1024)), 20.11e-6, 1e-12);
  EXPECT_NEAR(only(*run, cell({"all_reduce", "float", "sum", "in-place"}, 2048)), 21.40e-6, 1e-12);
  EXPECT_NEAR(run->cells.begin()->second.grain, 0.01 / 19.87, 1e-9);
}

TEST(NcclTests, Of20HaveAnErrorThatIsNoFault) {
  const auto run = read(
      "#       size         count    type   redop     time   algbw   busbw  error     time   algbw   busbw  "
      "error\n"
      "#        (B)    (elements)                     (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)\n"
      "        1024           256   float     sum    16.57    1.98    1.98  2e-07    13.83    2.37    2.37  "
      "1e-07\n" +
      kFooter);
  ASSERT_TRUE(run.has_value()) << run.error().message;
  EXPECT_NEAR(only(*run, cell({"nccl-tests", "float", "sum", "in-place"}, 1024)), 13.83e-6, 1e-12);
}

TEST(NcclTests, WhereOldTablesHaveErrorsTheirFooterTellsOfTheyDoNotCount) {
  const auto run = read(
      "# size count type time algbw busbw error time algbw busbw error\n"
      "1024 256 float 16.57 1.98 1.98 9e+01 13.83 2.37 2.37 1e-07\n"
      "# Out of bounds values : 3 FAILED\n");
  ASSERT_FALSE(run.has_value());
  EXPECT_THAT(run.error().message, HasSubstr("line 3: 3 wrong results: the table does not count"));
  const auto beside = read(
      "# size count type time algbw busbw error time algbw busbw error\n"
      "1024 256 float 16.57 1.98 1.98 9e+01 13.83 2.37 2.37 1e-07\n"
      "2048 512 float 16.57 1.98 1.98 9e+01 13.83 2.37 2.37 1e-07\n"
      "# Out of bounds values : 3 FAILED\n" +
      kNccl213 + kFooter);
  ASSERT_TRUE(beside.has_value());
  EXPECT_EQ(beside->wrong_rows, 2U);
}

TEST(NcclTests, Of219HaveEachIterationAndTimeStampsOfTwoWords) {
  const auto run = read(
      "# Collective test starting: broadcast_perf\n"
      "# size count type redop root time algbw busbw #wrong i_min i_max i_p99 i_cv% time algbw busbw #wrong "
      "i_min "
      "i_max i_p99 i_cv% timestamp\n"
      "# (B) (elements) (us) (GB/s) (GB/s) (us) (us) (us) (%) (us) (GB/s) (GB/s) (us) (us) (us) (%) %Y-%m-%d "
      "%H:%M:%S\n"
      "4096 1024 float none 2 30.5 0.1 0.1 0 29.1 33.0 32.8 2.15 31 0.1 0.1 0 29.3 34.1 33.9 2.45 2026-01-31 "
      "12:00:01\n" +
      kFooter + "# Collective test concluded: broadcast_perf\n");
  ASSERT_TRUE(run.has_value()) << run.error().message;
  EXPECT_NEAR(only(*run, cell({"broadcast", "float", "root 2", "out-of-place"}, 4096)), 30.5e-6, 1e-12);
  EXPECT_NEAR(only(*run, cell({"broadcast", "float", "root 2", "in-place"}, 4096)), 31e-6, 1e-12);
}

TEST(NcclTests, WrongResultsDoNotCountAndThatIsSaid) {
  auto text = kNccl213;
  text.replace(text.find("0.09      0"), 11, "0.09      7");
  const auto run = read(kCommand + text + kFooter);
  ASSERT_TRUE(run.has_value());
  EXPECT_THAT(run->cells, SizeIs(3));
  EXPECT_THAT(run->remarks, ElementsAre("line 7: wrong results: they do not count"));
  EXPECT_EQ(run->wrong_rows, 1U);
}

TEST(NcclTests, OfATableThatIsCutWhatIsWholeCountsAndThatIsSaid) {
  const auto inside = read(kCommand + kNccl213 + "        4096          1024     float     sum   ");
  ASSERT_TRUE(inside.has_value()) << inside.error().message;
  EXPECT_THAT(inside->cells, SizeIs(4));
  EXPECT_THAT(inside->remarks, ElementsAre("line 10: the table is cut: 2 rows before it are whole"));
  const auto between = read(kCommand + kNccl213 + "srun: error: host1: task 0: Killed\n");
  ASSERT_TRUE(between.has_value());
  EXPECT_THAT(between->remarks, ElementsAre("line 9: the table is cut after it: its 2 rows are whole"));
}

TEST(NcclTests, WithoutANameOfTheirCollectiveAreRemarked) {
  const auto run = read(kNccl213 + kFooter);
  ASSERT_TRUE(run.has_value());
  EXPECT_THAT(run->remarks, ElementsAre(HasSubstr("line 4: the table does not name its collective")));
}

TEST(NcclTests, WhoseJobEndedBeforeTheFirstRowHaveAnEmptyTable) {
  const auto run =
      read(kCommand + kNccl213 + kFooter + kCommand + kNccl213.substr(0, kNccl213.find("        1024")));
  ASSERT_TRUE(run.has_value());
  EXPECT_EQ(run->empty_tables, 1U);
  EXPECT_THAT(run->remarks, ElementsAre("line 17: a table without rows: did its job end early?"));
}

/// A job of two ranks.
std::string nccl_job(std::string_view options) {
  return fmt::format(
      "# nThread 1 nGpus 1 {}\n# Using devices\n"
      "#  Rank  0 Group  0 Pid 77 on host1 device  0 [0x07] NVIDIA H100\n"
      "#  Rank  1 Group  0 Pid 78 on host2 device  0 [0x07] NVIDIA H100\n"
      "# size count type redop root time algbw busbw #wrong\n1024 256 float sum -1 20.11 0.05 0.09 0\n{}",
      options, kFooter);
}

TEST(NcclTests, OfOtherRanksOrGraphsAreOtherCells) {
  const auto run = read(kCommand + nccl_job("graph: 0") + kCommand + nccl_job("graph: 10"));
  ASSERT_TRUE(run.has_value()) << run.error().message;
  EXPECT_THAT(run->remarks, IsEmpty());
  EXPECT_GT(only(*run, cell({"all_reduce", "2 ranks", "float", "sum", "out-of-place"}, 1024)), 0);
  EXPECT_GT(only(*run, cell({"all_reduce", "2 ranks", "graph 10", "float", "sum", "out-of-place"}, 1024)), 0);
}

TEST(NcclTests, KeepTheirRanksWhereTheCommandLineComesLate) {
  auto text = nccl_job("graph: 0");
  text.insert(text.find("# size"), kCommand);
  EXPECT_GT(only(*read(text), cell({"all_reduce", "2 ranks", "float", "sum", "out-of-place"}, 1024)), 0);
}

TEST(NcclTests, OfTwoJobsInOneAnotherAreRefused) {
  const auto header = kNccl213.substr(0, kNccl213.find("        1024"));
  const auto rows = kNccl213.substr(header.size());
  const auto mixed = read(header + header + rows + rows + kFooter + kFooter);
  ASSERT_FALSE(mixed.has_value());
  EXPECT_THAT(mixed.error().message, HasSubstr("r: line 9: a second header before the first table has rows"));
}

TEST(NcclTests, RowsAndEndsOfNoTableAreRemarked) {
  const auto row = kNccl213.substr(kNccl213.find("        1024"));
  const auto run = read(kCommand + kNccl213 + kFooter + row + kFooter);
  ASSERT_TRUE(run.has_value());
  EXPECT_THAT(run->cells, SizeIs(4));
  EXPECT_THAT(run->remarks, ElementsAre("line 13 and 1 more: numbers that belong to no table",
                                        HasSubstr("line 16: the end of a table that did not begin")));
}

const std::string kPerftest =
    "                    RDMA_Write BW Test\n"
    " Dual-port       : OFF          Device         : mlx5_0\n"
    " Number of qps   : 4            Transport type : IB\n"
    " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]\n"
    " 65536      5000             97.95              97.90              0.186729\n"
    "---------------------------------------------------------------------------------------\n";

TEST(Perftest, BandwidthIsInGigabitsOrInMebibytes) {
  const auto gigabits = read(kPerftest);
  ASSERT_TRUE(gigabits.has_value()) << gigabits.error().message;
  const auto same = cell({"RDMA_Write BW", "4 QPs"}, 65536, Metric::bandwidth);
  EXPECT_NEAR(only(*gigabits, same), 97.90e9, 1);
  auto text = kPerftest;
  for (auto at = text.find("Gb/"); at != std::string::npos; at = text.find("Gb/")) text.replace(at, 3, "MB/");
  const auto mebibytes = read(text);
  ASSERT_TRUE(mebibytes.has_value()) << mebibytes.error().message;
  EXPECT_NEAR(only(*mebibytes, same), 97.90 * 8 * 1048576, 1);
}

TEST(Perftest, QueuePairsAndConnectionsAreSettingsTogetherAndTheMtuIsNone) {
  auto text = kPerftest;
  text.insert(text.find(" #bytes"),
              " Connection type : UC             Using SRQ      : OFF\n Mtu             : 4096[B]\n");
  const auto run = read(text);
  ASSERT_TRUE(run.has_value());
  EXPECT_GT(only(*run, cell({"RDMA_Write BW", "4 QPs", "UC"}, 65536, Metric::bandwidth)), 0);
  EXPECT_THAT(run->mtus, ElementsAre("4096[B]"));
}

TEST(Perftest, LatencyIsTheTypicalOne) {
  const auto run = read(
      "                    RDMA_Write Latency Test\n"
      " Number of qps   : 1            Transport type : IB\n"
      " #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    t_stdev[usec]   "
      "99% "
      "percentile[usec]   99.9% percentile[usec]\n"
      "Conflicting CPU frequency values detected: 1000.000000 != 3500.000000. CPU Frequency is not max.\n"
      " 2       1000          1.81           9.91         1.85                1.86             0.10          "
      "  1.99   "
      "                9.91\n");
  ASSERT_TRUE(run.has_value()) << run.error().message;
  EXPECT_THAT(run->cells, SizeIs(1));
  EXPECT_NEAR(only(*run, cell({"RDMA_Write Latency"}, 2)), 1.85e-6, 1e-12);
}

TEST(Osu, LatencyAndBandwidthHaveTheirUnits) {
  const auto latency = read(
      "# OSU MPI Allreduce Latency Test v7.3\n# Datatype: MPI_INT.\n"
      "# Size       Avg Latency(us)   Min Latency(us)   Max Latency(us)  Iterations\n"
      "4                      11.25              9.00             15.01        1000\n");
  ASSERT_TRUE(latency.has_value()) << latency.error().message;
  EXPECT_NEAR(only(*latency, cell({"OSU MPI Allreduce Latency", "MPI_INT"}, 4)), 11.25e-6, 1e-12);
  const auto rate = read(
      "# OSU MPI Bandwidth Test v7.0\n# Datatype: MPI_CHAR.\n# Size      Bandwidth (MB/s)        Validation\n"
      "8                  2.50              Pass\n16                  5.00              Fail\n");
  ASSERT_TRUE(rate.has_value()) << rate.error().message;
  EXPECT_NEAR(only(*rate, cell({"OSU MPI Bandwidth"}, 8, Metric::bandwidth)), 20e6, 1e-3);
  EXPECT_THAT(rate->remarks, ElementsAre(HasSubstr("line 5")));
}

TEST(Osu, BuffersAndDatatypesAreSettingsTogether) {
  const auto run = read(
      "# OSU MPI-CUDA Latency Test v7.3\n# Send Buffer on DEVICE (D) and Receive Buffer on HOST (H)\n"
      "# Datatype: MPI_INT.\n# Size       Avg Latency(us)\n4                      11.25\n");
  ASSERT_TRUE(run.has_value());
  EXPECT_GT(only(*run, cell({"OSU MPI-CUDA Latency", "DEVICE to HOST", "MPI_INT"}, 4)), 0);
}

TEST(Osu, ATableEndsAtAnUnknownHeaderAndWhereSizesFall) {
  const std::string table = "# OSU MPI Latency Test v5.9\n# Size Latency (us)\n8 2.00\n16 3.00\n";
  const auto equal = read(table + "16 4.00\n");
  ASSERT_TRUE(equal.has_value());
  EXPECT_THAT(equal->remarks, IsEmpty());
  const auto below = read(table + "1 500.00\n32 600.00\n");
  ASSERT_TRUE(below.has_value());
  EXPECT_THAT(below->cells, SizeIs(2));
  EXPECT_THAT(below->remarks, ElementsAre("line 5: a size below the last one: the table ends before it",
                                          "line 5 and 1 more: numbers that belong to no table"));
  const auto alien = read(table + "# messages  rate\n32 600.00\n");
  ASSERT_TRUE(alien.has_value());
  EXPECT_THAT(alien->cells, SizeIs(2));
  EXPECT_THAT(alien->remarks, ElementsAre("line 6: numbers that belong to no table"));
}

TEST(Osu, ARowWithACommaIsRemarked) {
  const auto run = read("# OSU MPI Latency Test v5.9\n# Size Latency (us)\n8 2,50\n16 3.00\n");
  ASSERT_TRUE(run.has_value());
  EXPECT_THAT(run->remarks, ElementsAre("line 3: '2,50' is no number: the row does not count"));
}

TEST(RecordedRun, OfRowsOfOneCellItIsTheMedianAndOfTwoTheirMiddle) {
  const std::string table = "# OSU MPI Latency Test v5.9\n# Size Latency (us)\n";
  const auto same = cell({"OSU MPI Latency"}, 8);
  EXPECT_NEAR(only(*read(table + "8 900.00\n8 2.00\n8 1.00\n"), same), 2e-6, 1e-12);
  EXPECT_NEAR(only(*read(table + "8 1.00\n" + table + "8 4.00\n"), same), 2e-6, 1e-12);  // the geometric
}

TEST(RecordedRun, WhoseLinesHaveAPrefixIsRefusedAndThatIsSaid) {
  for (const char* prefix : {"[1,0]<stdout>:", "0: "}) {
    std::string text;
    for (const char* line : {"# OSU MPI Latency Test v5.9", "# Size Latency (us)", "8 2.00"})
      text.append(prefix).append(line).append("\n");
    EXPECT_THAT(read(text).error().message, HasSubstr("line 2: lines have a prefix")) << prefix;
  }
}

TEST(RecordedRun, IsTheSameHoweverItsBytesCome) {
  const std::string text = kNccl213 + kFooter + kPerftest;
  RecordedRunReader reader("r");
  for (const char c : text) ASSERT_TRUE(reader.take({&c, 1}).has_value());
  const auto run = std::move(reader).finish();
  ASSERT_TRUE(run.has_value());
  EXPECT_THAT(run->cells, SizeIs(5));
}

TEST(RecordedRun, ColumnsThatDoNotMatchAreRefusedWithTheirLine) {
  const std::string header = "# Size          Latency (us)\n";
  EXPECT_THAT(read(header + "1 2.00 3.00\n").error().message, HasSubstr("line 2: the columns do not match"));
  EXPECT_THAT(read("# Size  Latency (us)  Iterations\n1 2.00\n2 2.00 5\n").error().message,
              HasSubstr("line 2"));
  EXPECT_THAT(read("# Size  Latency (us)  Surprise(us)\n").error().message,
              AllOf(HasSubstr("line 1"), HasSubstr("'Surprise(us)'")));
  EXPECT_THAT(read("# size count type\n").error().message, HasSubstr("line 1"));
  EXPECT_THAT(read(" #bytes #iterations BW peak[MB/sec] BW average[TB/sec]\n").error().message,
              HasSubstr("'BW average[TB/sec]'"));
}

TEST(RecordedRun, ValuesWithoutARatioAreLeftOutAndSaid) {
  const auto run =
      read("# Size   Latency (us)\n1 0.00\n2 -1.00\n4 inf\n8 nan\n16 1.00\n32 1e999\n64 1e-999\n");
  ASSERT_TRUE(run.has_value()) << run.error().message;
  EXPECT_THAT(run->cells, SizeIs(1));
  EXPECT_THAT(run->remarks, SizeIs(6));
  EXPECT_THAT(run->remarks,
              testing::Contains("line 7: 1e999 has no ratio to anything: the row does not count"));
}

TEST(RecordedRun, WhatIsTooMuchIsRefused) {
  RecordedRunReader reader("r");
  const std::string piece(60'000, 'x');
  EXPECT_TRUE(reader.take(piece).has_value());
  EXPECT_THAT(reader.take(piece).error().message, HasSubstr("line 1 is longer"));
  std::string sizes = "# Size   Latency (us)\n";
  for (int i = 0; i < 20'001; ++i) sizes += fmt::format("{} 1.00\n", i);
  EXPECT_THAT(read(sizes).error().message, HasSubstr("line 20002: more than 20000 sizes"));
}

TEST(RecordedRun, NamesWithControlCharactersAreMadeHarmless) {
  const auto run = read(
      "# size count type time algbw busbw error time algbw busbw error\n"
      "1024 256 fl\x1b[31m 16.57 1.98 1.98 0 13.83 2.37 2.37 0\n" +
      kFooter);
  ASSERT_TRUE(run.has_value());
  EXPECT_THAT(run->cells.begin()->first.work, ElementsAre("nccl-tests", "fl\\x1b[31m", "in-place"));
}

TEST(RecordedRun, WithoutATableIsAnError) {
  EXPECT_THAT(read("").error().message, HasSubstr("no results"));
  EXPECT_THAT(read("1 2\n3 4\n").error().message, HasSubstr("no results"));
}

}  // namespace
}  // namespace weft::compare
