// How often the verdicts of a comparison are right: simulated truths, fixed seeds, 2,000 draws a row. The
// noise of one run is 3.5 %, with heavy tails (Student's t with 4 degrees of freedom) and autocorrelation
// (0.3 from run to run), on a drift of 0.1 % a run with a cycle of 2 %. Runs are taken as A, B, B, A.
#include <cmath>
#include <random>

#include "collectors/compare/comparison.hpp"
#include "tests/bench/support/figures.hpp"
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
  return figures.write();
}

}  // namespace
}  // namespace weft

int main() { return weft::run(); }
