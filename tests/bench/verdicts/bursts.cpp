// Bursts: a faulty channel loses runs of packets of one path, where a healthy one loses single packets. Rows
// of known one-way paths, no sweep.
#include <algorithm>
#include <cmath>

#include "probes/diagnosis/diagnose.hpp"
#include "tests/bench/diagnosis/seeds.hpp"
#include "tests/bench/support/random_paths.hpp"
#include "tests/bench/verdicts/claims.hpp"
#include "tests/bench/verdicts/judge.hpp"
#include "tests/bench/verdicts/pieces.hpp"
#include "topology/model/fabric.hpp"

namespace weft::bench {
namespace {

constexpr std::size_t kRows = 25000;
constexpr std::uint32_t kPackets = 100;
constexpr std::size_t kMaxFaults = 8;
constexpr double kMinLoss = 0.002;
constexpr double kMaxLoss = 0.02;
constexpr double kMinBackground = 1e-5;
constexpr double kMaxBackground = 1e-4;
constexpr std::uint32_t kRuns[] = {2, 3, 5, 10, 25};

/// Share of packets that a channel loses, in runs of this length on one path.
struct Habit {
  double loss = 0;
  std::uint32_t run = 1;
};

/// The rows that lost a run on a faulty channel: how many, and the channels that all of them crossed.
struct Shown {
  std::size_t rows = 0;
  std::vector<ChannelId> crossed;

