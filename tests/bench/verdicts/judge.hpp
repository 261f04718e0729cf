// judge: what a diagnosis got right of the faults that were there, by what the rows tell of them.
//
// A faulty channel is `told` where the benchmark's own fit of all other channels of that kind is worse by 7
// nats without it: then it is to be named, with its direction. Of what is not told, a cable is `open` where
// the rows go with the faults that are there worse by 7 nats without it: then it is to be named or to stand
// in a fair set. What is neither is `hidden`: no row knows of it.
#pragma once

#include <array>

#include "tests/bench/verdicts/trial.hpp"

namespace weft::bench {

inline constexpr double kTold = 7;    // nats
inline constexpr double kAsGood = 3;  // nats: an alternative may be worse by this
inline constexpr std::size_t kMaxAlternatives = 6;

struct Share {
  std::size_t good = 0;
  std::size_t all = 0;
  void add(bool is_good) {
    good += is_good ? 1 : 0;
    ++all;
  }
  Share& operator+=(const Share& other) {
    good += other.good;
    all += other.all;
    return *this;
  }
  double value() const { return all == 0 ? 1.0 : static_cast<double>(good) / static_cast<double>(all); }
};

/// By cause of the fault: loss, down, rate, delay.
inline constexpr std::array kCausesDrawn{Cause::loss, Cause::down, Cause::rate, Cause::delay};
std::size_t index_of(Cause cause);

struct DrawnScore {
  std::size_t trials = 0;
  std::size_t false_healthy = 0;
  std::size_t false_healthy_hidden = 0;                   // of these, those whose faults no row knows of
  std::array<Share, kCausesDrawn.size()> told;            // of faulty channels, those that the rows tell
  std::array<Share, kCausesDrawn.size()> named;           // of the told
  std::array<Share, kCausesDrawn.size()> named_or_set;    // of the open cables
  std::array<std::size_t, kCausesDrawn.size()> hidden{};  // cables
  Share untested;                // of the hidden cables of rate faults, those said to be untested
  Share wrong_names;             // `good`: the wrong ones, of all names
  std::size_t wrong_causes = 0;  // of the wrong names, those of a channel with another fault
  std::size_t false_sets = 0;    // sets without a truth
  std::size_t cable_called_switch = 0;
  std::size_t sets = 0;          // with a truth
  std::size_t alternatives = 0;  // in these
  DrawnScore& operator+=(const DrawnScore& other);
  bool is_clean() const;
};

struct Judgement {
  DrawnScore score;
  std::vector<std::string> failures;  // in words: what was missed or wrong, and how many nats told it
};

/// `background`: what the most lossy healthy channel loses.
Judgement judge(const Fabric& fabric, const std::vector<DrawnFault>& faults, const Swept& swept,
                Fraction background = {});

/// What was found, a line each.
std::vector<std::string> words_of(const Fabric& fabric, const Diagnosis& diagnosis);

}  // namespace weft::bench
