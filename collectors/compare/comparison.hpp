// Two fabrics compared by what runs on them measured: cell by cell the ratio B/A with its interval, and one
// verdict, the first that holds: equal within the margin, differs, undecided. Pure.
//
// Of runs without blocks the run is the unit (Welch's t of logarithms), of blocks the block (Student's t of
// log-ratios; a block is the mean of the logarithms of its two runs). "Differs" is tested over all cells
// together (Holm). Where all runs without blocks tell when they were taken, over two days at least, the ratio
// is without their daily cycle (daily_cycle.hpp).
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string_view>

#include "collectors/compare/daily_cycle.hpp"
#include "topology/base/result.hpp"

namespace weft::compare {

inline constexpr std::size_t kMinUnits = 3;  // runs a side, or blocks: fewer tell no spread worth the name
inline constexpr double kLevel = 0.05;       // of intervals and of each test, over all looks together
/// Where blocks are added until all is decided: after so many is looked, each look with its share of the
/// level (Bonferroni; the looks are planned before the first block).
inline constexpr std::array<std::size_t, 5> kLooks{6, 12, 24, 48, 96};

enum class Design {
  runs,    // each run stands for itself
  blocks,  // runs were taken as A, B, B, A: the k-th block has the runs 2k-1 and 2k of each side
};

enum class Decision { equal, differs, undecided };
std::string_view to_string(Decision decision);

struct Side {
  double mean = 0;                                 // geometric, over units, in the metric's unit
  std::size_t units = 0;                           // runs, or blocks
  double spread = 1;                               // the largest unit over the smallest
  std::vector<std::optional<double>> values = {};  // of each run of the side; none: not told
};

struct CellResult {
  struct Test {
    double low = 0;  // the interval of the ratio: 95 %, over all looks together
    double high = 0;
    double p = 1;            // of "B is A", adjusted for all cells and looks
    double least_shown = 0;  // the least advantage that these units could have proven
  };
  Cell cell;
  Side a;
  Side b;
  std::optional<Test> test = {};  // absent: too few units, or no spread
  Decision decision = Decision::undecided;
  std::optional<std::size_t> needed = {};  // more units (runs a side) that would decide; of the undecided
  std::optional<DailyCycle> cycle = {};    // of runs with times: the ratio and its test are without it
  double corrected = 0;                    // that ratio; 0: none
  std::vector<double> blocks = {};         // B/A of each, in the order in which they ran; none of runs

  double ratio() const { return corrected > 0 ? corrected : b.mean / a.mean; }
  /// A difference is, be it within the margin.
  bool proven() const { return test && test->p < kLevel; }
};

/// A difference of what arrives that does not matter, where the margin of all else is wider: from a loss of
/// 1e-3 on go-back-N transports lose goodput (Mittal et al., SIGCOMM 2018, figure 9).
inline constexpr double kArrivedMargin = 0.001;

/// How much better the better side is: 0.05 is 5 %, whichever side it is.
double advantage(double ratio);
/// 'A' or 'B'.
char better_side(Metric metric, double ratio);

struct Settings {
  double margin = 0.05;  // of an advantage; above 0
  Design design = Design::runs;
  std::size_t looks = 1;  // planned, of which this is one: each test and interval has its share of the level
  double level() const { return kLevel / static_cast<double>(looks); }
  double margin_of(Metric metric) const {
    return metric == Metric::arrived ? std::min(margin, kArrivedMargin) : margin;
  }
};

/// What one side should have measured and did not.
struct Losses {
  std::vector<Cell> missing;   // cells that the other side alone has
  std::size_t wrong_rows = 0;  // rows with wrong results
  // Runs that lack a size that another run of this side has of the same work, or have a table without rows.
  std::size_t incomplete_runs = 0;
  bool none() const { return missing.empty() && wrong_rows == 0 && incomplete_runs == 0; }
};

struct Comparison {
  Settings settings;
  std::vector<CellResult> cells;  // in the order of Cell
  Losses a;
  Losses b;
  std::vector<std::string> remarks;  // on both sides together, a sentence each

  /// Differs where one cell does, equal where all are and neither side lost anything: a fabric on which jobs
  /// die is not equal to one on which they do not.
  Decision decision() const;
};

/// Errors: usage (blocks that do not fit the runs), invalid_input (no cell on both sides, a value that is not
/// above zero and finite).
Result<Comparison> compare(std::span<const Run> a, std::span<const Run> b, const Settings& settings);

}  // namespace weft::compare
