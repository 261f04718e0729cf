#include "balancer/flowsim/sending.hpp"

#include <gtest/gtest.h>

#include <numeric>

#include "balancer/demand/collectives.hpp"
#include "tests/support/traffic.hpp"
#include "topology/model/clos.hpp"

namespace weft::flowsim {
namespace {

constexpr FrameSizes kFrames{Bytes(4110), Bytes(118)};
constexpr Bytes kPacket(4096);

/// A shift by one leaf on 4x4x4, balanced over 64 random labels a pair.
struct Shift {
  Fabric fabric = *make_clos({.leaves = 4, .spines = 4, .hosts_per_leaf = 4, .link = Bandwidth::mbit(50)});
  demand::Phase phase = demand::make_shift(fabric.nics(), 4, Bytes(4'096'000)).phases.front();
  PathMap map = probed_path_map(fabric, phase, 64, true, 1);
  LabelledPaths paths{map};

  std::vector<Sending> steered(std::uint32_t qps) const {
    return steered_sendings(
        paths, phase, assign::assign(fabric, phase, {.qps = qps, .paths = &map, .reverse = true}), kPacket);
  }
};

TEST(Sending, EveryAssignedQpIsSentOverThePathOfItsLabel) {
  const Shift shift;
  const auto sendings = shift.steered(4);
  ASSERT_EQ(sendings.size(), 64u);
  for (const Sending& sending : sendings) {
    EXPECT_EQ(sending.packets, 250u);
    ASSERT_EQ(sending.path.size(), 4u);
    ASSERT_EQ(sending.back.size(), 4u);
    EXPECT_EQ(sending.path.front(), shift.fabric.channel_from(sending.src));
    EXPECT_EQ(sending.path.back(), shift.fabric.channel_into(sending.dst));
    EXPECT_EQ(sending.back.front(), shift.fabric.channel_from(sending.dst));
    EXPECT_EQ(shift.paths.find(sending.src, sending.dst, sending.label)->path, sending.path);
  }
}

TEST(Sending, AssignedLabelsPutTheSameLoadOnEveryLinkAndRandomOnesDoNot) {
  const Shift shift;
  const auto steered = wire_bytes(shift.steered(4), kFrames, shift.fabric.channel_count());
  const auto hashed = wire_bytes(hashed_sendings(shift.paths, shift.phase, 4, kPacket, 1), kFrames,
                                 shift.fabric.channel_count());
  double most = 0;
  for (std::uint32_t c = 0; c < shift.fabric.channel_count(); ++c) {
    if (shift.fabric.between_switches(ChannelId(c))) {
      EXPECT_DOUBLE_EQ(steered[c], 1000.0 * (4110 + 118));
    }
    most = std::max(most, hashed[c]);
  }
  EXPECT_GT(most, 1.2 * 1000 * (4110 + 118));
  EXPECT_DOUBLE_EQ(std::accumulate(steered.begin(), steered.end(), 0.0),
                   std::accumulate(hashed.begin(), hashed.end(), 0.0))
      << "labels move bytes, they add none";
}

TEST(Sending, ThePredictionIsTheBusiestLinkIncludingItsAcknowledgements) {
  const Shift shift;
  const double bits = 1000.0 * (4110 + 118) * 8;
  EXPECT_NEAR(predicted_seconds(line_rates(shift.fabric), shift.steered(1), kFrames), bits / 50e6, 1e-9);
  EXPECT_GT(predicted_seconds(line_rates(shift.fabric),
                              hashed_sendings(shift.paths, shift.phase, 1, kPacket, 1), kFrames),
            1.5 * bits / 50e6);
  EXPECT_EQ(predicted_seconds(line_rates(shift.fabric), {}, kFrames), 0);
}

TEST(Sending, TheSameSeedDrawsTheSameLabels) {
  const Shift shift;
  const auto labels = [&](std::uint64_t seed) {
    std::vector<PathLabel> all;
    for (const Sending& sending : hashed_sendings(shift.paths, shift.phase, 4, kPacket, seed))
      all.push_back(sending.label);
    return all;
  };
  EXPECT_EQ(labels(3), labels(3));
  EXPECT_NE(labels(3), labels(4));
}

TEST(Sending, ALabelThatTakesSeveralPathsIsNotUsed) {
  const Shift shift;
  const demand::Flow& flow = shift.phase.flows.front();
  PathMap sprayed = shift.map;
  for (PairPaths& pair : sprayed.pairs)
    if (pair.src == flow.src && pair.dst == flow.dst)
      for (LabelledPath& path : pair.paths) path.labels = {PathLabel(50000)};
  const LabelledPaths paths(sprayed);
  EXPECT_TRUE(paths.of(flow.src, flow.dst).empty());
  EXPECT_EQ(hashed_sendings(paths, shift.phase, 1, kPacket, 1).size(), shift.phase.flows.size() - 1);
}

}  // namespace
}  // namespace weft::flowsim
