// Cables of optical modules whose one direction loses packets, drawn from what light does on its way: powers
// and errors follow from the attenuation, not from what the estimator expects. Constants are this model's
// own; no repair was ever fitted. The oracle knows them all: no estimator can be right more often.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "topology/base/splitmix.hpp"
#include "topology/findings/repair.hpp"

namespace weft::bench::counters {

struct BrokenPart {
  RepairCause cause = RepairCause::dirty_connector;
  std::optional<bool> at_sender = std::nullopt;
  double share = 0;  // of all faults
};
/// All that can be broken; the shares add up to 1.
inline constexpr std::array kBrokenParts{BrokenPart{RepairCause::dirty_connector, true, 0.19},
                                         BrokenPart{RepairCause::dirty_connector, false, 0.19},
                                         BrokenPart{RepairCause::damaged_fibre, std::nullopt, 0.15},
                                         BrokenPart{RepairCause::weak_transmitter, true, 0.20},
                                         BrokenPart{RepairCause::bad_module, true, 0.085},
                                         BrokenPart{RepairCause::bad_module, false, 0.085},
                                         BrokenPart{RepairCause::shared_component, true, 0.05},
                                         BrokenPart{RepairCause::shared_component, false, 0.05}};

/// What happens to the light: dB that are missing (times `scale`), and decades of errors that are none of the
/// light's.
struct DrawnLight {
  double there = 0, back = 0, weak = 0;
  double noise_there = 0, noise_back = 0;
  double errors_there = 0, errors_back = 0;  // decades, before they are measured
};
DrawnLight draw_light(RepairCause cause, SplitMix64& random, double scale = 1);

/// Factors on the model's constants, for fabrics that are not as it says.
struct Stretch {
  double light = 1, spread = 1, errors = 1, flaps = 1, plugged = 1;
};
/// Each between 1/2 and 2, evenly in its logarithm.
Stretch draw_stretch(SplitMix64& random);

struct BrokenCable {
  explicit BrokenCable(std::uint64_t seed, const Stretch& stretch = {});
  BrokenPart truth;
  RepairSigns signs;
};

/// Bayes' rule with the model's own constants; what is hidden of the light is summed over draws of it.
class RepairOracle {
 public:
  RepairOracle();
  /// As diagnosis::repair_causes(), the likeliest first.
  std::vector<RepairGuess> guesses(const RepairSigns& signs) const;

 private:
  std::array<std::vector<DrawnLight>, kRepairCauses> lights_;
};

}  // namespace weft::bench::counters
