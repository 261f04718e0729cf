// The values of a hazard at which likelihoods are tabulated, and the priors over them. A hazard d is the loss
// of a suspect on the scale on which losses along a path add: loss = 1 - exp(-d). Point 0 is no loss at all,
// the last one is a loss of everything; the others rise geometrically.
#pragma once

#include <cstddef>
#include <vector>

namespace weft::diagnosis {

/// A path's hazard is never quite zero.
inline constexpr double kMinHazard = 1e-12;

class HazardGrid {
 public:
  /// Fine enough for backgrounds around `background` (above zero).
  explicit HazardGrid(double background);

  /// From one point to the next: finer than the width of a likelihood of ten losses (30 %).
  static constexpr double kStep = 1.4;
  static constexpr double kAll = 20.0;  // exp(-20): nothing passes
  std::size_t size() const { return hazards_.size(); }
  double hazard(std::size_t point) const { return hazards_[point]; }
  const std::vector<double>& hazards() const { return hazards_; }
  /// The point nearest to a hazard above zero, by their ratio.
  std::size_t nearest(double hazard) const;

  /// Prior mass of a healthy hazard: gamma of this mean and shape (variance mean^2 / shape).
  std::vector<double> healthy(double mean, double shape) const;
  /// Prior mass of a faulty hazard: from `floor` up, small losses likelier than large ones (of the links with
  /// loss in data centres, few lose more than one in a thousand: Zhuo et al., SIGCOMM 2017, table 1), and a
  /// share of it stands for a cable that carries nothing.
  std::vector<double> faulty(double floor) const;

 private:
  std::vector<double> hazards_;
};

}  // namespace weft::diagnosis
