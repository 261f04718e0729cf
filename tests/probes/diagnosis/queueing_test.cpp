// Which channels packets wait on, of round trips beside flows.
#include "probes/diagnosis/delay/queueing.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "tests/probes/diagnosis/made_up_run.hpp"

namespace weft::diagnosis {
namespace {

using testing::ElementsAre;

/// Trips over random paths of a Clos, there and back by different ones; each channel with its own wait.
class LoadedRun : public MadeUpRun {
 public:
  using MadeUpRun::MadeUpRun;
  std::map<ChannelId, double> waits_us;
  std::vector<LoadedTrip> trips;

  void beside(std::size_t count, double scatter_us) {
    std::mt19937_64 random(7);
    std::normal_distribution<double> scatter(0, scatter_us);
    for (std::size_t i = 0; i < count; ++i) {
      const auto there = random_path(), back = random_path();
      double wait = scatter(random);
      for (const auto& path : {there, back})
        for (const ChannelId channel : path)
          if (const auto at = waits_us.find(channel); at != waits_us.end()) wait += at->second;
      const Nanoseconds idle(20'000), loaded(20'000 + std::llround(wait * 1e3));
      trips.push_back({.pair = {PortId(0), PortId(1), PathLabel(1)},
                       .path = seen.paths.only(seen.paths.intern(there)),
                       .back = seen.paths.only(seen.paths.intern(back)),
                       .sent = 16,
                       .answered = 16,
                       .loaded = RttQuantiles{loaded, loaded + Nanoseconds(500)},
                       .idle = RttQuantiles{idle, idle}});
    }
  }
  std::vector<ChannelQueue> queues() const { return queues_by_channel(seen.paths, trips); }
};

TEST(Queueing, TheSumsOfTripsArePartedByChannel) {
  LoadedRun run(1);
  run.waits_us = {{run.channel("leaf1->spine2"), 40}, {run.channel("spine3->leaf4"), 15}};
  run.beside(300, 0.5);
  const auto queues = run.queues();
  ASSERT_EQ(queues.size(), 2U);
  EXPECT_THAT(queues[0].channels, ElementsAre(run.channel("leaf1->spine2")));
  EXPECT_NEAR(static_cast<double>(queues[0].wait.count()), 40e3, 1e3);
  EXPECT_LT(queues[0].error, Nanoseconds(1'000));
  EXPECT_GT(queues[0].trips, 10U);
  EXPECT_THAT(queues[1].channels, ElementsAre(run.channel("spine3->leaf4")));
  EXPECT_NEAR(static_cast<double>(queues[1].wait.count()), 15e3, 1e3);
}

TEST(Queueing, WhereNothingWaitsNoChannelIsNamed) {
  LoadedRun run(2);
  run.beside(300, 0.5);
  EXPECT_THAT(run.queues(), testing::IsEmpty());
  EXPECT_THAT(queues_by_channel(run.seen.paths, {}), testing::IsEmpty());
}

TEST(Queueing, TripsWithoutAnIdleTimeOrWithUnknownWaysCountForNothing) {
  LoadedRun run(3);
  run.waits_us = {{run.channel("leaf1->spine2"), 40}};
  run.beside(100, 0.5);
  const auto most = run.queues();
  auto lame = run.trips;
  for (LoadedTrip& trip : lame) trip.idle.reset();
  run.trips.insert(run.trips.end(), lame.begin(), lame.end());
  for (LoadedTrip& trip : lame) trip.idle = trip.loaded, trip.back.reset(), trip.path = lame[0].path;
  const auto all = run.queues();
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].trips, most.at(0).trips);
}

}  // namespace
}  // namespace weft::diagnosis
