#include "probes/plan/hash_learner.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <random>

#include "tests/support/draws.hpp"
#include "topology/base/splitmix.hpp"

namespace weft::plan {
namespace {

using routing::FlowBits;
using routing::HashFamily;
using routing::HashOptions;
using routing::Reduction;
using routing::SwitchHash;

const IpAddress kSrc = IpAddress::parse("10.0.1.3").value();
const IpAddress kDst = IpAddress::parse("10.0.7.9").value();
constexpr Fraction kConfidence(0.999);

FlowBits flow(std::uint32_t label) { return FlowBits::of(kSrc, kDst, PathLabel(label)); }

using Choice = std::function<std::uint32_t(const FlowBits&)>;

Choice choice_of(const HashOptions& options, std::uint64_t seed, std::uint32_t members) {
  return [hash = SwitchHash(options, seed, false), members](const FlowBits& f) {
    return hash.choose(f, members);
  };
}

Choice structureless(std::uint64_t seed, std::uint32_t members) {
  return [=](const FlowBits& f) {
    return static_cast<std::uint32_t>(
        (mix_bits(seed ^ mix_bits(f.words[4] ^ f.words[0] << 20)) >> 32) * members >> 32);
  };
}

/// So many random labels, or as many as it takes until it is given up; how many that were.
std::size_t learn(HashLearner& learner, const Choice& choice, std::size_t most, std::uint64_t seed = 1) {
  std::mt19937_64 random(seed);
  std::size_t labels = 0;
  while (labels < most && !learner.given_up()) {
    const FlowBits one = flow(static_cast<std::uint32_t>(0xC000 + random() % 0x4000));
    learner.learn(one, choice(one));
    ++labels;
  }
  return labels;
}

/// Of all labels, those predicted; none may be wrong.
std::size_t predicted(const HashLearner& learner, const Choice& choice) {
  std::size_t told = 0;
  for (std::uint32_t label = 0xC000; label < 0x10000; ++label)
    if (const auto member = learner.predict(flow(label))) {
      EXPECT_EQ(*member, choice(flow(label))) << label;
      ++told;
    }
  return told;
}

TEST(HashLearner, SomeTensOfLabelsTellAllOthersOfALinearHash) {
  for (const auto family : {HashFamily::crc16, HashFamily::crc32, HashFamily::toeplitz, HashFamily::xor_fold})
    for (const std::uint32_t members : {2U, 4U, 8U, 32U})
      for (std::uint64_t seed = 1; seed <= draws(10u); ++seed) {
        const auto choice = choice_of({family}, seed, members);
        HashLearner learner(members, kConfidence);
        learn(learner, choice, 150, seed);
        ASSERT_TRUE(learner.is_checked());
        EXPECT_GE(learner.confidence(), 0.999);
        EXPECT_GT(predicted(learner, choice), 0x4000U * 9 / 10) << members << " members, seed " << seed;
      }
}

TEST(HashLearner, AHashWithoutStructureIsNoticedWithinSixtyLabelsAndNothingIsPredicted) {
  for (const std::uint32_t members : {2U, 3U, 4U, 8U, 12U, 16U, 32U, 48U})
    for (std::uint64_t seed = 1; seed <= draws(20u); ++seed) {
      HashLearner learner(members, kConfidence);
      EXPECT_LE(learn(learner, structureless(seed, members), 100, seed), 60u) << members << " members";
      EXPECT_TRUE(learner.given_up()) << members << " members, seed " << seed;
      EXPECT_FALSE(learner.taken_back());
      EXPECT_EQ(learner.confidence(), 0);
      if (members % 3 == 0 && seed == 3) break;  // each is a search through all CRCs
    }
}

TEST(HashLearner, GroupsThatAreNoPowerOfTwoAreFoundAmongTheKnownCrcs) {
  for (const std::uint32_t members : {3U, 6U, 12U, 24U, 48U})
    for (const auto reduction : {Reduction::modulo, Reduction::threshold}) {
      if (kSanitized && members > 6) continue;
      const auto choice = choice_of({HashFamily::crc16, reduction}, members, members);
      HashLearner learner(members, kConfidence);
      learn(learner, choice, 300);
      EXPECT_GT(predicted(learner, choice), 0x4000U * 99 / 100) << members << " members";
    }
}

TEST(HashLearner, AfterItWasGivenUpATableIsFoundInTheFlowsThatStillCome) {
  for (const auto family : {HashFamily::crc16, HashFamily::crc32, HashFamily::xor_fold})
    for (const std::uint32_t members : {3U, 12U})
      for (std::uint64_t seed = 1; seed <= draws(2u); ++seed) {
        const auto choice = choice_of({family, Reduction::table}, mix_bits(seed), members);
        HashLearner learner(members, kConfidence);
        EXPECT_LE(learn(learner, choice, 100, seed), 60u) << members << " members, seed " << seed;
        EXPECT_TRUE(learner.given_up());
        EXPECT_EQ(predicted(learner, choice), 0u);
        std::mt19937_64 random(seed);
        for (int i = 0; i < 5000; ++i) {
          const FlowBits one = flow(static_cast<std::uint32_t>(0xC000 + random() % 0x4000));
          learner.learn(one, choice(one));
        }
        ASSERT_TRUE(learner.is_table()) << members << " members, seed " << seed;
        EXPECT_FALSE(learner.given_up());
        EXPECT_GE(learner.confidence(), 0.999);
        EXPECT_GT(predicted(learner, choice), 0x4000U * 85 / 100) << members << ", seed " << seed;
        // Its switch gets another table.
        FlowBits moved = flow(0xC000);
        for (std::uint32_t label = 0xC001; !learner.predict(moved); ++label) moved = flow(label);
        learner.learn(moved, (choice(moved) + 1) % members);
        EXPECT_TRUE(learner.given_up());
        EXPECT_TRUE(learner.taken_back());
        EXPECT_EQ(predicted(learner, choice), 0u);
      }
}

TEST(HashLearner, ATableFilledInBlocksIsLearnedAsAShareOfFewerBits) {
  const auto& crc = routing::known_crcs(16, false)[3];
  for (const unsigned bits : {8U, 10U}) {
    const Choice blocks = [&](const FlowBits& f) {
      const auto entry = routing::turned(routing::hash_of(crc, f), 5, 16) >> (16 - bits);
      return routing::bucket_of(entry, 3, true, bits);
    };
    HashLearner learner(3, kConfidence);
    learn(learner, blocks, 400);
    EXPECT_FALSE(learner.given_up()) << bits;
    EXPECT_FALSE(learner.is_table()) << bits;
    EXPECT_GT(predicted(learner, blocks), 0x4000U * 95 / 100) << bits;
  }
}

TEST(HashLearner, ATableOfBucketsThatIsTakenForALinearHashIsStillPredictedRight) {
  for (const std::uint32_t members : {4U, 8U, 16U})
    for (std::uint64_t seed = 1; seed <= draws(30u); ++seed) {
      const auto choice = choice_of({HashFamily::crc16, Reduction::table}, seed, members);
      HashLearner learner(members, kConfidence);
      std::mt19937_64 random(seed);
      for (std::size_t i = 0; i < 60; ++i) {  // of few bits, as behind another switch
        const FlowBits one = flow(static_cast<std::uint32_t>(0xC000 + random() % 0x800));
        learner.learn(one, choice(one));
      }
      for (std::uint32_t label = 0xC000; label < 0xC800; ++label)
        if (const auto told = learner.predict(flow(label))) {
          ASSERT_EQ(*told, choice(flow(label))) << members << ", seed " << seed;
        }
    }
}

TEST(HashLearner, WhatIsLearnedFromSomePairsHoldsForAllThatCrossTheSwitch) {
  const auto choice = choice_of({HashFamily::crc32}, 9, 8);
  HashLearner learner(8, kConfidence);
  std::mt19937_64 random(1);
  const auto draw = [&] {
    const auto address = [&] {
      return IpAddress(IpAddress::V4{10, 0, static_cast<std::uint8_t>(random() % 32),
                                     static_cast<std::uint8_t>(random() % 64)});
    };
    return FlowBits::of(address(), address(),
                        PathLabel(static_cast<std::uint32_t>(0xC000 + random() % 0x4000)));
  };
  for (int i = 0; i < 80; ++i) {
    const FlowBits one = draw();
    learner.learn(one, choice(one));
  }
  ASSERT_TRUE(learner.is_checked());
  std::size_t told = 0;
  for (int i = 0; i < 10'000; ++i) {
    const FlowBits one = draw();
    const auto member = learner.predict(one);
    told += member.has_value();
    ASSERT_EQ(member.value_or(choice(one)), choice(one));
  }
  EXPECT_GT(told, 9'990u);
}

TEST(HashLearner, AGroupThatGrowsInMidLearningEndsItAndNothingStaysPredicted) {
  for (const auto family :
       {HashFamily::crc16, HashFamily::crc32, HashFamily::toeplitz, HashFamily::xor_fold}) {
    const Choice few = choice_of({family}, 5, 4), all = choice_of({family}, 5, 8);
    for (const std::size_t before : {20u, 150u}) {  // within the learning, and after it
      HashLearner learner(8, kConfidence);          // as many as the fabric file has; four have cables yet
      learn(learner, few, before);
      EXPECT_FALSE(learner.given_up());
      EXPECT_LT(learn(learner, all, 200, 2), 60u) << static_cast<int>(family) << ", " << before;
      EXPECT_TRUE(learner.given_up());
      EXPECT_EQ(predicted(learner, all), 0u);
    }
  }
}

/// Flows of several sources, each of which comes in by a port of its own.
class ByIngress {
 public:
  ByIngress(const HashOptions& options, std::uint64_t seed, std::uint32_t members)
      : choice_(choice_of(options, seed, members)), random_(seed) {}

  std::uint32_t choose(std::uint32_t source, std::uint32_t label) const {
    FlowBits bits = of(source, label);
    bits.add_ingress(PortId(100 + 7 * source));
    return choice_(bits);
  }
  void learn(HashLearner& learner, std::uint32_t source) {
    const auto label = static_cast<std::uint32_t>(0xC000 + random_() % 0x4000);
    learner.learn(of(source, label), choose(source, label), source);
  }
  /// Of some labels of a source, those predicted; none may be wrong.
  std::size_t predicted(const HashLearner& learner, std::uint32_t source) const {
    std::size_t told = 0;
    for (std::uint32_t label = 0xC000; label < 0xC400; ++label)
      if (const auto member = learner.predict(of(source, label), source)) {
        EXPECT_EQ(*member, choose(source, label)) << source << ", " << label;
        ++told;
      }
    return told;
  }

 private:
  static FlowBits of(std::uint32_t source, std::uint32_t label) {
    return FlowBits::of(IpAddress(IpAddress::V4{10, 0, 1, static_cast<std::uint8_t>(1 + source)}), kDst,
                        PathLabel(label));
  }

  Choice choice_;
  std::mt19937_64 random_;
};

TEST(HashLearner, AHashedPortOfIngressIsLearnedWithAFewFlowsMoreOfEachPort) {
  constexpr std::uint32_t kPorts = 8;
  for (const auto family : {HashFamily::crc16, HashFamily::crc32, HashFamily::toeplitz})
    for (const std::uint32_t members : {2U, 8U})
      for (std::uint64_t seed = 1; seed <= draws(10u); ++seed) {
        ByIngress flows({.family = family, .ingress_port = true}, seed, members);
        HashLearner learner(members, kConfidence);
        for (std::uint32_t i = 0; i < 300; ++i) flows.learn(learner, i % kPorts);
        ASSERT_TRUE(learner.is_checked()) << static_cast<int>(family) << ", seed " << seed;
        for (std::uint32_t port = 0; port < kPorts; ++port)
          EXPECT_GT(flows.predicted(learner, port), 0x400U * 9 / 10) << members << ", seed " << seed;
      }
}

TEST(HashLearner, WhatWasLearnedOfOnePortIsLearnedAnewWhenAnotherOneContradictsIt) {
  for (std::uint64_t seed = 1; seed <= draws(20u); ++seed) {
    ByIngress flows({.family = HashFamily::crc32, .ingress_port = true}, seed, 8);
    HashLearner learner(8, kConfidence);
    for (int i = 0; i < 100; ++i) flows.learn(learner, 0);
    ASSERT_TRUE(learner.is_checked());
    for (int i = 0; i < 60; ++i) flows.learn(learner, 1);
    EXPECT_FALSE(learner.given_up()) << "seed " << seed;
    for (const std::uint32_t port : {0U, 1U})
      EXPECT_GT(flows.predicted(learner, port), 0x400U * 9 / 10) << port << ", seed " << seed;
    EXPECT_EQ(flows.predicted(learner, 2), 0U) << "no flow came in there";
  }
}

TEST(HashLearner, WithoutStructureFlowsOfSeveralPortsEndItToo) {
  for (const std::uint32_t members : {2U, 4U, 8U, 32U})
    for (std::uint64_t seed = 1; seed <= draws(20u); ++seed) {
      const auto choice = structureless(seed, members);
      HashLearner learner(members, kConfidence);
      std::mt19937_64 random(seed);
      std::size_t labels = 0;
      for (; labels < 200 && !learner.given_up(); ++labels) {
        const FlowBits one = flow(static_cast<std::uint32_t>(0xC000 + random() % 0x4000));
        learner.learn(one, choice(one), static_cast<std::uint32_t>(labels % 4));
      }
      EXPECT_LE(labels, 60u + 4) << members << " members, seed " << seed;
    }
}

TEST(HashLearner, OneContradictionTakesBackAllThatWasPredicted) {
  const auto choice = choice_of({HashFamily::crc16}, 4, 8);
  HashLearner learner(8, kConfidence);
  learn(learner, choice, 100);
  const FlowBits moved = flow(0xC123);
  ASSERT_TRUE(learner.predict(moved).has_value());
  learner.learn(moved, (choice(moved) + 1) % 8);
  EXPECT_TRUE(learner.given_up());
  EXPECT_TRUE(learner.taken_back());
  EXPECT_EQ(predicted(learner, choice), 0u);
}

TEST(HashLearner, ALabelThatIsAnsweredTwoWaysEndsItAndOneThatIsToldAgainIsNoCheck) {
  HashLearner learner(4, kConfidence);
  for (int i = 0; i < 50; ++i) learner.learn(flow(0xC001), 2);
  EXPECT_FALSE(learner.is_checked());
  EXPECT_EQ(learner.flows(), 1u);
  learner.learn(flow(0xC001), 3);
  EXPECT_TRUE(learner.given_up());
}

TEST(HashLearner, ForgedAnswersCostTheMapAndNeverMakeAFalseOne) {
  std::size_t kept = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    const auto choice = choice_of({HashFamily::toeplitz}, seed, 8);
    HashLearner learner(8, kConfidence);
    std::mt19937_64 random(seed);
    for (std::size_t i = 0; i < 60; ++i) {
      const FlowBits one = flow(static_cast<std::uint32_t>(0xC000 + random() % 0x4000));
      const bool forged = i == seed % 30;
      learner.learn(one, forged ? static_cast<std::uint32_t>(random() % 8) : choice(one));
    }
    kept += !learner.given_up();
    predicted(learner, choice);
  }
  EXPECT_LT(kept, 60u);  // one forged answer in eight is right by chance
}

TEST(HashLearner, AHashThatReachesFewMembersIsLearnedAsItIs) {
  HashLearner learner(8, kConfidence);
  const Choice two_of_eight = [&](const FlowBits& f) { return static_cast<std::uint32_t>(f.words[4] & 1U); };
  learn(learner, two_of_eight, 100);
  EXPECT_TRUE(learner.is_checked());
  EXPECT_EQ(learner.members_seen(), 2u);
  EXPECT_EQ(predicted(learner, two_of_eight), 0x4000U);
}

}  // namespace
}  // namespace weft::plan
