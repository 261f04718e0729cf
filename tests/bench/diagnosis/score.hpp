// Scores: true and false names pooled over seeds, recall by information, stated against true probability.
#pragma once

#include <array>
#include <map>

#include "probes/diagnosis/diagnose.hpp"
#include "tests/bench/diagnosis/scenario.hpp"

namespace weft::bench {

/// What an engine named: channels (both of a link named without a direction).
struct Names {
  std::vector<ChannelId> channels;
  std::size_t others = 0;                            // hosts and groups named
  std::vector<std::pair<ChannelId, double>> stated;  // every finding of .5 and more, unknown ones too
};
Names names_of(const Diagnosis& diagnosis);

/// Nats by which the data tell each fault from its absence or its being in another channel, at the true
/// rates: the least, over removing it or swapping it for another channel, of sum n (l1 ln(l1/l0) - (l1 -
/// l0)), l the loss of an observation as it is (1) and as it would be (0). Of paths known as a set, a channel
/// counts with its share of them; channels that all observations cross alike are one class, and the swap is
/// for another class.
std::vector<double> information(const Fabric& fabric, const Run& run);

struct Score {
  static constexpr std::array kBands{0.0, 6.0, 10.0, 16.0};     // nats, from
  static constexpr std::array kBins{0.2, 0.5, 0.7, 0.9, 0.99};  // stated probability, from
  std::size_t seeds = 0;
  std::size_t faults = 0;
  std::size_t right = 0;
  std::size_t wrong = 0;
  std::size_t wrong_seeds = 0;
  std::array<std::size_t, 4> in_band{};
  std::array<std::size_t, 4> right_in_band{};
  std::array<std::size_t, 5> in_bin{};
  std::array<std::size_t, 5> true_in_bin{};
  std::array<double, 5> stated_in_bin{};
  std::size_t right_at_090 = 0;  // faults among what was stated with .9 and more, named or not

  /// `faults` by id, ascending, and the nats of each, or none.
  void add(const std::vector<ChannelId>& faults, const Names& names, const std::vector<double>& nats);
  static std::size_t band_of(double nats);
  double precision() const;
  double recall() const;
  double recall_in_band(std::size_t band) const;
  double f1() const;
};

}  // namespace weft::bench
