// Slow cable or other traffic: by what a channel passes of different offers.
#include "probes/diagnosis/load/load_cause.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace weft::diagnosis {
namespace {

constexpr double kNoise = 0.01;

double for_congestion(const std::vector<PressedRound>& rounds) {
  return fit_cause(Cause::congestion, rounds, kNoise).log_likelihood -
         fit_cause(Cause::rate, rounds, kNoise).log_likelihood;
}

const std::vector<double> kOffers{0.95, 0.95, 0.42, 0.95, 0.68, 1.9, 1.4, 0.95};

std::vector<PressedRound> rounds_over(const Passing& channel, double whim, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<PressedRound> rounds;
  for (const double offered : kOffers) {
    const double got = offered * channel.share(offered) + std::normal_distribution(0.0, whim)(random);
    rounds.push_back({offered, std::clamp(got, 0.0, std::min(offered, channel.capacity))});
  }
  return rounds;
}

TEST(LoadCause, ASlowCableIsToldFromOtherTrafficHoweverSlowItIs) {
  for (const double part : {0.1, 0.25, 0.5, 0.8})
    for (std::uint64_t seed = 1; seed <= 20; ++seed)
      EXPECT_LT(for_congestion(rounds_over({part, 0.0}, 0.005, seed)), -6) << part << " seed " << seed;
}

TEST(LoadCause, OtherTrafficIsToldFromASlowCableAlsoWhereItsQueueIsWhimsical) {
  for (const double other : {0.4, 0.8, 1.4})
    for (const double whim : {0.005, 0.05, 0.15})
      for (std::uint64_t seed = 1; seed <= 20; ++seed)
        EXPECT_GT(for_congestion(rounds_over({1.0, other}, whim, seed)), 3)
            << other << " whim " << whim << " seed " << seed;
}

TEST(LoadCause, ASlowCableIsOneThoughARoundOfItWentWrong) {
  auto rounds = rounds_over({0.5, 0.0}, 0.005, 1);
  rounds[5].got = 0.42;
  EXPECT_LT(for_congestion(rounds), -3);
}

TEST(LoadCause, ThroughputThatGrowsWithTheOfferIsCongestionThoughARatesScatterWouldAlmostDo) {
  // Measured in a lab: two flows got little more than one, each with its own luck.
  const std::vector<PressedRound> rounds{{1, 0.60}, {1, 0.67}, {1, 0.65}, {1, 0.70},
                                         {1, 0.83}, {2, 0.76}, {2, 0.68}, {2, 0.73}};
  EXPECT_GT(for_congestion(rounds), 6);
}

TEST(LoadCause, FindsTheRateAndTheOtherTraffic) {
  EXPECT_NEAR(fit_cause(Cause::rate, rounds_over({0.5, 0.0}, 0.002, 1), kNoise).best.capacity, 0.5, 0.01);
  EXPECT_NEAR(fit_cause(Cause::congestion, rounds_over({1.0, 0.8}, 0.002, 1), kNoise).best.other, 0.8, 0.08);
}

/// Over the better of the two causes that stay.
double for_rate_at_times(const std::vector<PressedRound>& rounds) {
  const double stays = std::max(fit_cause(Cause::congestion, rounds, kNoise).log_likelihood,
                                fit_cause(Cause::rate, rounds, kNoise).log_likelihood);
  return fit_rate_at_times(rounds, kNoise).log_likelihood - stays;
}

TEST(LoadCause, ASlowCableThatIsThereForSomeRoundsIsNeitherASteadyOneNorOtherTraffic) {
  for (const double part : {0.1, 0.2, 0.5}) {
    std::vector<PressedRound> rounds;
    for (const double offered : kOffers)
      rounds.push_back({offered, std::min(offered, rounds.size() % 2 == 0 ? part : 1.0)});
    EXPECT_GT(for_rate_at_times(rounds), 2) << part;
  }
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    EXPECT_LT(for_rate_at_times(rounds_over({0.5, 0.0}, 0.005, seed)), -6) << seed;
    EXPECT_LT(for_rate_at_times(rounds_over({1.0, 0.8}, 0.02, seed)), -3) << seed;
  }
}

TEST(LoadCause, NoRoundsSayNothing) {
  EXPECT_NEAR(for_congestion({}), 0, 1e-9);
  EXPECT_FALSE(offers_differ({}));
}

TEST(LoadCause, OffersDifferWhenOneIsWellAboveAnother) {
  EXPECT_FALSE(offers_differ(std::vector<PressedRound>{{0.95, 0.5}, {1.0, 0.5}}));
  EXPECT_TRUE(offers_differ(std::vector<PressedRound>{{0.95, 0.5}, {0.6, 0.5}}));
}

TEST(LoadEvidence, TellsTheLeastTheMiddleAndTheMostThatWasOffered) {
  const std::vector<PressedRound> rounds{{1.9, 0.5}, {0.95, 0.49}, {0.4, 0.4}, {0.96, 0.51}};
  EXPECT_EQ(offers_in_words(rounds, Bandwidth::mbit(50)),
            "of 20 Mbit/s offered 20 Mbit/s arrived, of 47.8 Mbit/s 25 Mbit/s, of 95 Mbit/s 25 Mbit/s");
  const std::vector<PressedRound> many{{0.4, 0.4}, {0.7, 0.5}, {0.95, 0.5}, {1.4, 0.5}, {1.9, 0.5}};
  EXPECT_EQ(offers_in_words(many, Bandwidth::gbit(400)),
            "of 160 Gbit/s offered 160 Gbit/s arrived, of 380 Gbit/s 200 Gbit/s, of 760 Gbit/s 200 Gbit/s");
  EXPECT_EQ(offers_in_words({}, Bandwidth::gbit(400)), "");
}

}  // namespace
}  // namespace weft::diagnosis
