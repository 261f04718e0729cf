#include "cli/simulate_collective.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/commands.hpp"
#include "cli/exit_status.hpp"
#include "topology/model/clos.hpp"

namespace weft::cli {
namespace {

po::variables_map parsed(Arguments words) {
  words.insert(words.begin(), "fabric.yaml");
  const auto values = simulate_options().parse(words);
  EXPECT_TRUE(values) << values.error().message;
  return values.value_or(po::variables_map());
}

class CollectiveOnAClos : public testing::Test {
 protected:
  FaultSpec fault(std::string_view link) const { return {.link = *fabric_.find_link(link)}; }
  int run(const std::vector<FaultSpec>& faults) const {
    return simulate_collective(parsed({"--collective", "ring", "--hosts", "4", "-o", "json"}), fabric_,
                               faults);
  }
  /// By strategy.
  std::vector<double> seconds(const std::vector<FaultSpec>& faults) const {
    testing::internal::CaptureStdout();
    EXPECT_EQ(run(faults), kExitHealthy);
    const auto json = nlohmann::json::parse(testing::internal::GetCapturedStdout());
    std::vector<double> all;
    for (const auto& strategy : json.at("strategies")) all.push_back(strategy.at("seconds"));
    return all;
  }

  Fabric fabric_ = *make_clos({.leaves = 2, .spines = 2, .hosts_per_leaf = 2});
};

TEST_F(CollectiveOnAClos, IsMeantWhereADemandIsGivenAndElseASweep) {
  EXPECT_TRUE(collective_was_asked(parsed({"--collective", "ring"})));
  EXPECT_TRUE(collective_was_asked(parsed({"--flows", "job.jsonl"})));
  EXPECT_FALSE(collective_was_asked(parsed({})));
}

TEST_F(CollectiveOnAClos, TakesLongerBySlowCablesWhicheverWayItIsSpread) {
  const auto healthy = seconds({});
  auto slow = fault("host1--leaf1");
  slow.rate = Bandwidth::gbit(10);
  const auto slower = seconds({slow});
  ASSERT_FALSE(healthy.empty());
  ASSERT_EQ(slower.size(), healthy.size());
  for (std::size_t i = 0; i < healthy.size(); ++i) EXPECT_GT(slower[i], healthy[i]) << i;
}

TEST_F(CollectiveOnAClos, FaultsThatAFluidDoesNotKnowAreRefused) {
  auto lossy = fault("leaf1--spine1");
  lossy.loss = Fraction(0.1);
  EXPECT_EQ(run({lossy}), kExitUsage);
  auto flapping = fault("leaf1--spine1");
  flapping.down = true;
  flapping.on = flapping.off = std::chrono::seconds(1);
  EXPECT_EQ(run({flapping}), kExitUsage);
}

}  // namespace
}  // namespace weft::cli
