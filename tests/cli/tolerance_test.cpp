// What is put up with, as the fabric file and `--tolerate` say it, through the commands.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/commands.hpp"
#include "tests/support/command.hpp"
#include "tests/support/observation_text.hpp"
#include "tests/support/scratch_file.hpp"
#include "topology/model/fabric.hpp"

namespace weft::cli {
namespace {

using testing::HasSubstr;

constexpr int kHealthy = 0;
constexpr int kDegraded = 1;
constexpr int kUsage = 64;

ScratchFile fabric_that_tolerates(std::string_view tolerate, int hosts_per_leaf = 2) {
  return ScratchFile(fmt::format("fabric: t\nclos: {{leaves: 2, spines: 2, hosts_per_leaf: {}}}\n{}",
                                 hosts_per_leaf,
                                 tolerate.empty() ? "" : fmt::format("tolerate: {{{}}}\n", tolerate)));
}

/// Each cable between switches delays all packets: every path is as late as the others, and all are of one
/// length.
Outcome simulated(std::string_view tolerate, const Arguments& more = {}) {
  const auto fabric = fabric_that_tolerates(tolerate, 1);
  Arguments words{fabric.path(), "--load", "none", "--budget", "2s"};
  for (const char* cable : {"leaf1--spine1", "leaf1--spine2", "leaf2--spine1", "leaf2--spine2"})
    words.insert(words.end(), {"--fault", fmt::format("{}:delay=2ms", cable)});
  words.insert(words.end(), more.begin(), more.end());
  return call(simulate_command, words);
}

TEST(Tolerance, OfTheFileHoldsForSimulate) {
  EXPECT_EQ(simulated("").status, kDegraded);
  EXPECT_EQ(simulated("loss: 1%").status, kDegraded) << "says nothing of delays";
  EXPECT_EQ(simulated("delay: 50ms").status, kHealthy);
}

TEST(Tolerance, OfTheOptionWinsSettingBySetting) {
  EXPECT_EQ(simulated("delay: 50ms", {"--tolerate", "delay=1ms"}).status, kDegraded);
  EXPECT_EQ(simulated("delay: 50ms", {"--tolerate", "loss=0.02%"}).status, kHealthy);
  EXPECT_EQ(simulated("delay: 1ms", {"--tolerate", "delay=50ms"}).status, kHealthy);
}

TEST(Tolerance, OfMoreThanAFaultLosesHidesNoneThatIsTold) {
  const ScratchFile fabric("fabric: t\nclos: {leaves: 4, spines: 4, hosts_per_leaf: 2}\n");
  const auto outcome = call(simulate_command, {fabric.path(), "--tolerate", "loss=1%", "--fault",
                                               "leaf1--spine1:loss=0.5%,from=leaf1"});
  EXPECT_EQ(outcome.status, kDegraded) << outcome.out;
}

/// Every path loses a packet in a thousand.
Outcome diagnosed(std::string_view tolerate, const Arguments& more = {}) {
  const auto fabric = fabric_that_tolerates(tolerate);
  const ScratchFile observations(lines_of_two_leaves(20000, [](int, int) { return 20; }));
  Arguments words{"--fabric", fabric.path(), "--observations", observations.path()};
  words.insert(words.end(), more.begin(), more.end());
  return call(diagnose_command, words);
}

TEST(Tolerance, OfTheFileHoldsForDiagnose) {
  EXPECT_EQ(diagnosed("").status, kDegraded);
  EXPECT_EQ(diagnosed("loss: 0.2%").status, kHealthy);
  EXPECT_EQ(diagnosed("loss: 0.2%", {"--tolerate", "loss=0.01%"}).status, kDegraded);
  EXPECT_EQ(diagnosed("loss: 0.01%", {"--tolerate", "loss=0.2%,delay=2ms"}).status, kHealthy);
}

TEST(Tolerance, ThatIsNoneIsRefusedByEveryCommand) {
  const auto fabric = fabric_that_tolerates("loss: 7%");
  const ScratchFile observations("");
  for (const auto& outcome :
       {call(simulate_command, {fabric.path()}), call(sweep_command, {"--fabric", fabric.path()}),
        call(diagnose_command, {"--fabric", fabric.path(), "--observations", observations.path()})}) {
    EXPECT_EQ(outcome.status, kUsage);
    EXPECT_THAT(outcome.err, HasSubstr(":3: loss: 7% is not between 0% and 5%"));
  }
}

}  // namespace
}  // namespace weft::cli
