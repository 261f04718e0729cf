#include "probes/diagnosis/counts/hypotheses.hpp"

#include <gtest/gtest.h>

#include "topology/model/clos.hpp"

namespace weft::diagnosis {
namespace {

std::uint64_t packets_for(double loss) {
  const Fabric fabric = make_clos({.leaves = 2, .spines = 1, .hosts_per_leaf = 1}).value();
  CountProblem problem;
  problem.suspects.resize(1);
  problem.suspects[0].channels = {ChannelId(0)};
  CountResult result;
  result.suspicions.resize(1);
  result.suspicions[0].probability = 0.5;
  result.suspicions[0].loss = loss;
  return hypothesis_of(fabric, problem, result, {0}, Counted::loss).packets;
}

TEST(Hypotheses, OfALossThatIsAlmostNothingTakeManyPacketsButANumber) {
  EXPECT_GT(packets_for(0.01), 0u);
  EXPECT_LT(packets_for(0.01), 100'000u);
  for (const double loss : {0.0, 1e-300, 1e-18, 1e-12})
    EXPECT_EQ(packets_for(loss), 1'000'000'000'000u) << loss;
}

}  // namespace
}  // namespace weft::diagnosis
