// Random times and counts from streams that belong to what they are drawn for: the same seed and the same key
// give the same numbers on every machine, whatever else is drawn.
#pragma once

#include <initializer_list>
#include <vector>

#include "topology/base/splitmix.hpp"
#include "topology/files/rates.hpp"

namespace weft::reliability {

class Stream {
 public:
  /// A stream of its own for each key: (seed, history, class, part).
  explicit Stream(std::initializer_list<std::uint64_t> key);

  double uniform();      // above 0, below 1
  double exponential();  // of mean 1
  double normal();
  /// Of this shape (above 0) and scale 1 (Marsaglia and Tsang, ACM TOMS 26, 2000).
  double gamma(double shape);
  std::uint64_t poisson(double mean);
  std::uint64_t below(std::uint64_t bound) {
    return static_cast<std::uint64_t>(uniform() * static_cast<double>(bound));
  }
  std::uint64_t bits() { return random_(); }

 private:
  SplitMix64 random_;
};

Hours draw_repair(Stream& stream, const std::vector<files::RepairTime>& repair);

}  // namespace weft::reliability
