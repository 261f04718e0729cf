// A look at all that was sent is a batch: its findings and its account are those of the diagnosis of the same
// packets, counted here one by one from the windows.
#include <gmock/gmock.h>

#include <map>
#include <random>

#include "probes/diagnosis/diagnose.hpp"
#include "tests/support/draws.hpp"
#include "tests/support/standing_fleet.hpp"
#include "topology/model/clos.hpp"

namespace weft::watch {
namespace {

using std::chrono::hours;
using std::chrono::seconds;

/// What became of each probe, as windows told last.
class Counted {
 public:
  explicit Counted(const StandingPlan& plan) : plan_(plan) {}

  void take(const SentWindow& sent) {
    for (const NicWindow& told : sent.window.nics) {
      const std::uint32_t n = plan_.first_nic[sent.host.value()] + told.nic;
      const auto row_of = [&](std::uint64_t number) {
        return plan_.nics[n].first_row + static_cast<std::uint32_t>(number % plan_.nics[n].streams.size());
      };
      for (std::uint32_t i = 0; i < told.count; ++i) ++rows_[row_of(told.first + i)].sent;
      for (const LostProbe& lost : told.lost) ++of(rows_[row_of(told.first + lost.offset)], lost.way);
      for (const SettledProbe& settled : told.settled) {
        --rows_[row_of(settled.number)].open;
        ++of(rows_[row_of(settled.number)], settled.way);
      }
    }
  }
  Observations observations() const {
    Observations all;
    all.paths = plan_.paths;
    for (const auto& [row, seen] : rows_) {
      const StandingStream& stream = plan_.stream(row);
      const LabelledPair pair{plan_.nics[plan_.nic_of(row)].nic, stream.peer, stream.label};
      const std::uint64_t known = seen.sent - seen.open;
      if (known > 0)
        all.probes.push_back({.path = stream.there, .sent = known, .lost = seen.there, .pair = pair});
      if (known > seen.there)
        all.probes.push_back({.path = stream.back, .sent = known - seen.there, .lost = seen.back});
      if (seen.open > 0)
        all.probes.push_back(
            {.path = stream.there, .back = stream.back, .sent = seen.open, .lost = seen.open});
    }
    return all;
  }

 private:
  struct Row {
    std::uint64_t sent = 0, there = 0, back = 0, open = 0;
  };
  static std::uint64_t& of(Row& row, LostWay way) {
    return way == LostWay::there ? row.there : way == LostWay::back ? row.back : row.open;
  }
  const StandingPlan& plan_;
  std::map<std::uint32_t, Row> rows_;
};

TEST(LookBatch, FindsAndAccountsForWhatADiagnosisOfTheSamePacketsDoes) {
  std::size_t found = 0;
  for (std::uint64_t seed = 1; seed <= draws(16u); ++seed) {
    std::mt19937_64 random(seed);
    const auto some = [&](std::uint64_t from, std::uint64_t to) { return from + random() % (to - from + 1); };
    const Fabric fabric = *make_clos({.leaves = static_cast<std::uint32_t>(some(2, 6)),
                                      .spines = static_cast<std::uint32_t>(some(2, 5)),
                                      .hosts_per_leaf = static_cast<std::uint32_t>(some(1, 4))});
    const FleetOptions options{.seed = seed, .background = 1e-6, .delays = false};
    const StandingPlan plan = fleet_plan(fabric, options);
    StandingFleet fleet(fabric, plan, PlanVersion(1), options);
    for (std::uint64_t i = some(0, 4); i > 0; --i) {
      const ChannelId channel(static_cast<std::uint32_t>(random() % fabric.channel_count()));
      fleet.put({{.link = Fabric::link_of(channel),
                  .channel = some(0, 1) == 0 ? std::optional(channel) : std::nullopt,
                  .loss = Fraction(0.002 * static_cast<double>(some(1, 40)))}});
    }
    PathSums sums(plan, PlanVersion(1), {});
    Counted counted(plan);
    for (std::uint64_t second = some(4, 40); second > 0; --second)
      for (const SentWindow& sent : fleet.second()) {
        ASSERT_FALSE(sums.take(sent.host, sent.window, sent.arrival).refused);
        counted.take(sent);
      }
    Looker looker(fabric, plan, {});
    // So long since the last look that nothing is known beforehand: the odds of a batch.
    const auto look = looker.look(sums.sum(fleet.now(), hours(1)), hours(24 * 10'000),
                                  {std::vector(fabric.node_count(), HostNews::heard),
                                   std::vector<Nanoseconds>(fabric.node_count(), fleet.now())});
    if (!look.disbelieved.empty()) continue;  // a watcher believes no single host; a batch has no such rule
    const Diagnosis batch = diagnosis::diagnose(fabric, counted.observations());
    const auto expected = findings_of(batch);
    ASSERT_EQ(look.findings.size(), expected.size()) << "seed " << seed;
    for (std::size_t f = 0; f < expected.size(); ++f) {
      EXPECT_EQ(channels_at(fabric, look.findings[f].place), channels_at(fabric, expected[f].place))
          << "seed " << seed;
      EXPECT_EQ(look.findings[f].place.alternatives, expected[f].place.alternatives) << "seed " << seed;
      EXPECT_NEAR(look.findings[f].confidence, expected[f].confidence, 1e-9) << "seed " << seed;
    }
    EXPECT_EQ(look.account.lost.all, batch.account.lost.all) << "seed " << seed;
    EXPECT_EQ(look.account.lost.found, batch.account.lost.found) << "seed " << seed;
    EXPECT_EQ(look.account.lost.unexplained, batch.account.lost.unexplained) << "seed " << seed;
    EXPECT_EQ(look.everywhere, !batch.fabric.empty()) << "seed " << seed;
    found += expected.size();
  }
  EXPECT_GT(found, 10u);
}

}  // namespace
}  // namespace weft::watch
