#include "probes/diagnosis/counts/likeliest_hazards.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "probes/diagnosis/counts/hazard_grid.hpp"

namespace weft::diagnosis {
namespace {

constexpr int kMaxTurns = 500;
constexpr int kMinTurns = 10;
constexpr int kFirstTurns = 2;     // before the first look, which costs as much as some
constexpr double kMaxCells = 5e6;  // of rows and suspects, in all turns

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
  start_.resize(suspects, 0.0);
  for (std::uint32_t s = 0; s < suspects; ++s) {
    const Suspect& suspect = problem.suspects[s];
    survived_[s] = problem.survivors(s);
    const double crossed = problem.exposure(s);
    const bool takes_part = of_sizes ? !suspect.channels.empty() : suspect.is_channel();
    if (takes_part && crossed > 0 && !left_out[s])
      start_[s] = std::max(static_cast<double>(suspect.lost), 0.5) / crossed;
  }
  add_rows();
  begin();
}

LikeliestHazards LikeliestHazards::without(std::span<const std::uint32_t> suspects) const {
  LikeliestHazards rest = *this;
  for (const std::uint32_t s : suspects) rest.start_[s] = 0;
  rest.begin();
  return rest;
}

void LikeliestHazards::begin() {
  hazard_ = start_;
  sum_up();
  turns_ = 0;
  reached_ = -std::numeric_limits<double>::infinity();
  most_ = std::numeric_limits<double>::infinity();
}

void LikeliestHazards::add_rows() {
  for (std::uint32_t row = 0; row < problem_.row_count(); ++row) {
    for (const auto& cell : problem_.suspects_of(row))
      if (start_[cell.index] > 0) table_.add_cell(cell.index, problem_.shares[cell.share]);
    table_.add_row(problem_.k[row], kMinHazard + problem_.drop_hazard(row));
  }
}

/// For the hazards as they are. The slope of the log-likelihood in one is lost - exposed.
void LikeliestHazards::sum_up() {
  sums_.resize(hazard_.size());
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
}

/// One of expectation-maximisation.
void LikeliestHazards::turn() {
  for (std::uint32_t s = 0; s < hazard_.size(); ++s)
    if (hazard_[s] > 0)
      hazard_[s] = std::min(sums_[s].lost * hazard_[s] / std::max(sums_[s].exposed, 1e-9), HazardGrid::kAll);
  sum_up();
  ++turns_;
}

/// A row that lost k gains k ln(1 - exp(-d)) by its path's hazard d. Let each unit of hazard on the path cost
/// y instead of what survivors on it cost: where no suspect's rows ask for more than its survivors do, no
/// hazards are worth more than the rows one by one at their best, which is at exp(d) = 1 + k / y (weak
/// duality). Such costs are the slopes k / (exp(d) - 1) of the rows as they are, of each over the steepest of
/// its suspects; and never so high that a row's best were below the hazard that it has anyway.
void LikeliestHazards::look() {
  std::vector<double> slope(hazard_.size(), 0.0);  // of a suspect's rows, in units of what its survivors cost
  reached_ = most_ = 0;
  for (std::uint32_t s = 0; s < hazard_.size(); ++s) {
    if (start_[s] <= 0) continue;
    slope[s] = survived_[s] > 0 ? (sums_[s].lost - sums_[s].exposed) / survived_[s] + 1
                                : std::numeric_limits<double>::infinity();
    reached_ -= survived_[s] * hazard_[s];
  }
  std::uint32_t c = 0;
  for (const HazardRows::Row& row : table_.rows) {
    const double lost = -std::expm1(-table_.path_hazard(row, c, hazard_));
    double steepest = 0;
    for (; c < row.end; ++c) steepest = std::max(steepest, slope[table_.cells[c].suspect]);
    reached_ += row.lost * std::log(lost);
    const double y = row.lost * std::min((1.0 - lost) / lost / steepest, 1.0 / row.hazard);
    if (y > 0) most_ += y * row.hazard - row.lost * std::log1p(y / row.lost) - y * std::log1p(row.lost / y);
  }
}

int LikeliestHazards::affordable_turns() const {
  const double affordable = kMaxCells / (static_cast<double>(problem_.row_cells.size()) + 1.0);
  return std::clamp(static_cast<int>(affordable), kMinTurns, kMaxTurns);
}

void LikeliestHazards::settle() {
  for (int i = affordable_turns(); i > 0; --i) turn();
}

bool LikeliestHazards::go_on() {
  const int until = std::min(std::max(2 * turns_, kFirstTurns), affordable_turns());
  if (turns_ >= until) return false;
  while (turns_ < until) turn();
  look();
  return true;
}

}  // namespace weft::diagnosis
