#include "probes/diagnosis/repair/repair_causes.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>

namespace weft::diagnosis {
namespace {

/// What a module of a healthy cable says, and a receiver of many errors.
RepairSigns errors_alone() {
  const EndSigns usual{.sent_db = 0,
                       .received_db = 0,
                       .bias = 0,
                       .celsius = 0,
                       .errors = 0,
                       .neighbours_bad = 0,
                       .touched = false};
  RepairSigns signs{.from = usual, .to = usual, .flaps = 0};
  signs.to.errors = 3;
  return signs;
}

RepairGuess likeliest(const RepairSigns& signs) { return repair_causes(signs).front(); }

TEST(RepairCauses, AreProbabilitiesOfAllAndTheSameWithoutSignsAsTheirPriors) {
  const auto guesses = repair_causes({});
  const double sum =
      std::accumulate(guesses.begin(), guesses.end(), 0.0,
                      [](double all, const RepairGuess& one) { return all + one.probability; });
  EXPECT_NEAR(sum, 1, 1e-9);
  EXPECT_LT(guesses.front().probability, 0.25) << "nothing is told, so nothing is sure";
}

TEST(RepairCauses, ALaserThatGivesLessIsTheSenders) {
  auto signs = errors_alone();
  signs.from.sent_db = -3.5;
  signs.to.received_db = -3.4;
  signs.from.bias = 0.3;
  EXPECT_EQ(likeliest(signs).cause, RepairCause::weak_transmitter);
  EXPECT_EQ(likeliest(signs).at_sender, true);
  EXPECT_GT(likeliest(signs).probability, 0.9);
}

TEST(RepairCauses, LightThatIsLostOnTheWayIsDirtWhereSomebodyPluggedAndElseBoth) {
  auto signs = errors_alone();
  signs.to.received_db = -4;
  signs.to.touched = true;
  EXPECT_EQ(likeliest(signs).cause, RepairCause::dirty_connector);
  EXPECT_EQ(likeliest(signs).at_sender, false);
  signs.from.received_db = -4;
  signs.to.touched = false;
  signs.flaps = 6;
  EXPECT_EQ(likeliest(signs).cause, RepairCause::damaged_fibre) << "both directions, and a link that flaps";
}

TEST(RepairCauses, NeighboursThatErrTooShareSomethingAndAHotModuleIsBad) {
  auto signs = errors_alone();
  signs.from.neighbours_bad = 0.7;
  EXPECT_EQ(likeliest(signs).cause, RepairCause::shared_component);
  EXPECT_EQ(likeliest(signs).at_sender, true);
  signs.from.neighbours_bad = 0;
  signs.to.celsius = 15;
  EXPECT_EQ(likeliest(signs).cause, RepairCause::bad_module);
  EXPECT_EQ(likeliest(signs).at_sender, false);
}

TEST(RepairCauses, WithoutPowerNothingIsSure) {
  RepairSigns signs;
  signs.to.errors = 3;
  EXPECT_LT(likeliest(signs).probability, 0.5);
}

TEST(RepairCauses, ACableThatIsOnePartIsReplacedAndNotCleaned) {
  auto signs = errors_alone();
  signs.one_part = true;
  EXPECT_EQ(likeliest(signs).cause, RepairCause::damaged_fibre);
  double sum = 0;
  for (const RepairGuess& guess : repair_causes(signs)) {
    sum += guess.probability;
    EXPECT_TRUE(guess.cause == RepairCause::damaged_fibre || guess.cause == RepairCause::shared_component);
  }
  EXPECT_NEAR(sum, 1, 1e-9);
}

TEST(RepairCauses, SignsOfHealthyEndsDoNotDepartFromUsual) {
  auto signs = errors_alone();
  EXPECT_TRUE(departs_from_usual(signs));
  signs.to.errors = 0;
  EXPECT_FALSE(departs_from_usual(signs));
  EXPECT_FALSE(departs_from_usual({}));
  signs.from.sent_db = 3;
  EXPECT_FALSE(departs_from_usual(signs)) << "more light than peers";
  signs.from.received_db = -4;
  EXPECT_TRUE(departs_from_usual(signs));
}

TEST(RepairCauses, WhatCannotBeSaysNothing) {
  auto signs = errors_alone();
  signs.to.received_db = -std::numeric_limits<double>::infinity();
  signs.from.sent_db = std::nan("");
  signs.flaps = -1;
  for (const RepairGuess& guess : repair_causes(signs)) EXPECT_TRUE(std::isfinite(guess.probability));
}

TEST(RepairCauses, ActionsJoinWhatTheSameHandDoes) {
  const auto actions = repair_actions({{RepairCause::dirty_connector, true, 0.4},
                                       {RepairCause::weak_transmitter, true, 0.3},
                                       {RepairCause::bad_module, true, 0.2},
                                       {RepairCause::bad_module, false, 0.1}});
  ASSERT_EQ(actions.size(), 3u);
  EXPECT_EQ(actions[0].cause, RepairCause::weak_transmitter);
  EXPECT_NEAR(actions[0].probability, 0.5, 1e-9);
}

}  // namespace
}  // namespace weft::diagnosis
