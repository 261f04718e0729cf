// Outputs of nccl-tests laid out as people posted them, by version: headers and columns are those of the
// threads named, all figures are invented.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "collectors/compare/recorded_run.hpp"

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
      "           8             2   float       0    41.11    0.00    0.00    N/A    39.22    0.00    0.00   "
      " N/A\n"
      "          16             4   float       0    42.33    0.00    0.00    N/A    40.44    0.00    0.00   "
      " N/A\n");
  ASSERT_TRUE(run) << run.error().message;
  EXPECT_THAT(run->cells, SizeIs(4));
  const auto& [cell, value] = *run->cells.rbegin();
  EXPECT_EQ(cell.work.front(), "broadcast");
  EXPECT_EQ(cell.work.back(), "out-of-place");
  EXPECT_EQ(cell.size, Bytes(16));
  EXPECT_NEAR(value.number, 42.33e-6, 1e-12);
}

// github.com/NVIDIA/nccl-tests/issues/107 (2022): without MPI=1 each host runs a job of its own, and the
// headers of both stand one behind the other.
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
      "           0             0     float     sum      -1     5.11    0.00    0.00      0     5.22    0.00 "
      "   0.00   "
      "   0\n"
      "           0             0     float     sum      -1     5.33    0.00    0.00      0     5.44    0.00 "
      "   0.00   "
      "   0\n"
      "           0             0     float     sum      -1     5.55    0.00    0.00      0     5.66    0.00 "
      "   0.00   "
      "   0\n"
      "         128             4     float     sum      -1    31.11    0.00    0.00      0    25.22    0.01 "
      "   0.00   "
      "   0\n"
      "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 0.0012\n#\n");
  ASSERT_TRUE(run) << run.error().message;
  EXPECT_THAT(run->cells, SizeIs(4));
  EXPECT_NEAR(seconds(*run, {"reduce_scatter", "float", "sum", "out-of-place"}, 0), 5.33e-6, 1e-12);
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
      "        8192          2048     float     sum      -1    35.11    0.23    0.23       0    30.22    "
      "0.27    0.27   "
      "    0\n"
      "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 0.25\n");
  ASSERT_TRUE(run) << run.error().message;
  ASSERT_THAT(run->cells, SizeIs(2));
  const auto& work = run->cells.begin()->first.work;
  EXPECT_EQ(work.front(), "all_reduce");
  EXPECT_THAT(work, testing::Contains("2 ranks"));
  EXPECT_THAT(run->remarks, IsEmpty());
}

}  // namespace
}  // namespace weft::compare
