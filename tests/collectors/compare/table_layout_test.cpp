#include "collectors/compare/table_layout.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weft::compare {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::string announced(std::string_view line) {
  const auto announcement = announced_in(line, words_of(line));
  return announcement ? std::string(to_string(announcement->tool)) + ": " + announcement->text : "nothing";
}

TEST(TableLayout, ALineIsSplitAtBlanks) {
  EXPECT_THAT(words_of("\t 1  2.50\r"), ElementsAre("1", "2.50"));
  EXPECT_THAT(words_of(" \t"), IsEmpty());
}

TEST(TableLayout, ALineNamesTheWorkOfTheTablesToCome) {
  EXPECT_EQ(announced("# Collective test starting: all_gather_perf"), "nccl-tests: all_gather");
  EXPECT_EQ(announced("srun -N 2 /opt/bin/sendrecv_perf_mpi -b 8"), "nccl-tests: sendrecv");
  EXPECT_EQ(announced("   Send Bidirectional BW Test"), "perftest: Send Bidirectional BW");
  EXPECT_EQ(announced(" Number of qps   : 16   Transport type : IB"), "perftest: 16 QPs");
  EXPECT_EQ(announced(" Number of qps   : 1"), "perftest: ");
  EXPECT_EQ(announced("# OSU MPI-CUDA Reduce Latency Test v7.3"), "OSU: OSU MPI-CUDA Reduce Latency");
  EXPECT_EQ(announced("# Datatype: MPI_CHAR."), "OSU: ");
  for (const char* line : {"", "Test", "a BW", "# Test", "_perf", "./a-b_perf", " Number of qps",
                           " Number of qps   :", "# Collective test concluded: all_gather_perf"})
    EXPECT_EQ(announced(line), "nothing") << line;
}

TEST(TableLayout, ALineTellsASettingOfTheTablesToCome) {
  EXPECT_EQ(announced(" Connection type : RC             Using SRQ      : OFF"), "perftest: ");
  EXPECT_EQ(announced(" Connection type : UD             Using SRQ      : OFF"), "perftest: UD");
  EXPECT_EQ(announced("# Send Buffer on HOST (H) and Receive Buffer on HOST (H)"), "OSU: ");
  EXPECT_EQ(announced("# Send Buffer on DEVICE (D) and Receive Buffer on HOST (H)"), "OSU: DEVICE to HOST");
  EXPECT_EQ(announced("# nThread 1 nGpus 8 minBytes 8 agg iters: 1 validation: 1 graph: 0"), "nccl-tests: ");
  EXPECT_EQ(announced("# nThread 1 nGpus 8 minBytes 8 agg iters: 1 validation: 1 graph: 10"),
            "nccl-tests: graph 10");
  const std::string_view rank = "#  Rank  0 Group  0 Pid    77 on      host1 device  0 [0x07] NVIDIA H100";
  EXPECT_EQ(announced_in(rank, words_of(rank))->topic, Topic::ranks);
  const std::string_view mtu = " Mtu             : 4096[B]";
  EXPECT_EQ(announced_in(mtu, words_of(mtu))->topic, Topic::mtu);
}

TEST(TableLayout, LinesThatAreNoHeaderHaveNone) {
  for (const char* line : {"", "#", "# size", "# size of it", "size count type", "#bytes"})
    EXPECT_FALSE(table_header(words_of(line)).has_value()) << line;
}

}  // namespace
}  // namespace weft::compare
