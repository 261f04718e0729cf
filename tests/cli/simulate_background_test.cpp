// weft simulate --background: losses that healthy channels have too.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/commands.hpp"
#include "tests/support/command.hpp"
#include "tests/support/scratch_file.hpp"

namespace weft::cli {
namespace {

using testing::HasSubstr;

constexpr const char* kFabric = "fabric: t\nclos: {leaves: 4, spines: 4, hosts_per_leaf: 2, link: 400G}\n";

TEST(SimulateBackground, LossesWithinWhatIsToleratedAreNoFault) {
  const ScratchFile fabric(kFabric);
  const auto outcome =
      call(simulate_command, {fabric.path(), "--load", "none", "--background", "0.01%", "-o", "json"});
  EXPECT_EQ(outcome.status, 0) << outcome.out << outcome.err;
  const auto lost = nlohmann::json::parse(outcome.out)["account"]["lost"];
  EXPECT_GT(lost["all"], 0);
  EXPECT_EQ(lost["tolerated"], lost["all"]);
}

TEST(SimulateBackground, AFaultIsFoundAmongThem) {
  const ScratchFile fabric(kFabric);
  const auto outcome = call(simulate_command, {fabric.path(), "--load", "none", "--background", "0.01%",
                                               "--fault", "leaf2--spine3:loss=0.5%,from=leaf2"});
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.out, HasSubstr("leaf2--spine3"));
}

TEST(SimulateBackground, WhatNoHealthyChannelLosesIsRefused) {
  const ScratchFile fabric(kFabric);
  for (const char* wrong : {"0%", "5%", "-1%", "some"}) {
    const auto outcome = call(simulate_command, {fabric.path(), "--background", wrong});
    EXPECT_EQ(outcome.status, 64) << wrong;
    EXPECT_THAT(outcome.err, HasSubstr("--background"));
  }
  EXPECT_EQ(call(simulate_command, {fabric.path(), "--background=1%", "--collective=ring"}).status, 64);
}

}  // namespace
}  // namespace weft::cli
