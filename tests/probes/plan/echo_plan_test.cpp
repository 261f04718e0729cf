#include "probes/plan/echo_plan.hpp"

#include <gtest/gtest.h>

namespace weft::plan {
namespace {

std::vector<ChannelId> channels(std::initializer_list<std::uint32_t> ids) {
  std::vector<ChannelId> all;
  for (const auto id : ids) all.push_back(ChannelId(id));
  return all;
}

Echo echo(std::uint32_t from, std::uint32_t label, std::initializer_list<std::uint32_t> there,
          std::initializer_list<std::uint32_t> back) {
  return {{PortId(from), PortId(99)}, PathLabel(label), PathLabel(1), channels(there), channels(back)};
}

std::vector<std::uint32_t> labels_of(const std::vector<Echo>& chosen) {
  std::vector<std::uint32_t> labels;
  for (const Echo& one : chosen) labels.push_back(one.label.value());
  return labels;
}

TEST(ChooseEchoes, TakesThoseThatCrossMostOfWhatIsNeeded) {
  const std::vector<Echo> all{echo(1, 10, {0, 1}, {4}), echo(1, 11, {0, 1, 2}, {5}), echo(1, 12, {3}, {4})};
  EXPECT_EQ(labels_of(choose_echoes(all, std::vector<bool>(6, true), 9)),
            (std::vector<std::uint32_t>{11, 12}));
}

TEST(ChooseEchoes, AsksNothingWhereNothingIsNeeded) {
  EXPECT_TRUE(choose_echoes({echo(1, 10, {0}, {1})}, std::vector<bool>(2, false), 9).empty());
}

TEST(ChooseEchoes, SharesTheQuestionsAmongNicsAndKeepsToTheMostOfEach) {
  const std::vector<Echo> all{echo(1, 10, {0}, {}), echo(1, 11, {1}, {}), echo(2, 12, {1}, {}),
                              echo(1, 13, {2}, {}), echo(1, 14, {3}, {})};
  EXPECT_EQ(labels_of(choose_echoes(all, std::vector<bool>(4, true), 2)),
            (std::vector<std::uint32_t>{10, 12, 13}));
}

}  // namespace
}  // namespace weft::plan
