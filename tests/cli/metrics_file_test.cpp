// --metrics-file of the commands that print a diagnosis.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "cli/commands.hpp"
#include "tests/collectors/metrics/promtool.hpp"
#include "tests/support/command.hpp"
#include "tests/support/scratch_file.hpp"
#include "topology/files/file_text.hpp"

namespace weft::cli {
namespace {

using testing::HasSubstr;

constexpr std::string_view kFabric =
    "fabric: a\nclos: {leaves: 4, spines: 4, hosts_per_leaf: 4, link: 400G}\n";

TEST(MetricsFile, IsWrittenBesideTheAnswer) {
  const ScratchFile fabric(kFabric), metrics("");
  const auto outcome = call(simulate_command, {fabric.path(), "--fault", "leaf1--spine2:loss=2%",
                                               "--metrics-file", metrics.path()});
  EXPECT_EQ(outcome.status, 1) << outcome.err;
  const auto text = files::read_text_file(metrics.path(), Bytes(1'000'000)).value();
  EXPECT_THAT(text, HasSubstr(R"(weft_run_verdict{fabric="a",verdict="degraded"} 1)"));
  EXPECT_THAT(text, HasSubstr(R"(link="leaf1--spine2")"));
  EXPECT_TRUE(metrics::promtool_takes(text));
}

TEST(MetricsFile, ThatCannotBeWrittenIsRefusedBeforeOrSaidAndTheAnswerStands) {
  const ScratchFile fabric(kFabric);
  const auto refused = call(simulate_command, {fabric.path(), "--metrics-file", "/nowhere/weft.prom"});
  EXPECT_EQ(refused.status, 64);
  EXPECT_EQ(refused.out, "");
  EXPECT_THAT(refused.err, HasSubstr("/nowhere/weft.prom"));
  const auto full = call(simulate_command, {fabric.path(), "--metrics-file", "/dev/full"});
  EXPECT_EQ(full.status, 0);
  EXPECT_NE(full.out, "");
  EXPECT_THAT(full.err, HasSubstr("/dev/full cannot be written: No space left"));
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/full"));
}

}  // namespace
}  // namespace weft::cli
