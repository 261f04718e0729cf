// How often the verdicts of a comparison are right: simulated truths, fixed seeds, 2,000 draws a row. The
// noise of one run is 3.5 %, with heavy tails (Student's t with 4 degrees of freedom) and autocorrelation
// (0.3 from run to run), on a drift of 0.1 % a run with a cycle of 2 %. Runs are taken as A, B, B, A. With
// looks, blocks are added until all cells are decided, 96 at most. Causes of layers are put into a small
// fabric (tests/support/compared_site.hpp), one at a time, each worth about 10 % of the cell that it is
// looked for in.
#include <cmath>
#include <ctime>
#include <random>

#include "collectors/compare/comparison.hpp"
#include "tests/bench/support/figures.hpp"
#include "tests/support/compared_site.hpp"
#include "tests/support/day_cycle_runs.hpp"
#include "topology/base/splitmix.hpp"

namespace weft {
namespace {

using compare::Decision;
using compare::Run;

constexpr int kDraws = 2000;

class Noise {
 public:
  explicit Noise(SplitMix64& random) : random_(random) {
    phase_ = std::uniform_real_distribution<double>(0, kPeriod)(random_);
    for (int i = 0; i < 20; ++i) next();  // the first has no past
    runs_ = 0;
  }

  /// Of the next run, as a logarithm.
  double next() {
    constexpr double kOfOneRun = 0.035;
    constexpr double kCorrelation = 0.3;
    constexpr double kFreedom = 4;
    // Student's t has the variance freedom / (freedom - 2).
    const double scale = kOfOneRun * std::sqrt((1 - kCorrelation * kCorrelation) * (kFreedom - 2) / kFreedom);
    last_ = kCorrelation * last_ + scale * std::student_t_distribution<double>(kFreedom)(random_);
    const double at = static_cast<double>(runs_++);
    return last_ + 0.001 * at + 0.02 * std::sin(2 * M_PI * (at + phase_) / kPeriod);
  }

