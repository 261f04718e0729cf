#include "probes/plan/pattern_plan.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <tuple>

#include "tests/support/traced_fabric.hpp"
#include "topology/model/clos.hpp"

namespace weft::plan {
namespace {

/// A fabric whose every pair was traced, each path with a label.
struct Mapped {
  Fabric fabric = make_clos({.leaves = 4, .spines = 4, .hosts_per_leaf = 2}).value();
  AddressPlan addresses = plan_addresses(fabric, IpFamily::v4).value();
  PathTable table;
  PathLearner learner{fabric, addresses.book, table};

  Mapped() {
    for (const NicPair& pair : pattern_pairs(fabric, LoadPattern::all_pairs, {}))
      for (std::uint32_t spine = 0; spine < 4; ++spine) {
        const auto path = path_by_choice(fabric, learner.ways(), pair.src, pair.dst, spine);
        learner.learn(pair.src, pair.dst, PathLabel(50'000 + spine),
                      answers_along(fabric, addresses.book, path, path.size()));
      }
  }
  std::map<ChannelId, Bandwidth> offered(const LoadRound& round) const {
    std::map<ChannelId, Bandwidth> sums;
    for (const PlannedFlow& flow : round)
      for (const ChannelId c : table.channels(table.paths(flow.path)[0])) sums[c] = sums[c] + flow.rate;
    return sums;
  }
};

class Patterns : public testing::TestWithParam<LoadPattern> {};
INSTANTIATE_TEST_SUITE_P(Both, Patterns, testing::Values(LoadPattern::incast, LoadPattern::all_pairs));

TEST_P(Patterns, TakeEveryPairOnceAndOfferNoChannelMoreThanItCarries) {
  const Mapped mapped;
  std::set<NicPair> seen;
  for (const LoadRound& round : plan_pattern_rounds(mapped.fabric, mapped.learner, GetParam(), 100, 1)) {
    for (const PlannedFlow& flow : round) EXPECT_TRUE(seen.insert(flow.pair).second);
    for (const auto& [channel, rate] : mapped.offered(round))
      EXPECT_LE(rate / mapped.fabric.rate(channel), 1 + 1e-9);
  }
  EXPECT_EQ(seen.size(), 8u * 7u);
}

TEST_P(Patterns, AreTheSameForTheSameSeedAloneAndAsFewAsAskedFor) {
  const Mapped mapped;
  const auto some = plan_pattern_rounds(mapped.fabric, mapped.learner, GetParam(), 3, 5);
  EXPECT_EQ(some.size(), 3u);
  EXPECT_TRUE(some == plan_pattern_rounds(mapped.fabric, mapped.learner, GetParam(), 3, 5));
  EXPECT_FALSE(some == plan_pattern_rounds(mapped.fabric, mapped.learner, GetParam(), 3, 6));
}

TEST(Incast, FillsTheReceiversLinkWithEqualParts) {
  const Mapped mapped;
  for (const LoadRound& round :
       plan_pattern_rounds(mapped.fabric, mapped.learner, LoadPattern::incast, 100, 1)) {
    ASSERT_EQ(round.size(), 7u);
    const ChannelId into = *mapped.fabric.channel_into(round[0].pair.dst);
    EXPECT_NEAR(mapped.offered(round).at(into) / mapped.fabric.rate(into), 1, 1e-9);
    for (const PlannedFlow& flow : round) EXPECT_EQ(flow.rate, round[0].rate);
  }
}

/// Each label takes a spine of its own choice, and labels were learned in this order.
struct Pairwise {
  Fabric fabric = make_clos({.leaves = 3, .spines = 2, .hosts_per_leaf = 2}).value();
  AddressPlan addresses = plan_addresses(fabric, IpFamily::v4).value();
  PathTable table;
  PathLearner learner{fabric, addresses.book, table};

