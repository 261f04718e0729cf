// Two fabrics compared by what runs on them measured: cell by cell the ratio B/A with its interval, and one
// verdict, the first that holds: equal within the margin, differs, undecided. Pure.
//
// Of runs without blocks the run is the unit (Welch's t of its medians), of blocks the block (Student's t of
// the log-ratios of block medians). "Differs" is tested over all cells together (Holm).
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "collectors/compare/run.hpp"
#include "topology/base/result.hpp"

namespace weft::compare {

inline constexpr std::size_t kMinUnits = 3;  // runs a side, or blocks: fewer tell no spread worth the name
inline constexpr double kLevel = 0.05;       // of intervals and of each test

enum class Design {
  runs,    // each run stands for itself
  blocks,  // runs were taken as A, B, B, A: the k-th block has the runs 2k-1 and 2k of each side
};

enum class Decision { equal, differs, undecided };
std::string_view to_string(Decision decision);

struct Side {
  double mean = 0;        // geometric, over units, in the metric's unit
  std::size_t units = 0;  // runs, or blocks
  double spread = 1;      // the largest unit over the smallest
};

struct CellResult {
  struct Interval {
    double low = 0;
    double high = 0;
  };
  Cell cell;
  Side a;
  Side b;
  double ratio = 1;                       // B/A
  std::optional<Interval> interval = {};  // of the ratio, 95 %; absent: too few units, or no spread
  std::optional<double> p = {};           // of "B is A", adjusted for all cells
  Decision decision = Decision::undecided;
  bool proven = false;                     // a difference, be it within the margin
  std::optional<double> least_shown = {};  // the least advantage that these units could have proven
  std::optional<std::size_t> needed = {};  // more units (runs a side) that would decide; of the undecided
};

/// How much better the better side is: 0.05 is 5 %, whichever side it is.
double advantage(double ratio);
/// 'A' or 'B'.
char better_side(Metric metric, double ratio);

struct Settings {
  double margin = 0.05;  // of an advantage; above 0
  Design design = Design::runs;
};

struct Comparison {
  Settings settings;
  std::vector<CellResult> cells;  // in the order of Cell
  std::vector<Cell> only_a;
  std::vector<Cell> only_b;
  /// Differs where one cell does, equal where all are.
  Decision decision = Decision::undecided;
};

/// Errors: usage (blocks that do not fit the runs), invalid_input (no cell on both sides, a value that is not
/// above zero and finite).
Result<Comparison> compare(std::span<const Run> a, std::span<const Run> b, const Settings& settings);

}  // namespace weft::compare
