// The hazards d of all channels at once that make the counts of a CountProblem likeliest, no bursts assumed:
// by expectation-maximisation (as in Vardi, JASA 1996), each lost packet shared out among the channels of its
// path by their hazards. The log-likelihood is concave, so its slopes tell how much better any others could
// fit (Lagrangian duality).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "probes/diagnosis/counts/count_problem.hpp"

namespace weft::diagnosis {

/// Lossy rows with those of their suspects that may have a hazard, in one piece: fits go over them hundreds
/// of times.
struct HazardRows {
  struct Row {
    double lost = 0;        // packets
    double hazard = 0;      // of what is no suspect
    std::uint32_t end = 0;  // of its cells
  };
  struct Cell {
    std::uint32_t suspect = 0;
    float share = 1;  // of the row's paths: a multiple of 1/128, see Crossings
  };
  std::vector<Row> rows;
  std::vector<Cell> cells;  // row by row

  void add_cell(std::uint32_t suspect, double share) {
    cells.push_back({suspect, static_cast<float>(share)});
  }
  /// After its cells.
  void add_row(double lost, double hazard) {
    rows.push_back({lost, hazard, static_cast<std::uint32_t>(cells.size())});
  }
  /// `first`: of the row's cells.
  double path_hazard(const Row& row, std::uint32_t first, const std::vector<double>& hazards) const {
    double d = row.hazard;
    for (std::uint32_t c = first; c < row.end; ++c) d += cells[c].share * hazards[cells[c].suspect];
    return d;
  }
};

class LikeliestHazards {
 public:
  /// `left_out`: by suspect. Suspects that are no channels have no hazard; with `of_sizes` those that harm
  /// large packets only have. The problem must outlive this.
  LikeliestHazards(const CountProblem& problem, const std::vector<bool>& left_out, bool of_sizes);
  /// The same fit without these suspects, from its start.
  LikeliestHazards without(std::span<const std::uint32_t> suspects) const;

  /// As many turns as are affordable.
  void settle();
  /// As many turns more as there were; false: no more are affordable.
  bool go_on();

  /// By suspect.
  const std::vector<double>& hazards() const { return hazard_; }
  /// Between these two is the highest log-likelihood of any hazards, up to a constant of the problem:
  /// `reached` by those after the last go_on(), `most` by none.
  double reached() const { return reached_; }
  double most() const { return most_; }

 private:
  /// Sums over the rows that a suspect is in.
  struct Sums {
    double lost = 0;     // in units of its hazard
    double exposed = 0;  // packets that passed, and the part of the lost ones until they were lost
  };

  void add_rows();
  void begin();
  void sum_up();
  void turn();
  void look();
  int affordable_turns() const;

  const CountProblem& problem_;
  HazardRows table_;
  std::vector<double> survived_;  // by suspect: packets, by their shares
  std::vector<double> start_;     // of the hazards
  std::vector<double> hazard_;
  std::vector<Sums> sums_;  // for these hazards
  int turns_ = 0;
  double reached_ = 0, most_ = 0;
};

}  // namespace weft::diagnosis
