#include "probes/diagnosis/load/load_elimination.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/probes/diagnosis/made_up_run.hpp"

namespace weft::diagnosis {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// Four hosts of one leaf load those of another, each over a spine of its own; in four rounds every spine has
/// each of them.
void load_between(MadeUpRun& run, std::uint32_t& round, std::uint32_t from, std::uint32_t to) {
  for (std::uint32_t turn = 0; turn < 4; ++turn) {
    std::vector<std::vector<ChannelId>> paths;
    for (std::uint32_t host = 0; host < 4; ++host)
      paths.push_back(run.path(4 * from + host, 4 * to + host, (host + turn) % 4));
    run.load(round++, paths, 0.95);
  }
}

/// Leaf 1 to leaves 2 and 3, and these to each other.
void load_three_leaves(MadeUpRun& run) {
  std::uint32_t round = 0;
  load_between(run, round, 0, 1);
  load_between(run, round, 0, 2);
  load_between(run, round, 1, 2);
  load_between(run, round, 2, 1);
}

class Eliminated {
 public:
  explicit Eliminated(const MadeUpRun& run)
      : losses_(run.fabric.channel_count()),
        rounds_(run.fabric, run.seen, losses_),
        elimination_(run.fabric, rounds_) {}
  const LoadElimination* operator->() const { return &elimination_; }

 private:
  std::vector<KnownLoss> losses_;
  LoadRounds rounds_;
  LoadElimination elimination_;
};

TEST(LoadElimination, SuspectsNothingWhereEveryFlowArrivesWhole) {
  MadeUpRun run(1);
  load_three_leaves(run);
  const Eliminated found(run);
  EXPECT_THAT(found->suspicions(), IsEmpty());
  EXPECT_THAT(found->unexplained(), IsEmpty());
  EXPECT_TRUE(found->is_tested(run.channel("leaf1->spine2")));
  EXPECT_FALSE(found->is_tested(run.channel("leaf4->spine2"))) << "no flow crossed it";
  EXPECT_THAT(found->untested(), IsEmpty());
}

TEST(LoadElimination, ASlowChannelIsTheOneThatAllHeldBackFlowsCrossAndNoWholeOne) {
  MadeUpRun run(2);
  const ChannelId slow = run.channel("leaf1->spine2");
  run.fault("leaf1->spine2").rate = 0.5;
  load_three_leaves(run);
  const Eliminated found(run);
  ASSERT_EQ(found->suspicions().size(), 1u);
  EXPECT_THAT(found->suspicions()[0].alternatives, ElementsAre(ElementsAre(slow)));
  EXPECT_THAT(found->unexplained(), IsEmpty());
  EXPECT_FALSE(found->is_tested(slow));
  EXPECT_TRUE(found->is_tested(run.channel("spine2->leaf2")));
}

TEST(LoadElimination, TellsWhatASlowChannelPasses) {
  MadeUpRun run(3);
  run.fault("leaf1->spine2").rate = 0.5;
  load_three_leaves(run);
  const ChannelId slow = run.channel("leaf1->spine2");
  const double link = run.fabric.rate(slow).bits_per_second();
  EXPECT_NEAR(Eliminated(run)->passes(slow) / link, 0.5, 0.05);
}

}  // namespace
}  // namespace weft::diagnosis
