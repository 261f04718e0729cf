#include "probes/diagnosis/counts/likeliest_hazards.hpp"

#include <algorithm>
#include <cmath>

#include "probes/diagnosis/counts/hazard_grid.hpp"

namespace weft::diagnosis {
namespace {

constexpr int kMaxTurns = 500;
constexpr int kMinTurns = 10;
constexpr int kTurnsBetweenLooks = 10;  // a look costs as much as a turn
constexpr double kMaxCells = 5e6;       // of rows and suspects, in all turns

/// What part of a hazard d a packet was exposed to that is known to be lost: until it was, the mean of an
/// exponential cut at 1. Equal to 1/d - 1/expm1(d), whose series is exact to ten digits below a tenth.
double exposure_of_lost(double d) {
  constexpr double kSmall = 0.1;
  return d < kSmall ? 0.5 - d / 12 + d * d * d / 720 : 1.0 / d - 1.0 / std::expm1(d);
}

}  // namespace

LikeliestHazards::LikeliestHazards(const CountProblem& problem, const std::vector<bool>& left_out,
                                   bool of_sizes)
    : problem_(problem) {
  const auto suspects = static_cast<std::uint32_t>(problem.suspects.size());
  survived_.resize(suspects, 0.0);
  hazard_.resize(suspects, 0.0);
  sums_.resize(suspects);
  for (std::uint32_t s = 0; s < suspects; ++s) {
    const Suspect& suspect = problem.suspects[s];
    survived_[s] = problem.survivors(s);
    const double crossed = problem.exposure(s);
    const bool takes_part = of_sizes ? !suspect.channels.empty() : suspect.is_channel();
    if (takes_part && crossed > 0 && !left_out[s])
      hazard_[s] = std::max(static_cast<double>(suspect.lost), 0.5) / crossed;
  }
  add_rows();
}

void LikeliestHazards::add_rows() {
  for (std::uint32_t row = 0; row < problem_.row_count(); ++row) {
    for (const auto& cell : problem_.suspects_of(row))
      if (hazard_[cell.index] > 0) table_.add_cell(cell.index, problem_.shares[cell.share]);
    table_.add_row(problem_.k[row], kMinHazard + problem_.drop_hazard(row));
    lost_of_rows_ += problem_.k[row];
  }
}

/// One of expectation-maximisation. The slope of the log-likelihood in a hazard is (lost / hazard - exposed),
/// and hazards that fit best explain no more losses than there are: sum of survived x hazard <= lost.
void LikeliestHazards::turn() {
  for (std::uint32_t s = 0; s < sums_.size(); ++s) sums_[s] = {0, survived_[s]};
  std::uint32_t c = 0;
  for (const HazardRows::Row& row : table_.rows) {
    const double d = table_.path_hazard(row, c, hazard_);
    const double each = row.lost / d, exposure = row.lost * exposure_of_lost(d);
    for (; c < row.end; ++c) {
      Sums& sums = sums_[table_.cells[c].suspect];
      sums.lost += each * table_.cells[c].share;
      sums.exposed += exposure * table_.cells[c].share;
    }
  }
  double steepest = 0, of_the_dead = 0, reached = 0;
  for (std::uint32_t s = 0; s < hazard_.size(); ++s) {
    if (hazard_[s] <= 0) continue;
    const double slope = sums_[s].lost - sums_[s].exposed;
    reached += slope * hazard_[s];
    if (survived_[s] > 0)
      steepest = std::max(steepest, slope / survived_[s]);
    else
      of_the_dead += std::max(slope, 0.0) * HazardGrid::kAll;
    hazard_[s] = std::min(sums_[s].lost * hazard_[s] / std::max(sums_[s].exposed, 1e-9), HazardGrid::kAll);
  }
  most_missing_ = lost_of_rows_ * steepest + of_the_dead - reached;
}

int LikeliestHazards::affordable_turns() const {
  const double affordable = kMaxCells / (static_cast<double>(problem_.row_cells.size()) + 1.0);
  return std::clamp(static_cast<int>(affordable), kMinTurns, kMaxTurns);
}

void LikeliestHazards::settle() {
  for (int i = affordable_turns(); i > 0; --i) turn();
}

bool LikeliestHazards::can_reach(double wanted) {
  for (int left = affordable_turns(); left > 0;) {
    for (int i = 0; i < kTurnsBetweenLooks && left > 0; ++i, --left) turn();
    const double reached = log_likelihood();
    if (reached >= wanted) return true;
    // Turns only raise it: what was missing before the last one is no less than what is missing now.
    if (reached + most_missing_ < wanted) return false;
  }
  return false;
}

double LikeliestHazards::log_likelihood() const {
  double fits = 0;
  std::uint32_t first = 0;
  for (const HazardRows::Row& row : table_.rows) {
    fits += row.lost * std::log(-std::expm1(-table_.path_hazard(row, first, hazard_)));
    first = row.end;
  }
  for (std::uint32_t s = 0; s < hazard_.size(); ++s) fits -= survived_[s] * hazard_[s];
  return fits;
}

}  // namespace weft::diagnosis
