#include "collectors/bus/parts.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace weft::bus {
namespace {

constexpr std::size_t kMax = 1000;
constexpr JoinLimits kLimits{.message = kMax, .of_sender = 5000, .in_all = 20'000};

std::string text_of(std::size_t size) {
  std::string text(size, '\0');
  for (std::size_t i = 0; i < size; ++i) text[i] = static_cast<char>('a' + i % 23);
  return text;
}

/// What comes out once all parts went in.
std::optional<std::string> joined(PartJoiner& joiner, const std::vector<std::string>& parts) {
  std::optional<std::string> whole;
  for (const std::string& part : parts) {
    EXPECT_FALSE(whole) << "whole before its last part";
    whole = joiner.add("host1", part);
  }
  return whole;
}

TEST(Parts, AMessageThatFitsTravelsAsItIs) {
  const auto parts = cut_into_parts(text_of(100), 7, 100);
  ASSERT_EQ(parts.size(), 1u);
  EXPECT_EQ(parts[0], text_of(100));
}

TEST(Parts, WhatIsCutComesBackWholeAndNoPartIsTooLong) {
  PartJoiner joiner(kLimits);
  for (const std::size_t size :
       {std::size_t{101}, std::size_t{174}, std::size_t{175}, std::size_t{999}, kMax}) {
    const auto parts = cut_into_parts(text_of(size), 7, 100);
    EXPECT_GT(parts.size(), 1u);
    EXPECT_TRUE(std::ranges::all_of(parts, [](const auto& part) { return part.size() <= 100; }));
    EXPECT_EQ(joined(joiner, parts), text_of(size)) << size;
  }
}

TEST(Parts, AMessageThatLooksLikeAPartIsNotTakenForOne) {
  PartJoiner joiner(kLimits);
  const std::string message("\0\0\0", 3);
  EXPECT_EQ(joined(joiner, cut_into_parts(message, 7, 100)), message);
}

TEST(Parts, MessagesThatTravelAtTheSameTimeAreKeptApart) {
  PartJoiner joiner(kLimits);
  const auto one = cut_into_parts(text_of(150), 1, 100);
  const auto two = cut_into_parts("x" + text_of(150), 2, 100);
  EXPECT_FALSE(joiner.add("host1", one[0]));
  EXPECT_FALSE(joiner.add("host1", two[0]));
  EXPECT_FALSE(joiner.add("host2", one[0]));
  EXPECT_EQ(joiner.add("host1", one[1]), text_of(150));
  EXPECT_EQ(joiner.add("host1", two[1]), "x" + text_of(150));
  EXPECT_EQ(joiner.add("host2", one[1]), text_of(150));
}

TEST(Parts, AMessageWithAGapIsDroppedAndTheNextIsWhole) {
  PartJoiner joiner(kLimits);
  const auto parts = cut_into_parts(text_of(300), 1, 100);
  EXPECT_FALSE(joiner.add("host1", parts[0]));
  for (std::size_t i = 2; i < parts.size(); ++i) EXPECT_FALSE(joiner.add("host1", parts[i]));
  EXPECT_EQ(joined(joiner, parts), text_of(300));
}

TEST(Parts, AMessageLongerThanAllowedIsDropped) {
  PartJoiner joiner(kLimits);
  EXPECT_EQ(joined(joiner, cut_into_parts(text_of(kMax + 1), 1, 100)), std::nullopt);
}

TEST(Parts, WhatIsNoPartIsDropped) {
  PartJoiner joiner(kLimits);
  EXPECT_FALSE(joiner.add("host1", std::string("\0abc", 4)));
  EXPECT_FALSE(joiner.add("host1", std::string(13, '\0')));
  EXPECT_EQ(joiner.add("host1", ""), "");
}

TEST(Parts, WhatIsNeverFinishedIsForgotten) {
  PartJoiner joiner(kLimits);
  const auto first = cut_into_parts(text_of(150), 0, 100);
  EXPECT_FALSE(joiner.add("host1", first[0]));
  for (std::uint32_t number = 1; number <= 64; ++number)
    EXPECT_FALSE(joiner.add("host1", cut_into_parts(text_of(150), number, 100)[0]));
  EXPECT_FALSE(joiner.add("host1", first[1])) << "64 others came after it";
}

TEST(Parts, WhatOneSenderNeverFinishesIsBoundedAndItsNewestIsKept) {
  PartJoiner joiner(kLimits);
  for (std::uint32_t number = 0; number < 1000; ++number) {
    const auto parts = cut_into_parts(text_of(999), number, 500);
    EXPECT_FALSE(joiner.add("host1", parts[0]));
    EXPECT_LE(joiner.kept(), kLimits.of_sender);
  }
  const auto parts = cut_into_parts(text_of(999), 1000, 500);
  EXPECT_EQ(joined(joiner, parts), text_of(999));
}

TEST(Parts, WhatAllSendersNeverFinishIsBoundedAndTheHonestOneIsHeard) {
  PartJoiner joiner(kLimits);
  const auto honest = cut_into_parts(text_of(300), 1, 200);
  EXPECT_FALSE(joiner.add("honest", honest[0]));
  for (std::uint32_t number = 0; number < 100; ++number)
    for (int sender = 0; sender < 20; ++sender) {
      EXPECT_FALSE(joiner.add("host" + std::to_string(sender), cut_into_parts(text_of(999), number, 500)[0]));
      EXPECT_LE(joiner.kept(), kLimits.in_all);
    }
  EXPECT_EQ(joiner.add("honest", honest[1]), text_of(300));
}

TEST(Parts, NothingIsKeptOfWhatIsWholeOrDropped) {
  PartJoiner joiner(kLimits);
  EXPECT_EQ(joined(joiner, cut_into_parts(text_of(999), 1, 100)), text_of(999));
  EXPECT_EQ(joiner.kept(), 0u);
  const auto gap = cut_into_parts(text_of(300), 2, 100);
  EXPECT_FALSE(joiner.add("host1", gap[0]));
  EXPECT_FALSE(joiner.add("host1", gap[2]));
  EXPECT_EQ(joined(joiner, cut_into_parts(text_of(kMax + 1), 3, 100)), std::nullopt);
  EXPECT_FALSE(joiner.add("host1", std::string("\0abc", 4)));
  EXPECT_EQ(joiner.kept(), 0u);
}

TEST(Parts, AMessageThatIsBegunAnewCountsOnce) {
  PartJoiner joiner(kLimits);
  const auto parts = cut_into_parts(text_of(150), 1, 100);
  EXPECT_FALSE(joiner.add("host1", parts[0]));
  const std::size_t once = joiner.kept();
  EXPECT_FALSE(joiner.add("host1", parts[0]));
  EXPECT_EQ(joiner.kept(), once);
}

}  // namespace
}  // namespace weft::bus
