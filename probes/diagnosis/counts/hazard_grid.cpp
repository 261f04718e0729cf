#include "probes/diagnosis/counts/hazard_grid.hpp"

#include <algorithm>
#include <cmath>

namespace weft::diagnosis {
namespace {

constexpr double kLowest = 1e-8;   // hazard: no run sends enough to see less
constexpr double kDownMass = 0.1;  // of faults, those that carry nothing
constexpr double kThinning = 0.5;  // prior mass of an order of magnitude falls with loss^-kThinning

void normalise(std::vector<double>& mass) {
  double total = 0;
  for (const double m : mass) total += m;
  for (double& m : mass) m /= total;
}

}  // namespace

HazardGrid::HazardGrid(double background) {
  const double lowest = std::max(background / 50.0, kLowest);
  hazards_.push_back(0.0);
  for (double d = lowest; d < kAll; d *= kStep) hazards_.push_back(d);
  hazards_.push_back(kAll);
}

std::size_t HazardGrid::nearest(double hazard) const {
  const auto above = std::ranges::lower_bound(hazards_.begin() + 1, hazards_.end() - 1, hazard);
  const auto point = static_cast<std::size_t>(above - hazards_.begin());
  return point > 1 && hazard * hazard < hazards_[point - 1] * hazards_[point] ? point - 1 : point;
}

std::vector<double> HazardGrid::healthy(double mean, double shape) const {
  std::vector<double> mass(size(), 0.0);
  const double rate = shape / mean;
  const double scale = std::lgamma(shape);
  for (std::size_t g = 1; g < size(); ++g)
    mass[g] = std::exp(shape * std::log(rate * hazards_[g]) - rate * hazards_[g] - scale) * std::log(kStep);
  // Below the first point the gamma's distribution function is (rate d)^shape / Gamma(shape + 1).
  mass[0] = std::exp(shape * std::log(rate * hazards_[1] / std::sqrt(kStep)) - std::lgamma(shape + 1));
  normalise(mass);
  return mass;
}

std::vector<double> HazardGrid::faulty(double floor) const {
  std::vector<double> mass(size(), 0.0);
  for (std::size_t g = 1; g + 1 < size(); ++g)
    mass[g] = std::clamp(std::log(hazards_[g] / floor) / std::log(2.0), 0.0, 1.0) *
              std::pow(hazards_[g] / floor, -kThinning);
  normalise(mass);
  for (double& m : mass) m *= 1.0 - kDownMass;
  mass.back() += kDownMass;
  return mass;
}

}  // namespace weft::diagnosis
