// Outputs of nccl-tests as people posted them, by version: headers, columns and figures are those of the
// threads named, of which some rows are left out. Longer ones are files of tests/data/benchmarks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "collectors/compare/recorded_run.hpp"
#include "tests/places.hpp"
#include "tests/support/text_of.hpp"

namespace weft::compare {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

Result<Run> read(std::string_view text) {
  RecordedRunReader reader("r");
  if (const auto taken = reader.take(text); !taken) return pass_on(taken);
  return std::move(reader).finish();
}

Run published(const std::string& name) {
  auto run = read(text_of(WEFT_SOURCE_DIR "/tests/data/benchmarks/" + name));
  EXPECT_TRUE(run) << run.error().message;
  return run.value_or(Run());
}

double seconds(const Run& run, std::vector<std::string> work, std::int64_t size) {
  const auto found = run.cells.find({std::move(work), Bytes(size), Metric::time});
  return found == run.cells.end() ? -1 : found->second.number;
}

// github.com/NVIDIA/nccl-tests/issues/82 (2021, NCCL 2.9.6): a broadcast has a root and no operation, and
// without validation (-c 0) no errors; the warning of a host stands within.
TEST(NcclThreads, Of2021ABroadcastHasARootAndNoErrorsWithoutValidation) {
  const auto run = read(
      "$ mpirun -np 2 ./build/broadcast_perf -b 8 -e 16 -f 2 -g 1 -c 0\n"
      "# nThread 1 nGpus 1 minBytes 8 maxBytes 16 step: 2(factor) warmup iters: 10 iters: 100 validation: 0 "
      "\n"
      "#\n# Using devices\n"
      "#   Rank  0 Pid  14926 on gpu-1 device  0 [0x00] Tesla V100-PCIE-16GB\n"
      "#   Rank  1 Pid   9210 on gpu-5 device  0 [0x00] Tesla V100-PCIE-16GB\n\n"
      "gpu-1:14926:14926 [0] misc/ibvwrap.cc:63 NCCL WARN Failed to open libibverbs.so[.1]\n"
      "NCCL version 2.9.6+cuda11.2\n#\n"
      "#                                                     out-of-place                       in-place     "
      "     \n"
      "#       size         count    type    root     time   algbw   busbw  error     time   algbw   busbw  "
      "error\n"
      "#        (B)    (elements)                     (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)   "
      "    \n"
      "           8             2   float       0    45.82    0.00    0.00    N/A    38.17    0.00    0.00   "
      " N/A\n");
  ASSERT_TRUE(run) << run.error().message;
  EXPECT_THAT(run->cells, SizeIs(2));
  const auto& [cell, value] = *run->cells.rbegin();
  EXPECT_EQ(cell.work.front(), "broadcast");
  EXPECT_EQ(cell.work.back(), "out-of-place");
  EXPECT_EQ(cell.size, Bytes(8));
  EXPECT_NEAR(value.number, 45.82e-6, 1e-12);
}

TEST(NcclThreads, Of2020ErrorsOfSumsAreNoFault) {
  const auto run = published("all_reduce-2020.txt");
  EXPECT_THAT(run.cells, SizeIs(24));
  EXPECT_EQ(run.wrong_rows, 0U);
  EXPECT_NEAR(seconds(run, {"all_reduce", "float", "sum", "in-place"}, 16384), 164.5e-6, 1e-12);
}

TEST(NcclThreads, Of2021AlltoallHasABlankUnderItsOperation) {
  const auto run = published("alltoall-2021.txt");
  EXPECT_THAT(run.cells, SizeIs(4));
  EXPECT_THAT(run.remarks, IsEmpty());
  EXPECT_NEAR(seconds(run, {"alltoall", "float", "out-of-place"}, 268435456), 520935e-6, 1e-9);
  EXPECT_NEAR(seconds(run, {"alltoall", "float", "in-place"}, 536870912), 1041299e-6, 1e-9);
  const auto reduced = published("all_reduce-2021.txt");
  EXPECT_NEAR(seconds(reduced, {"all_reduce", "float", "sum", "out-of-place"}, 268435456), 122131e-6, 1e-9);
}

// src/hypercube.cu (2025) names no operation either, before a root. What lacks more is cut, and a blank is
// no place for a word too few elsewhere.
TEST(NcclThreads, ABlankIsOneWordUnderTheOperationAlone) {
  const std::string header =
      "$ ./build/hypercube_perf\n# size count type redop root time algbw busbw #wrong time algbw busbw "
      "#wrong\n";
  const auto run = read(header + "1024 256 float -1 20.5 0.05 0.05 0 21.5 0.05 0.05 N/A\n" +
                        "# Out of bounds values : 0 OK\n");
  ASSERT_TRUE(run) << run.error().message;
  EXPECT_THAT(run->remarks, IsEmpty());
  EXPECT_NEAR(seconds(*run, {"hypercube", "float", "out-of-place"}, 1024), 20.5e-6, 1e-12);
  for (const char* cut : {"1024 256 float sum -1 20.5 0.05 0.05 0 21.5 0.05 0.05\n",
                          "1024 256 float -1 20.5 0.05 0.05 0 21.5 0.05 0.05\n"})
    EXPECT_FALSE(read(header + cut)) << cut;
  EXPECT_FALSE(read("# size count time redop\n1024 256 20.5\n")) << "a header that nobody prints";
}

// A job that hung in its second large size: what is wrong does not count, and the table has no end.
TEST(NcclThreads, Of2024RowsWithWrongResultsDoNotCount) {
  const auto run = published("all_reduce-wrong-2024.txt");
  EXPECT_EQ(run.wrong_rows, 1U);
  EXPECT_THAT(run.cells, SizeIs(4));
  EXPECT_EQ(seconds(run, {"all_reduce", "float", "sum", "in-place"}, 524288), -1);
  EXPECT_THAT(run.remarks, testing::Contains(HasSubstr("wrong results")));
}

TEST(NcclThreads, Of2025TimesWithoutADecimalPointHaveTheirGrain) {
  const auto run = published("all_reduce-2025.txt");
  EXPECT_THAT(run.cells, SizeIs(10));
  const auto& value = run.cells.at(
      {{"all_reduce", "1 ranks", "float", "sum", "out-of-place"}, Bytes(8589934592), Metric::time});
  EXPECT_NEAR(value.number, 20299e-6, 1e-12);
  EXPECT_NEAR(value.grain, 1.0 / 20299, 1e-9);
}

// github.com/NVIDIA/nccl-tests/issues/107 (2022): without MPI=1 each host runs a job of its own, and the
// headers of both stand one behind the other. The figures of the row are invented.
TEST(NcclThreads, Of2022TwoJobsInOneLogAreRefused) {
  const std::string header =
      "#                                                       out-of-place                       in-place\n"
      "#       size         count      type   redop     time   algbw   busbw  error     time   algbw   busbw "
      " error\n"
      "#        (B)    (elements)                       (us)  (GB/s)  (GB/s)            (us)  (GB/s)  "
      "(GB/s)\n";
  const auto run =
      read(header + "#\n" + header +
           "  1310720000     327680000     float     sum    11111  117.97    0.00  0e+00    11222  "
           "116.80    0.00  0e+00\n");
  ASSERT_FALSE(run);
  EXPECT_THAT(run.error().message, HasSubstr("mixed"));
}

// github.com/NVIDIA/nccl-tests/issues/128 (2023): sizes too small for the ranks are sent as 0 bytes, several
// rows of them.
TEST(NcclThreads, Of2023RowsOfNoBytesAreOneCell) {
  const auto run = read(
      "$ mpirun -np 8 ./build/reduce_scatter_perf -b 8 -e 128 -f 2 -g 1\n"
      "#                                                              out-of-place                       "
      "in-place    "
      "      \n"
      "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw "
      "  busbw "
      "#wrong\n"
      "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s) "
      " (GB/s)  "
      "     \n"
      "           0             0     float     sum      -1     5.70    0.00    0.00      0     5.54    0.00 "
      "   0.00   "
      "   0\n"
      "           0             0     float     sum      -1     5.92    0.00    0.00      0     5.51    0.00 "
      "   0.00   "
      "   0\n"
      "           0             0     float     sum      -1     5.52    0.00    0.00      0     5.55    0.00 "
      "   0.00   "
      "   0\n"
      "           0             0     float     sum      -1     5.53    0.00    0.00      0     5.53    0.00 "
      "   0.00   "
      "   0\n"
      "           0             0     float     sum      -1     5.57    0.00    0.00      0     5.52    0.00 "
      "   0.00   "
      "   0\n"
      "         128             4     float     sum      -1    32.31    0.00    0.00      0    25.35    0.01 "
      "   0.00   "
      "   0\n"
      "         256             8     float     sum      -1    24.01    0.01    0.00      0    23.18    0.01 "
      "   0.00   "
      "   0\n"
      "# Out of bounds values : 0 OK\n#\n");
  ASSERT_TRUE(run) << run.error().message;
  EXPECT_THAT(run->cells, SizeIs(6));
  EXPECT_NEAR(seconds(*run, {"reduce_scatter", "float", "sum", "out-of-place"}, 0), 5.57e-6, 1e-12);
  EXPECT_NEAR(seconds(*run, {"reduce_scatter", "float", "sum", "in-place"}, 128), 25.35e-6, 1e-12);
  EXPECT_THAT(run->remarks, IsEmpty());
}

// github.com/NVIDIA/dgx-spark-playbooks/pull/103 (nccl-tests 2.20.0): the version and the collective are
// told, and "#wrong" stands one column further.
TEST(NcclThreads, Of2025TheHeaderTellsVersionAndCollective) {
  const auto run = read(
      "# nccl-tests version 2.20.0 (b4d5bee) nccl-headers=23102 nccl-library=23102\n"
      "# Collective test starting: all_reduce_perf\n"
      "# nThread 1 nGpus 1 minBytes 8192 maxBytes 8192 step: 2(factor) warmup iters: 10 iters: 100 agg "
      "iters: 1 "
      "validation: 1 graph: 0 unalign: 0\n"
      "#\n# Using devices\n"
      "#  Rank  0 Group  0 Pid 1666603 on spark-1 device  0 [000f:01:00] NVIDIA GB10\n"
      "#  Rank  1 Group  0 Pid 1669515 on spark-2 device  0 [000f:01:00] NVIDIA GB10\n#\n"
      "#                                                              out-of-place                       "
      "in-place\n"
      "#       size         count      type   redop    root     time   algbw   busbw  #wrong     time   "
      "algbw   busbw  "
      "#wrong\n"
      "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)             (us)  "
      "(GB/s)  "
      "(GB/s)\n"
      "        8192          2048     float     sum      -1    35.15    0.23    0.23       0    30.33    "
      "0.27    0.27   "
      "    0\n"
      "# Out of bounds values : 0 OK\n");
  ASSERT_TRUE(run) << run.error().message;
  ASSERT_THAT(run->cells, SizeIs(2));
  const auto& work = run->cells.begin()->first.work;
  EXPECT_EQ(work.front(), "all_reduce");
  EXPECT_THAT(work, testing::Contains("2 ranks"));
  EXPECT_THAT(run->remarks, IsEmpty());
}

}  // namespace
}  // namespace weft::compare
