// More lost packets, or the same ones at other times, are never better news: what was not healthy does not
// become healthy by them, and what failed does not become degraded.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <string>

#include "tests/probes/diagnosis/made_up_run.hpp"
#include "topology/model/fabric.hpp"

namespace weft::diagnosis {
namespace {

using Random = std::mt19937_64;

const std::array kShapes{ClosSpec{.leaves = 2, .spines = 2, .hosts_per_leaf = 2},
                         ClosSpec{.leaves = 3, .spines = 2, .hosts_per_leaf = 1},
                         ClosSpec{.leaves = 4, .spines = 4, .hosts_per_leaf = 2}};
constexpr int kFabrics = 24;
constexpr int kChanges = 4;  // of each fabric's run

double log_uniform(Random& random, double low, double high) {
  return low * std::pow(high / low, std::uniform_real_distribution<double>()(random));
}

/// One to three channels, of host cables too, lose .02 to 60 %; few packets or many.
MadeUpRun drawn_run(std::uint64_t seed) {
  Random random(seed);
  MadeUpRun run(seed, kShapes[seed % kShapes.size()]);
  if (random() % 3 == 0) run.background = log_uniform(random, 1e-6, 1e-4);
  for (std::size_t i = 0; i < 1 + random() % 3; ++i) {
    const ChannelId channel(static_cast<std::uint32_t>(random() % run.fabric.channel_count()));
    MadeUpFault& fault = run.fault(run.fabric.name_of(channel));
    if (random() % 8 == 0)
      fault.largest = Bytes(1500);
    else
      fault.loss = log_uniform(random, 2e-4, 0.6);
  }
  const auto packets = static_cast<std::uint64_t>(log_uniform(random, 50, 3000));
  run.probe(60, packets, Bytes(128));
  run.probe(40, packets, Bytes(4096));
  return run;
}

std::string told(const Diagnosis& before, const Diagnosis& after, const std::string& change) {
  return fmt::format("{}: {} before, {} after", change, to_string(before.verdict), to_string(after.verdict));
}

bool is_better_news(const Diagnosis& before, const Diagnosis& after) {
  if (before.verdict == Verdict::healthy) return false;
  return after.verdict == Verdict::healthy ||
         (before.verdict == Verdict::failed && after.verdict == Verdict::degraded);
}

/// More packets are lost of one observation, or of a few; of those sent, or beside them.
std::string lose_more(Observations& seen, Random& random) {
  std::string change;
  for (std::size_t i = 0; i < 1 + random() % 3; ++i) {
    const std::size_t at = random() % seen.probes.size();
    Observation& row = seen.probes[at];
    auto more = static_cast<std::uint64_t>(log_uniform(random, 1, static_cast<double>(row.sent)));
    if (random() % 2 == 0)
      row.sent += more;
    else
      more = std::min(more, row.sent - row.lost - row.corrupt);
    row.lost += more;
    change += fmt::format("{} more lost of row {}; ", more, at);
  }
  return change;
}

TEST(MoreLosses, AreNeverBetterNews) {
  for (std::uint64_t seed = 1; seed <= kFabrics; ++seed) {
    const MadeUpRun run = drawn_run(seed);
    const Diagnosis before = run.diagnosed();
    Random random(seed + 1'000'000);
    for (int i = 0; i < kChanges; ++i) {
      Observations changed = run.seen;
      const auto change = lose_more(changed, random);
      const Diagnosis after = diagnose(run.fabric, changed);
      EXPECT_FALSE(is_better_news(before, after)) << "seed " << seed << ": " << told(before, after, change);
    }
  }
}

/// The lost packets of each row in runs of up to `longest`, in places drawn anew.
void put_losses_anywhere(Observations& seen, std::uint64_t longest, Random& random) {
  for (Observation& row : seen.probes) {
    row.runs.clear();
    row.window = TimeWindow{std::chrono::milliseconds(random() % 5000), std::chrono::milliseconds(500)};
    std::uint64_t lost = row.lost;
    std::uint64_t passed = row.sent - row.lost;
    for (std::uint64_t at = 0; lost > 0;) {
      const std::uint64_t gap = random() % (2 * passed / (1 + lost / longest) + 1);
      const std::uint64_t skip = std::min(gap, passed);
      const std::uint64_t run = std::min(lost, 1 + random() % longest);
      row.runs.push_back({static_cast<std::uint32_t>(at + skip), static_cast<std::uint32_t>(run)});
      // Runs of one row do not touch.
      at += skip + run;
      passed -= skip;
      lost -= run;
      if (row.runs.size() > 1 && skip == 0) {
        const LossRun last = row.runs.back();
        row.runs.pop_back();
        row.runs.back().count += last.count;
      }
    }
  }
}

TEST(MoreLosses, AtOtherTimesAreNoBetterNews) {
  for (std::uint64_t seed = 1; seed <= kFabrics; ++seed) {
    const MadeUpRun run = drawn_run(seed);
    Random random(seed + 2'000'000);
    Observations spread = run.seen;
    put_losses_anywhere(spread, 1, random);
    const Diagnosis before = diagnose(run.fabric, spread);
    for (const std::uint64_t longest : {1, 3, 20, 1000}) {
      Observations moved = run.seen;
      put_losses_anywhere(moved, longest, random);
      const Diagnosis after = diagnose(run.fabric, moved);
      EXPECT_FALSE(is_better_news(before, after))
          << "seed " << seed << ": " << told(before, after, fmt::format("runs of up to {}", longest));
    }
  }
}

/// Each row as several of the same path, one after the other; its losses in the first of them, as many as it
/// sent, then in the next (`heaped`), or each in any.
Observations in_parts(const Observations& seen, bool heaped, Random& random) {
  constexpr std::uint64_t kParts = 5;
  Observations parts = seen;
  parts.probes.clear();
  for (const Observation& row : seen.probes) {
    std::vector<Observation> made(kParts, row);
    for (std::uint64_t i = 0; i < kParts; ++i) {
      made[i].sent = row.sent / kParts + (i < row.sent % kParts ? 1 : 0);
      made[i].lost = 0;
    }
    const std::uint64_t first = random() % kParts;
    for (std::uint64_t lost = 0; lost < row.lost; ++lost) {
      std::uint64_t i = heaped ? first : random() % kParts;
      while (made[i].lost == made[i].sent) i = (i + 1) % kParts;
      ++made[i].lost;
    }
    parts.probes.insert(parts.probes.end(), made.begin(), made.end());
  }
  return parts;
}

/// One to three channels of about 5 %: whether one of them failed is told by what was lost in all.
MadeUpRun run_of_about_5_percent(std::uint64_t seed) {
  Random random(seed + 3'000'000);
  MadeUpRun run(seed, kShapes[seed % kShapes.size()]);
  for (std::size_t i = 0; i < 1 + random() % 3; ++i) {
    const ChannelId channel(static_cast<std::uint32_t>(random() % run.fabric.channel_count()));
    run.fault(run.fabric.name_of(channel)).loss = log_uniform(random, 0.03, 0.08);
  }
  run.probe(60, static_cast<std::uint64_t>(log_uniform(random, 50, 3000)));
  return run;
}

TEST(MoreLosses, HeapedInAFewRowsOfAPathAreNoBetterNews) {
  // Of the first 400 seeds, such of which other channels are named once the losses are heaped.
  for (const std::uint64_t seed : {13, 57, 73, 126, 128, 136, 164, 218, 287, 1, 2, 3}) {
    const MadeUpRun run = run_of_about_5_percent(seed);
    Random random(seed + 4'000'000);
    const Diagnosis before = diagnose(run.fabric, in_parts(run.seen, false, random));
    const Diagnosis after = diagnose(run.fabric, in_parts(run.seen, true, random));
    EXPECT_FALSE(is_better_news(before, after)) << "seed " << seed << ": " << told(before, after, "heaped");
  }
}

/// Two cables in series of all packets from host1 to host3; of the packets over them `lost` of 1,000 each way
/// that they go alone, and of both.
MadeUpRun cables_in_series(std::uint64_t lost) {
  MadeUpRun run(1, {.leaves = 2, .spines = 2, .hosts_per_leaf = 2});
  const auto probe = [&](std::uint32_t from, std::uint32_t to, std::uint32_t spine, std::uint64_t of_it) {
    run.seen.probes.push_back({.path = run.seen.paths.only(run.seen.paths.intern(run.path(from, to, spine))),
                               .sent = 1000,
                               .lost = of_it,
                               .size = Bytes(128)});
  };
  for (std::uint32_t from = 0; from < 4; ++from)
    for (std::uint32_t to = 0; to < 4; ++to)
      for (std::uint32_t spine = 0; spine < 2; ++spine)
        if (from / 2 != to / 2) probe(from, to, spine, (from == 0 ? lost : 0) + (to == 2 ? lost : 0));
  return run;
}

TEST(RunVerdict, FailsByWhatIsLostOverAChannelThoughNoFindingDoes) {
  // host1's cable loses 4 % of what it sends and host3's 4 % of what it gets: of the half of either's packets
  // that cross both 8 %, in all 6 %.
  const MadeUpRun run = cables_in_series(40);
  const Diagnosis diagnosis = run.diagnosed();
  EXPECT_EQ(diagnosis.verdict, Verdict::failed);
  ASSERT_EQ(diagnosis.hosts.size(), 2u);
  std::size_t told = 0;
  for (const HostFinding& host : diagnosis.hosts) {
    EXPECT_EQ(host.verdict, Verdict::degraded);
    told += std::ranges::count_if(host.evidence, [](const std::string& text) {
      return text.starts_with("the run failed: of all packets over ");
    });
  }
  EXPECT_EQ(told, 1u);
  EXPECT_EQ(verdict_of_run(run.fabric, {}, diagnosis), Verdict::degraded) << "without the packets";
}

TEST(RunVerdict, IsThatOfTheFindingsWhereNoChannelIsCrossedWithSuchALoss) {
  const MadeUpRun run = cables_in_series(20);
  EXPECT_EQ(run.diagnosed().verdict, Verdict::degraded);
  for (const HostFinding& host : run.diagnosed().hosts) EXPECT_EQ(host.evidence.size(), 1u);
}

}  // namespace
}  // namespace weft::diagnosis
