#include "collectors/bus/parts.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace weft {
namespace {

constexpr std::size_t kMost = 1000;

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
  PartJoiner joiner(kMost);
  for (const std::size_t size :
       {std::size_t{101}, std::size_t{174}, std::size_t{175}, std::size_t{999}, kMost}) {
    const auto parts = cut_into_parts(text_of(size), 7, 100);
    EXPECT_GT(parts.size(), 1u);
    EXPECT_TRUE(std::ranges::all_of(parts, [](const auto& part) { return part.size() <= 100; }));
    EXPECT_EQ(joined(joiner, parts), text_of(size)) << size;
  }
}

TEST(Parts, AMessageThatLooksLikeAPartIsNotTakenForOne) {
  PartJoiner joiner(kMost);
  const std::string message("\0\0\0", 3);
  EXPECT_EQ(joined(joiner, cut_into_parts(message, 7, 100)), message);
}

TEST(Parts, MessagesThatTravelAtTheSameTimeAreKeptApart) {
  PartJoiner joiner(kMost);
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
  PartJoiner joiner(kMost);
  const auto parts = cut_into_parts(text_of(300), 1, 100);
  EXPECT_FALSE(joiner.add("host1", parts[0]));
  for (std::size_t i = 2; i < parts.size(); ++i) EXPECT_FALSE(joiner.add("host1", parts[i]));
  EXPECT_EQ(joined(joiner, parts), text_of(300));
}

TEST(Parts, AMessageLongerThanAllowedIsDropped) {
  PartJoiner joiner(kMost);
  EXPECT_EQ(joined(joiner, cut_into_parts(text_of(kMost + 1), 1, 100)), std::nullopt);
}

TEST(Parts, WhatIsNoPartIsDropped) {
  PartJoiner joiner(kMost);
  EXPECT_FALSE(joiner.add("host1", std::string("\0abc", 4)));
  EXPECT_FALSE(joiner.add("host1", std::string(13, '\0')));
  EXPECT_EQ(joiner.add("host1", ""), "");
}

TEST(Parts, WhatIsNeverFinishedIsForgotten) {
  PartJoiner joiner(kMost);
  const auto first = cut_into_parts(text_of(150), 0, 100);
  EXPECT_FALSE(joiner.add("host1", first[0]));
  for (std::uint32_t number = 1; number <= 64; ++number)
    EXPECT_FALSE(joiner.add("host1", cut_into_parts(text_of(150), number, 100)[0]));
  EXPECT_FALSE(joiner.add("host1", first[1])) << "64 others came after it";
}

}  // namespace
}  // namespace weft
