// A sparse fit of non-negative shifts to late round trips: which few causes, each with one shift, explain all
// rows at once. Starts from the shifts of all candidates at once and prunes, then adds, drops and swaps
// causes until nothing gains. Knows rows and columns only; delay.cpp says what they stand for.
#pragma once

#include <cstdint>
#include <vector>

namespace weft::diagnosis {

class DelayFit {
 public:
  struct Entry {
    std::uint32_t row = 0;
    double weight = 1;  // how often the row crosses the cause
    bool operator==(const Entry&) const = default;
  };
  struct Column {
    std::vector<Entry> entries;  // rows ascending
    double cost = 0;             // nats: minus the log prior odds of such a cause
  };
  /// The cost of a column that is there, however little it takes to do without: a base.
  static constexpr double kThere = -20.0;
  struct Active {
    std::uint32_t column = 0;
    double shift = 0;    // at least 0
    double error = 0;    // standard error
    double against = 0;  // odds that neither this column nor one of `alternatives` is a cause
    std::vector<std::uint32_t> alternatives;  // columns that fit in its place about as well, best first
  };

  /// `late` and `noise` by row, in microseconds.
  DelayFit(std::vector<double> late, std::vector<double> noise, std::vector<Column> columns);

  std::vector<Active> solve() const;

  struct Solution {
    std::vector<std::uint32_t> support;  // ascending
    std::vector<double> shifts;
    std::vector<double> errors;
    double likelihood = 0;
    double score = -1e300;  // likelihood less the costs
  };
  /// `near`: a solution of nearly the same causes, if one is known.
  Solution fit(std::vector<std::uint32_t> support, const Solution* near) const;
  /// One cause less or more at a time, as long as the score rises; whether any did.
  bool prune(Solution& solution) const;
  bool grow(Solution& solution) const;

 private:
  struct Pivot {
    std::uint32_t column = 0;
    std::vector<std::uint32_t> replaced;
    Solution solution;
  };

  std::vector<double> residuals(const Solution& solution) const;
  std::vector<double> weights_of(const std::vector<double>& left, bool absolute) const;
  std::vector<std::int32_t> places(const std::vector<std::uint32_t>& support) const;
  std::vector<double> products(std::uint32_t column, const std::vector<std::int32_t>& place, std::size_t n,
                               const std::vector<double>& weights) const;
  std::vector<double> normal_matrix(const std::vector<std::uint32_t>& support,
                                    const std::vector<double>& weights) const;
  void solve_weighted(Solution& solution, const std::vector<double>& weights) const;
  void judge(Solution& solution, const std::vector<double>& weights) const;
  std::vector<std::uint32_t> all_at_once(bool sparse) const;
  /// Columns outside `support` by how much of `residual` they would explain, most first.
  std::vector<std::uint32_t> promising(const std::vector<std::uint32_t>& support,
                                       const std::vector<double>& residual, std::size_t most) const;
  bool swap(Solution& solution) const;
  Solution improve(std::vector<std::uint32_t> support) const;
  std::vector<Pivot> pivots(const Solution& solution) const;
  bool turn(Solution& solution) const;
  Active rivals_of(const Solution& solution, const std::vector<Pivot>& turns, std::size_t at) const;

  std::vector<double> late_;
  std::vector<double> noise_;
  std::vector<Column> columns_;
  std::vector<std::vector<Entry>> of_row_;  // Entry::row is a column here
};

}  // namespace weft::diagnosis
