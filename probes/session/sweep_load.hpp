// SweepLoad: which flows a sweep loads the fabric with: rounds over every channel (or a pattern), once more
// those that their senders held back, and rounds that press a suspect.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "probes/diagnosis/diagnose.hpp"
#include "probes/plan/load_plan.hpp"
#include "probes/session/stage.hpp"

namespace weft::session {

/// Channels that hold flows back, for all that is known.
std::set<ChannelId> slow_channels(const diagnosis::Assessment& assessment);

class SweepLoad {
 public:
  /// `in` and `results` outlive this and its stages.
  SweepLoad(const SweepInputs& in, SweepResults& results) : in_(&in), results_(&results) {}

  bool wanted() const { return in_->options.load != LoadLevel::none && !in_->options.mads_alone; }
  // Each null where nothing is to be loaded.
  std::unique_ptr<Stage> load();
  /// Flows that their senders held back tell nothing of the channels they cross; twice at most. Those of a
  /// pattern belong together and are not repeated: single flows load what these tell nothing of.
  std::unique_ptr<Stage> load_again();
  /// Rounds that tell suspects apart, show what channels behind culprits carry, repeat what nothing explains,
  /// and press culprits for their cause.
  std::unique_ptr<Stage> press(const diagnosis::Assessment& assessment);

  /// Why rounds were planned for none of some channels that could be loaded; `unloaded`: of whose rate no
  /// flow tells. Absent: each had its round.
  std::optional<std::string> left_out(const std::vector<ChannelId>& unloaded) const;

 private:
  std::unique_ptr<Stage> stage(std::vector<plan::LoadRound> rounds, bool keeps_results);
  std::size_t most_rounds() const;
  void add_repeats(const diagnosis::Hypothesis& hypothesis, std::vector<plan::LoadRound>& rounds) const;

  const SweepInputs* in_;
  SweepResults* results_;
  std::vector<plan::LoadRound> rounds_;
  std::map<ChannelId, int> pressed_;
  int loadings_ = 0;
  std::uint32_t rounds_run_ = 0;
};

}  // namespace weft::session
