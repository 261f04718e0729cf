// How rare bursts may be that a run shows.
#pragma once

namespace weft {

/// How many packets there may be, on average, from the start of a burst (ten packets in a row or more, all
/// lost) to that of the next, if the run is to meet one with .99; by the loss (share) that it shows of
/// packets lost one by one. Bursts begin at random, so one comes with .99 where 4.6 are to be expected
/// (e^-4.6 = .01), and three single packets where 8.4 are (coverage.hpp of the diagnosis). Rarer ones may all
/// fall outside of the run.
inline double packets_per_burst(double loss) {
  constexpr double kBursts = 4.61;
  constexpr double kSingles = 8.41;
  return kSingles / kBursts / loss;
}

}  // namespace weft