 private:
  static constexpr double kPeriod = 100;  // runs
  SplitMix64& random_;
  double phase_ = 0;
  double last_ = 0;
  int runs_ = 0;
};

struct Drawn {
  std::vector<Run> a;
  std::vector<Run> b;
};

/// Each cell has noise of its own.
Drawn draw(SplitMix64& random, std::size_t blocks, double ratio, std::size_t cells = 1) {
  Drawn drawn{.a = std::vector<Run>(2 * blocks), .b = std::vector<Run>(2 * blocks)};
  for (std::size_t i = 0; i < cells; ++i) {
    const compare::Cell cell{.work = {"work"}, .size = Bytes(static_cast<std::int64_t>(i))};
    Noise noise(random);
    for (std::size_t block = 0; block < blocks; ++block) {
      const auto put = [&](Run& run, double factor) {
        run.cells[cell] = {factor * std::exp(noise.next()), 0};
      };
      put(drawn.a[2 * block], 1);
      put(drawn.b[2 * block], ratio);
      put(drawn.b[2 * block + 1], ratio);
      put(drawn.a[2 * block + 1], 1);
    }
  }
  return drawn;
}

compare::Comparison compared(const Drawn& drawn, double margin) {
  return *compare::compare(drawn.a, drawn.b, {.margin = margin, .design = compare::Design::blocks});
}

/// The first blocks of it.
Drawn first_of(const Drawn& drawn, std::size_t blocks) {
  const auto runs = static_cast<std::ptrdiff_t>(2 * blocks);
  return {{drawn.a.begin(), drawn.a.begin() + runs}, {drawn.b.begin(), drawn.b.begin() + runs}};
}

/// As `weft compare run` does it: at the first planned look at which all cells are decided, or at the last.
compare::Comparison looked(const Drawn& drawn, double margin) {
  for (const std::size_t blocks : compare::kLooks) {
    const auto runs = first_of(drawn, blocks);
    const compare::Settings settings{
        .margin = margin, .design = compare::Design::blocks, .looks = compare::kLooks.size()};
    auto comparison = compare::compare(runs.a, runs.b, settings);
    if (blocks == compare::kLooks.back() ||
        std::ranges::none_of(comparison->cells, [](const compare::CellResult& cell) {
          return cell.decision == Decision::undecided;
        }))
      return *std::move(comparison);
  }
  return {};
}

/// The share of draws of which `holds` is true.
template <class Holds>
double share(std::uint64_t seed, Holds holds) {
  SplitMix64 random(seed);
  int held = 0;
  for (int i = 0; i < kDraws; ++i) held += holds(random);
  return static_cast<double>(held) / kDraws;
}

/// The row furthest from .95.
double worst_coverage() {
  double worst = 0.95;
  std::uint64_t seed = 1;
  for (const double ratio : {1.0, 1.02, 1.1})
    for (const std::size_t blocks : {3, 6, 12, 24, 48}) {
      const double covered = share(seed++, [&](SplitMix64& random) {
        const auto comparison = compared(draw(random, blocks, ratio), 0.05);
        const auto& interval = *comparison.cells.front().test;
        return interval.low <= ratio && ratio <= interval.high;
      });
      if (std::abs(covered - 0.95) > std::abs(worst - 0.95)) worst = covered;
    }
  return worst;
}

/// The worst row with looks.
double worst_coverage_looks() {
  double worst = 1;
  std::uint64_t seed = 400;
  for (const double ratio : {1.0, 1.02, 1.1})
    worst = std::min(worst, share(seed++, [&](SplitMix64& random) {
                       const auto comparison = looked(draw(random, compare::kLooks.back(), ratio), 0.05);
                       const auto& interval = *comparison.cells.front().test;
                       return interval.low <= ratio && ratio <= interval.high;
                     }));
  return worst;
}

/// Any of 40 cells, at the look that ends it.
double false_differs_looks() {
  return share(500, [&](SplitMix64& random) {
    return looked(draw(random, compare::kLooks.back(), 1, 40), 0.02).decision() == Decision::differs;
  });
}

/// Of those undecided after 12 blocks with a forecast: blocks said over blocks that it took, the median.
double forecast_ratio() {
  constexpr std::size_t kMost = 240;
  std::vector<double> ratios;
  SplitMix64 random(600);
  for (int i = 0; i < kDraws; ++i) {
    const auto drawn = draw(random, kMost, 1.02);
    const auto early = compared(first_of(drawn, 12), 0.01);
    const auto& needed = early.cells.front().needed;
    if (!needed) continue;
    std::size_t took = kMost;
    for (std::size_t blocks = 13; blocks < kMost; ++blocks)
      if (compared(first_of(drawn, blocks), 0.01).decision() != Decision::undecided) {
        took = blocks;
        break;
      }
    ratios.push_back(static_cast<double>(12 + *needed) / static_cast<double>(took));
  }
  std::ranges::sort(ratios);
  return ratios[ratios.size() / 2];
}

/// The share of comparisons whose largest share goes to the layer of the cause that was put in; the worst
/// cause.
double layers_right() {
  constexpr int kOfCause = 200;
  constexpr int kBlocks = 12;  // after six some causes are not proven yet, and blocks are added
  double worst = 1;
  SplitMix64 random(700);
  for (const auto& cause : one_cause_each()) {
    int right = 0;
    for (int i = 0; i < kOfCause; ++i) {
      const auto made = compare_sites({}, cause.site, random, 0.035, kBlocks);
      const compare::Reasons* reasons = made.find(cause.cell);
      right += reasons && !reasons->layers.empty() && reasons->layers.front().layer == cause.layer;
    }
    worst = std::min(worst, static_cast<double>(right) / kOfCause);
  }
  return worst;
}

/// The share of draws in which B, measured around three noons, is said to differ from A, measured around the
/// clock for 14 days, on a fabric that is 2 % slower at noon than at midnight.
double differs_by_day(std::uint64_t seed, double ratio, bool with_times) {
  return share(seed, [&](SplitMix64& random) {
    auto sides = DayRuns{.ratio = ratio, .noise = 0.01}.draw(random);
    if (!with_times)
      for (Run& run : sides.b) run.moment.reset();
    if (!with_times)
      for (Run& run : sides.a) run.moment.reset();
    return compare::compare(sides.a, sides.b, {.margin = 0.005})->cells.front().proven();
  });
}

double seconds_of_a_million() {
  SplitMix64 random(800);
  const auto drawn = draw(random, 125, 1.01, 2000);  // 250 runs a side, 2,000 cells
  const auto began = std::clock();                   // of this process alone: the machine may be busy
  const auto comparison = compared(drawn, 0.05);
  const double took = static_cast<double>(std::clock() - began) / CLOCKS_PER_SEC;
  return comparison.cells.size() == 2000 ? took : 1e9;
}

double decided(std::uint64_t seed, std::size_t blocks, double ratio, double margin, Decision as,
               std::size_t cells = 1) {
  return share(seed, [&](SplitMix64& random) {
    return compared(draw(random, blocks, ratio, cells), margin).decision() == as;
  });
}

int run() {
  bench::Figures figures("compare");
  figures.add("coverage_95", worst_coverage(), ".93 to .97");
  figures.add("false_differs", decided(100, 12, 1, 0.001, Decision::differs, 40), "at most .06");
  figures.add("equal_12_blocks", decided(200, 12, 1, 0.05, Decision::equal), "at least .95");
  figures.add("power_2pct_40_blocks", decided(300, 40, 1.02, 0.01, Decision::differs), "at least .90");
  figures.add("coverage_95_looks", worst_coverage_looks(), "at least .94");
  figures.add("false_differs_looks", false_differs_looks(), "at most .06");
  figures.add("undecided_forecast", forecast_ratio(), ".75 to 1.35");
  figures.add("layers_right", layers_right(), "at least .95");
  figures.add("noon_dip_differs", differs_by_day(900, 1, true), "at most .06");
  figures.add("noon_dip_differs_uncorrected", differs_by_day(901, 1, false), "told beside it");
  figures.add("power_beside_noon_dip", differs_by_day(902, 0.98, true), "at least .90");
  figures.add("compare_1m_samples_s", seconds_of_a_million(), "at most 1");
  return figures.write();
}

}  // namespace
}  // namespace weft

int main() { return weft::run(); }
