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
  for (const char* line : {"", "Test", "a BW", "# Test", "_perf", "./a-b_perf", " Number of qps"})
    EXPECT_THAT(announced(line), testing::AnyOf("nothing", "perftest:  QPs")) << line;
}

TEST(TableLayout, LinesThatAreNoHeaderHaveNone) {
  for (const char* line : {"", "#", "# size", "# size of it", "size count type", "#bytes"})
    EXPECT_FALSE(table_header(words_of(line)).has_value()) << line;
}

}  // namespace
}  // namespace weft::compare