  void add(const std::vector<ChannelId>& path) {
    if (rows++ == 0) crossed = path;
    std::erase_if(crossed, [&](ChannelId channel) { return !holds(path, channel); });
  }
  /// One row tells of no channel of its path more than of another; of one that all of several crossed as
  /// well, only the rows without a loss may tell.
  bool is_told() const { return rows > 1 && crossed.size() == 1; }
};

struct BurstWorld {
  Observations seen;
  std::vector<ChannelId> faults;  // ascending
  std::vector<Shown> shown;       // by fault
};

/// Marks what a channel loses of a row's packets; of how many runs. A run is cut where the row ends.
std::uint64_t lose(const Habit& habit, std::vector<bool>& lost, Random& random) {
  const double starts = habit.loss / habit.run;
  const std::uint64_t runs = binomial(random, lost.size(), starts);
  for (std::uint64_t i = 0; i < runs; ++i) {
    const std::size_t first = pick(random, lost.size());
    std::fill(
        lost.begin() + static_cast<std::ptrdiff_t>(first),
        lost.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(first + habit.run, lost.size())),
        true);
  }
  return runs;
}

std::vector<LossRun> runs_of(const std::vector<bool>& lost) {
  std::vector<LossRun> runs;
  for (std::uint32_t i = 0; i < lost.size(); ++i) {
    if (!lost[i]) continue;
    if (i > 0 && lost[i - 1])
      ++runs.back().count;
    else
      runs.push_back({i, 1});
  }
  return runs;
}

/// `run` is of the faulty channels; with `sick` false there is none, and all channels have it at the loss of
/// healthy ones.
BurstWorld burst_world(const Fabric& fabric, std::uint32_t run, bool sick, bool in_order,
                       std::uint64_t seed) {
  Random random(seed);
  RandomPaths paths(fabric, 0, random);
  BurstWorld world;
  std::vector<Habit> habits(fabric.channel_count());
  for (Habit& habit : habits) habit.loss = uniform(random, kMinBackground, kMaxBackground);
  if (!sick)
    for (Habit& habit : habits) habit.run = run;
  const std::size_t count = sick ? 1 + pick(random, kMaxFaults) : 0;
  while (world.faults.size() < count) {
    const ChannelId channel = paths.switch_channels()[pick(random, paths.switch_channels().size())];
    if (holds(world.faults, channel)) continue;
    world.faults.push_back(channel);
    habits[channel.value()] = {uniform(random, kMinLoss, kMaxLoss), run};
  }
  std::ranges::sort(world.faults);
  world.shown.resize(count);
  world.seen.probes.reserve(kRows);
  std::vector<bool> lost(kPackets);
  for (std::size_t i = 0; i < kRows; ++i) {
    const auto path = paths.draw(random);
    lost.assign(kPackets, false);
    for (const ChannelId channel : path) {
      const std::uint64_t runs = lose(habits[channel.value()], lost, random);
      const auto fault = std::ranges::find(world.faults, channel);
      if (runs > 0 && fault != world.faults.end())
        world.shown[static_cast<std::size_t>(fault - world.faults.begin())].add(path);
    }
    Observation row{.path = world.seen.paths.only(world.seen.paths.intern(path)), .sent = kPackets};
    row.lost = static_cast<std::uint64_t>(std::ranges::count(lost, true));
    if (in_order) row.runs = runs_of(lost);
    world.seen.probes.push_back(std::move(row));
  }
  return world;
}

struct Found {
  std::size_t faults = 0;
  std::size_t told = 0;  // of these, by their rows
  std::size_t right = 0;
  std::size_t wrong = 0;
  bool healthy = false;
  std::string text;  // of what went wrong
};

Found look(const Fabric& fabric, const BurstWorld& world) {
  const Diagnosis diagnosis = diagnosis::diagnose(fabric, world.seen);
  const Claims claims = claims_of(fabric, diagnosis);
  Found found{.faults = world.faults.size(), .healthy = diagnosis.verdict == Verdict::healthy};
  found.told = static_cast<std::size_t>(std::ranges::count_if(world.shown, &Shown::is_told));
  std::vector<ChannelId> named;
  for (const Name& name : claims.names)
    for (const ChannelId channel : name.channels)
      if (!holds(named, channel)) named.push_back(channel);
  for (const ChannelId channel : named) {
    const bool right = holds(world.faults, channel);
    ++(right ? found.right : found.wrong);
    if (!right) found.text += fmt::format("  wrong: {}\n", fabric.name_of(channel));
  }
  found.wrong += claims.switches.size();
  if (found.wrong > 0)
    for (const std::string& words : words_of(fabric, diagnosis)) found.text += "  said: " + words + "\n";
  for (const ChannelId channel : world.faults)
    if (!holds(named, channel)) found.text += fmt::format("  missed: {}\n", fabric.name_of(channel));
  return found;
}

void bench_recall(const VerdictOptions& options, Figures& figures, bool in_order) {
  const Fabric fabric = fat_tree_k10();
  const char* order = in_order ? "_in_order" : "";
  std::size_t shown = 0;
  for (const std::uint32_t run : kRuns) {
    const auto all = for_each_index(options.seeds, options.threads, [&](std::size_t i) {
      return look(fabric, burst_world(fabric, run, true, in_order, options.base + i));
    });
    Found sum;
    std::size_t healthy = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
      sum.faults += all[i].faults;
      sum.told += all[i].told;
      sum.right += all[i].right;
      sum.wrong += all[i].wrong;
      healthy += all[i].healthy ? 1 : 0;
      if (!all[i].text.empty() && shown++ < options.show)
        fmt::print("runs of {}, seed {}\n{}", run, options.base + i, all[i].text);
    }
    const auto share = [](std::size_t part, std::size_t whole) {
      return whole == 0 ? 1.0 : static_cast<double>(part) / static_cast<double>(whole);
    };
    const char* target = run == 2 ? ".97" : run == 3 ? ".98" : run == 5 ? ".95" : run == 10 ? ".90" : ".66";
    figures.add(fmt::format("burst_recall_{}{}", run, order), share(sum.right, sum.faults), target);
    figures.add(fmt::format("burst_told_{}{}", run, order), share(sum.told, sum.faults));
    figures.add(fmt::format("burst_precision_{}{}", run, order), share(sum.right, sum.right + sum.wrong),
                ".98");
    figures.add(fmt::format("burst_healthy_{}{}", run, order), static_cast<double>(healthy), "0");
  }
}

}  // namespace

void bench_bursts(const VerdictOptions& options, Figures& figures) {
  bench_recall(options, figures, false);
  const Fabric fabric = fat_tree_k10();
  std::size_t named = 0;
  const auto all = for_each_index(options.seeds, options.threads, [&](std::size_t i) {
    return look(fabric, burst_world(fabric, kRuns[i % std::size(kRuns)], false, false, options.base + i));
  });
  std::size_t shown = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    named += all[i].wrong > 0 ? 1 : 0;
    if (all[i].wrong > 0 && shown++ < options.show)
      fmt::print("all in runs of {}, seed {}\n{}", kRuns[i % std::size(kRuns)], options.base + i,
                 all[i].text);
  }
  figures.add("burst_background_false", static_cast<double>(named), "0 in 100");
}

void bench_bursts_in_order(const VerdictOptions& options, Figures& figures) {
  bench_recall(options, figures, true);
}

}  // namespace weft::bench
