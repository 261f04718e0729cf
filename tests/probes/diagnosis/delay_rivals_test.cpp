#include "probes/diagnosis/delay/delay_rivals.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weft::diagnosis {
namespace {

using testing::IsEmpty;

/// One that delays the round trips of this row by this channel.
DelayCause cause(std::uint32_t channel, std::uint32_t row) {
  DelayCause made{.options = {{ChannelId(channel)}}};
  made.column.entries.push_back({row, 1.0});
  return made;
}

std::vector<std::vector<ChannelId>> options(const std::vector<std::vector<std::uint32_t>>& of) {
  std::vector<std::vector<ChannelId>> all;
  for (const auto& option : of) {
    auto& channels = all.emplace_back();
    for (const std::uint32_t channel : option) channels.emplace_back(channel);
  }
  return all;
}

TEST(DelayRivals, WhatExplainsTheSameIsAnOptionBehindTheOneFound) {
  auto found = cause(1, 0);
  found.options.push_back({ChannelId(5)});
  add_instead({cause(2, 1)}, {&found});
  EXPECT_EQ(found.options, options({{1}, {2}, {5}})) << "the likeliest stays first";
}

TEST(DelayRivals, SeveralOthersAreOneOptionForTheyAreTrueTogether) {
  auto found = cause(1, 0);
  add_instead({cause(9, 1), cause(3, 2), cause(9, 3)}, {&found});
  EXPECT_EQ(found.options, options({{1}, {3, 9}})) << "ascending, each once";
}

TEST(DelayRivals, ACauseThatIsOfBothExplanationsHasNoRival) {
  auto both = cause(1, 0), found = cause(4, 7);
  add_instead({cause(1, 0), cause(2, 1)}, {&both, &found});
  EXPECT_EQ(both.options, options({{1}}));
  EXPECT_EQ(found.options, options({{4}, {2}}));
}

TEST(DelayRivals, WhereTheOtherExplanationHasNothingOfItsOwnNothingIsAdded) {
  auto one = cause(1, 0), other = cause(4, 7);
  add_instead({cause(1, 0)}, {&one, &other});
  EXPECT_EQ(other.options, options({{4}}));
}

TEST(DelayRivals, ACauseThatCanBeToldOfNoChannelStaysSo) {
  auto shared = cause(1, 0);
  shared.options.clear();
  auto of_none = cause(2, 1);
  of_none.options.clear();
  add_instead({cause(3, 2), of_none}, {&shared});
  EXPECT_THAT(shared.options, IsEmpty());
}

}  // namespace
}  // namespace weft::diagnosis