  explicit Pairwise(std::uint64_t order) {
    std::vector<std::pair<NicPair, std::uint32_t>> traces;
    for (const NicPair& pair : pattern_pairs(fabric, LoadPattern::all_pairs, {}))
      for (std::uint32_t label = 0; label < 4; ++label) traces.emplace_back(pair, label);
    std::mt19937_64 random(order);
    std::ranges::shuffle(traces, random);
    for (const auto& [pair, label] : traces) {
      const auto path = path_by_choice(fabric, learner.ways(), pair.src, pair.dst, label % 2);
      learner.learn(pair.src, pair.dst, PathLabel(50'000 + label),
                    answers_along(fabric, addresses.book, path, path.size()));
    }
    learner.sort();
  }
  std::vector<LoadRound> rounds(std::uint64_t seed, LabelChoice labels = LabelChoice::assigned) const {
    return plan_pattern_rounds(fabric, learner, LoadPattern::all_pairs, 100, seed, labels);
  }
};

TEST(AllPairs, ARoundIsTheSameInWhateverOrderTheAnswersCame) {
  const Pairwise one(1), other(2);
  for (const LabelChoice labels : {LabelChoice::assigned, LabelChoice::random}) {
    const auto a = one.rounds(7, labels), b = other.rounds(7, labels);
    ASSERT_EQ(a.size(), b.size());
    for (std::size_t i = 0; i < a.size(); ++i) {
      ASSERT_EQ(a[i].size(), b[i].size());
      for (std::size_t f = 0; f < a[i].size(); ++f)
        EXPECT_EQ(std::tie(a[i][f].pair, a[i][f].label), std::tie(b[i][f].pair, b[i][f].label));
    }
  }
}

TEST(AllPairs, NoTwoFlowsOfARoundShareACableWhereThereIsRoomForAll) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const Pairwise mapped(seed);
    for (const LoadRound& round : mapped.rounds(seed))
      for (const PlannedFlow& flow : round)
        EXPECT_EQ(flow.rate, mapped.fabric.rate(*mapped.fabric.channel_from(flow.pair.src))) << seed;
  }
}

TEST(AllPairs, InARoundEveryNicSendsOnceAndReceivesOnceAndGetsNearlyAllOfItsLink) {
  const Mapped mapped;
  for (const LoadRound& round :
       plan_pattern_rounds(mapped.fabric, mapped.learner, LoadPattern::all_pairs, 100, 1)) {
    std::set<PortId> senders;
    std::set<PortId> receivers;
    for (const PlannedFlow& flow : round) {
      senders.insert(flow.pair.src);
      receivers.insert(flow.pair.dst);
      EXPECT_GE(flow.rate / mapped.fabric.rate(*mapped.fabric.channel_from(flow.pair.src)), 0.5);
    }
    EXPECT_EQ(senders.size(), 8u);
    EXPECT_EQ(receivers.size(), 8u);
  }
}

TEST(RandomLabels, LetFlowsOfARoundCollideAndOfferNoChannelMoreThanItCarries) {
  const Mapped mapped;
  const auto rounds_by = [&](LabelChoice labels, std::uint64_t seed) {
    return plan_pattern_rounds(mapped.fabric, mapped.learner, LoadPattern::all_pairs, 100, seed, labels);
  };
  const auto mean_share = [&](const std::vector<LoadRound>& rounds) {
    double sum = 0, flows = 0;
    for (const LoadRound& round : rounds)
      for (const PlannedFlow& flow : round) {
        sum += flow.rate / mapped.fabric.rate(*mapped.fabric.channel_from(flow.pair.src));
        ++flows;
      }
    return sum / flows;
  };
  const auto random = rounds_by(LabelChoice::random, 1);
  for (const LoadRound& round : random)
    for (const auto& [channel, rate] : mapped.offered(round))
      EXPECT_LE(rate / mapped.fabric.rate(channel), 1 + 1e-9);
  // Two hosts of a leaf over four spines: of two flows by chance one in four meets the other on its way up,
  // and as many on its way down.
  EXPECT_LT(mean_share(random), 0.9);
  EXPECT_GT(mean_share(rounds_by(LabelChoice::assigned, 1)), 0.97);
  EXPECT_TRUE(random == rounds_by(LabelChoice::random, 1));
  EXPECT_FALSE(random == rounds_by(LabelChoice::random, 2));
}

TEST(PatternPairs, LeaveOutWhoTakesNoPartAndAreNotAskedOfALargeFabric) {
  const Mapped mapped;
  const PortId out = mapped.fabric.nics()[2];
  const auto pairs = pattern_pairs(mapped.fabric, LoadPattern::incast, {out});
  EXPECT_EQ(pairs.size(), 7u * 6u);
  for (const NicPair& pair : pairs) EXPECT_TRUE(pair.src != out && pair.dst != out);
  EXPECT_TRUE(pattern_pairs(mapped.fabric, LoadPattern::links, {}).empty());
  const auto large = make_clos({.leaves = 9, .spines = 2, .hosts_per_leaf = 8}).value();
  EXPECT_TRUE(pattern_pairs(large, LoadPattern::all_pairs, {}).empty());
}

}  // namespace
}  // namespace weft::plan
