#include "probes/plan/predicted_traces.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "probes/engine/sim/sim_fabric.hpp"
#include "topology/model/clos.hpp"

namespace weft::plan {
namespace {

/// Two leaves; a pair whose first labels were traced.
struct Rig {
  explicit Rig(routing::HashOptions hash, std::uint32_t labels = 64, std::uint32_t spines = 8)
      : fabric(*make_clos({.leaves = 2, .spines = spines, .hosts_per_leaf = 2})),
        sim(sim::SimFabric::make(fabric, addresses.book, {.seed = 3, .hash = hash})) {
    for (std::uint32_t i = 0; i < labels; ++i) trace(PathLabel(kFirstRoceLabel + 1237 * i % kRoceLabels));
  }
  Fabric fabric;
  AddressPlan addresses = *plan_addresses(fabric, IpFamily::v4);
  PathTable table;
  PathLearner learner{fabric, addresses.book, table};
  PredictedTraces predicted{learner, fabric, addresses.book};
  std::shared_ptr<sim::SimFabric> sim;
  NicPair pair{fabric.nics().front(), fabric.nics().back()};
  std::uint32_t batch = 0;

  void trace(PathLabel label) {
    const datapath::TraceRequest request{.batch = BatchId(++batch),
                                         .peers = {{pair.dst, *addresses.book.address_of(pair.dst)}},
                                         .specs = {{0, label, 4}}};
    learner.learn(pair.src, pair.dst, label, *sim->engine(pair.src)->trace(request, {}));
  }
  std::vector<ChannelId> truth(PathLabel label) const {
    std::vector<ChannelId> path;
    sim->world().path_of(pair.src, pair.dst, label, path);
    return path;
  }
  std::vector<PathLabel> labels_over(ChannelId channel) {
    const auto plan = predicted.next({&pair, 1}, {&channel, 1}, 5);
    return plan.empty() ? std::vector<PathLabel>() : plan.front().labels;
  }
};

TEST(PredictedTraces, LabelsThatArePredictedToCrossAChannelDo) {
  Rig rig({routing::HashFamily::crc32});
  const ChannelId channel = rig.fabric.find_channel("leaf1->spine5").value();
  const auto labels = rig.labels_over(channel);
  ASSERT_FALSE(labels.empty());
  for (const PathLabel label : labels) {
    const auto path = rig.truth(label);
    EXPECT_NE(std::ranges::find(path, channel), path.end()) << label.value();
  }
}

TEST(PredictedTraces, ATableOfEntriesIsLearnedWhereManyLabelsWereTraced) {
  Rig rig({routing::HashFamily::crc16, routing::Reduction::table}, 2000, 7);
  const ChannelId channel = rig.fabric.find_channel("leaf1->spine5").value();
  const auto labels = rig.labels_over(channel);
  ASSERT_FALSE(labels.empty());
  for (const PathLabel label : labels) {
    const auto path = rig.truth(label);
    EXPECT_NE(std::ranges::find(path, channel), path.end()) << label.value();
  }
}

TEST(PredictedTraces, OfAHashWithoutStructureNothingIsPredicted) {
  Rig rig({});
  EXPECT_TRUE(rig.labels_over(rig.fabric.find_channel("leaf1->spine5").value()).empty());
}

TEST(PredictedTraces, AWrongPredictionIsFoundByItsTraceAndTakenBack) {
  Rig rig({routing::HashFamily::crc32});
  const ChannelId channel = rig.fabric.find_channel("leaf1->spine5").value();
  const auto labels = rig.labels_over(channel);
  ASSERT_FALSE(labels.empty());
  EXPECT_EQ(rig.predicted.taken_back(), 0u);
  // The leaf was given another hash in the meantime.
  rig.sim = sim::SimFabric::make(rig.fabric, rig.addresses.book,
                                 {.seed = 4, .hash = {routing::HashFamily::toeplitz}});
  for (const PathLabel label : labels) rig.trace(label);
  for (std::uint32_t i = 0; i < 8; ++i) rig.trace(PathLabel(kFirstRoceLabel + 7 + 61 * i));
  rig.predicted.learn({&rig.pair, 1});
  EXPECT_EQ(rig.predicted.taken_back(), 1u);
  EXPECT_TRUE(rig.labels_over(channel).empty());
}

}  // namespace
}  // namespace weft::plan
