// SweepPings: which pings a sweep sends, how large and how many: over every known path, then of sizes between
// where large ones vanish, then more over what is suspected.
#pragma once

#include <memory>

#include "probes/diagnosis/diagnose.hpp"
#include "probes/plan/ping_plan.hpp"
#include "probes/session/stage.hpp"

namespace weft::session {

/// Small probes carry no payload to speak of.
inline constexpr Bytes kSmallProbe(128);

class SweepPings {
 public:
  /// `in` and `results` outlive this and its stages.
  SweepPings(const SweepInputs& in, SweepResults& results) : in_(&in), results_(&results) {}

  /// Every path that is known by now, with small and with large packets.
  std::vector<std::unique_ptr<Stage>> probe();
  /// Where large packets all vanished on a way that small ones pass: the sizes between, which say where the
  /// black hole begins.
  std::vector<std::unique_ptr<Stage>> size();
  /// As many over each suspected channel as the hypothesis asks for, by pings that cross no other of its
  /// channels where there are such.
  std::vector<std::unique_ptr<Stage>> settle(const std::vector<diagnosis::Hypothesis>& hypotheses);

 private:
  std::unique_ptr<Stage> stage(const std::vector<plan::PlannedPing>& pings, Bytes size,
                               double packets_per_second, double share) const;
  double large_probes_per_second() const;

  const SweepInputs* in_;
  SweepResults* results_;
  std::vector<plan::PlannedPing> pings_;
};

}  // namespace weft::session
