// Evaluations that are not a count of channels: a switch as one cause, hypotheses and their second round,
// classes where paths are known less well, causes told apart, speed.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "probes/diagnosis/diagnose.hpp"
#include "tests/bench/diagnosis/scenario.hpp"
#include "tests/bench/diagnosis/score.hpp"
#include "tests/bench/diagnosis/seeds.hpp"

namespace weft::bench {

/// Share of seeds in which a switch that loses packets of all its ports is named, and nothing else.
double switch_as_one(const Fabric& fabric, const Seeds& seeds);

struct Settled {
  std::size_t hypotheses = 0;
  std::size_t settled = 0;  // rightly: named where it is a fault, dropped where it is none
  double packets = 0;       // of the second round, against the first
};
/// Hypotheses of the scenario at the limit, after a second round of at most a tenth of the first one's
/// packets.
Settled settle_hypotheses(const Fabric& fabric, const Seeds& seeds);

struct ClassScore {
  std::size_t faults = 0;
  std::size_t right = 0;                 // the fault stands in a named channel or class
  std::size_t wrong = 0;                 // named channels and classes without a fault
  std::size_t members = 0;               // channels of all right answers together
  std::size_t answers = 0;               // right ones
  std::array<std::size_t, 4> in_band{};  // as in Score
  std::array<std::size_t, 4> right_in_band{};
};
ClassScore score_classes(const Fabric& fabric, const Scenario& scenario, const Seeds& seeds);

/// By true cause: by what was named (cause, "nothing", "wrong channel"), how often. A lab-sized fabric.
std::map<std::string, std::map<std::string, std::size_t>> confuse_causes(const Seeds& seeds);

struct Speed {
  double seconds_k10 = 0;
  double seconds_24576 = 0;
  double gb_24576 = 0;
  double read_lines_per_s = 0;
  double seconds_24576_half = 0;  // with half the paths: growth no faster than the path-channel pairs
};
Speed measure_speed();

}  // namespace weft::bench
