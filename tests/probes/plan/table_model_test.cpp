#include "probes/plan/table_model.hpp"

#include <gtest/gtest.h>

#include <random>

#include "tests/support/draws.hpp"
#include "topology/base/splitmix.hpp"

namespace weft::plan {
namespace {

using routing::FlowBits;

constexpr double kNeeded = 10;  // bits

FlowBits drawn(std::mt19937_64& random, std::uint32_t hosts) {
  const auto address = [&] {
    return IpAddress(IpAddress::V4{10, 0, 0, static_cast<std::uint8_t>(random() % hosts)});
  };
  const auto src = address(), dst = address();
  return FlowBits::of(src, dst, PathLabel(static_cast<std::uint32_t>(0xC000 + random() % 0x4000)));
}

/// Of a table of 2^bits entries over a known CRC.
std::uint32_t entry_of(const FlowBits& flow, std::uint64_t seed, unsigned bits) {
  const auto& crcs = routing::known_crcs(16, false);
  const auto hash = routing::hash_of(crcs[seed % crcs.size()], flow);
  return routing::turned(hash, seed % 16, 16) & ((1U << bits) - 1);
}

using Filled = std::uint32_t (*)(std::uint32_t entry, std::uint64_t seed, unsigned bits,
                                 std::uint32_t members);

/// By chance; round robin.
constexpr Filled kFilled[] = {
    [](std::uint32_t entry, std::uint64_t seed, unsigned, std::uint32_t members) {
      return static_cast<std::uint32_t>(mix_bits(seed << 20 | entry) % members);
    },
    [](std::uint32_t entry, std::uint64_t, unsigned, std::uint32_t members) { return entry % members; }};

TEST(TableModel, ATableOfAnySizeIsFoundAndNothingIsToldWrong) {
  for (const Filled& filled : kFilled)
    for (const unsigned bits : {4U, 6U, 8U, 10U})
      for (const std::uint32_t members : {3U, 5U, 7U, 12U})
        for (std::uint64_t seed = 1; seed <= draws(10u); ++seed) {
          const auto choice = [&](const FlowBits& flow) {
            return filled(entry_of(flow, seed, bits), seed, bits, members);
          };
          TableModel model(members, kNeeded);
          std::mt19937_64 random(seed);
          std::size_t flows = 0, told = 0;
          const auto learn_one = [&] {
            const FlowBits one = drawn(random, 64);
            const auto member = model.predict(one);
            EXPECT_EQ(member.value_or(choice(one)), choice(one)) << bits << " " << members << " " << seed;
            told += member ? 1 : 0;
            return model.learn(one, choice(one));
          };
          for (; !model.is_found() && flows < 1000; ++flows)
            ASSERT_TRUE(learn_one()) << bits << " " << members;
          EXPECT_LT(flows, 500u) << bits << " bits, " << members << " members, seed " << seed;
          for (int i = 0; i < 6000; ++i) ASSERT_TRUE(learn_one());
          told = 0;
          for (int i = 0; i < 2000; ++i) ASSERT_TRUE(learn_one());
          EXPECT_GT(told, 1700u) << bits << " bits, " << members << " members, seed " << seed;
        }
}

TEST(TableModel, NoneIsFoundInChoicesWithoutStructureAndTheSearchEnds) {
  for (const std::uint32_t members : {2U, 3U, 8U, 48U})
    for (std::uint64_t seed = 1; seed <= draws(20u); ++seed) {
      TableModel model(members, kNeeded);
      std::mt19937_64 random(seed);
      bool goes_on = true;
      std::size_t flows = 0;
      for (; goes_on && flows < 1000; ++flows) {
        const FlowBits one = drawn(random, 64);
        goes_on = model.learn(one, static_cast<std::uint32_t>(random() % members));
        ASSERT_FALSE(model.is_found());
      }
      EXPECT_LE(flows, 324u) << members << " members, seed " << seed;
    }
}

TEST(TableModel, AShareOfAHashIsNoTableAndNothingIsToldOfIt) {
  for (const unsigned bits : {8U, 10U, 32U})  // of the highest so many; below 32 a table filled in blocks
    for (const std::uint32_t members : {3U, 6U, 7U, 12U})
      for (std::uint64_t seed = 1; seed <= draws(5u); ++seed) {
        const auto& crc = routing::known_crcs(32, false)[seed % 8];
        TableModel model(members, kNeeded);
        std::mt19937_64 random(seed);
        for (int i = 0; i < 1000; ++i) {
          const FlowBits one = drawn(random, 64);
          const auto share = routing::turned(routing::hash_of(crc, one), 5, 32) >> (32 - bits);
          if (!model.learn(one, routing::bucket_of(share, members, true, bits))) break;
          ASSERT_FALSE(model.is_found()) << bits << " bits, " << members << " members, seed " << seed;
        }
      }
}

TEST(TableModel, WhereAllFlowsTakeOneMemberNothingIsKnownOfATable) {
  TableModel model(8, kNeeded);
  std::mt19937_64 random(1);
  for (int i = 0; i < 500; ++i) static_cast<void>(model.learn(drawn(random, 64), 5));
  EXPECT_FALSE(model.is_found());
}

}  // namespace
}  // namespace weft::plan
