// CountState: which hazards of a CountModel are taken as faults, what speaks for and against each, and what
// the whole is worth. The moves of the search (count_search) are made here; one thread.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "probes/diagnosis/counts/count_model.hpp"

namespace weft::diagnosis {

/// Switch channels, host channels, nodes, sizes; then the bursts of these.
inline constexpr std::size_t kSuspectKinds = 8;

/// Log of prior odds of a fault by hazard of the model (single losses, then bursts); see count_priors.cpp.
struct CountPriors {
  std::vector<double> log_odds;    // further evidence included
  std::vector<std::uint8_t> kind;  // one of kSuspectKinds; faults of one kind come in crowds
  /// By suspect: ln of how many times likelier, or less likely, signs make it that it loses everything.
  std::vector<double> dead;
  /// By suspect: those that hold the other directions of its cables. A cable that is bad one way is often bad
  /// the other way too.
  std::vector<std::vector<std::uint32_t>> reverse;
  /// A switch, for harm to all packets or to those of one size and more: the suspect that is the switch
  /// itself, and by tier of its neighbours those of the channels that enter it from there and that leave it
  /// to there.
  struct Around {
    struct Side {
      std::vector<std::uint32_t> in, out;
    };
    std::optional<std::uint32_t> itself;
    std::vector<Side> sides;
  };
  std::vector<Around> switches;
  /// How many channels of a kind there are, and how many of them are expected to be faulty.
  struct Kind {
    double all = 0, expected = 0;
    bool of_cables = false;  // else nodes and sizes
  };
  std::array<Kind, kSuspectKinds> kinds = {};
  /// By suspect: the host that it is, or that all of its channels begin or end at.
  std::vector<std::optional<NodeId>> host;
  /// By suspect: all hosts that it is or may be, or at which one of its channels begins or ends.
  std::vector<std::vector<NodeId>> hosts;
};
/// Of bad cables, those bad in both directions are common: one in ten of the others' odds is even.
inline constexpr double kOtherDirection = 0.1;

/// `signs` multiply the odds of the suspects they belong to, as far as they are of what is counted, and so do
/// `counting.counted_nats`. `counting.log_prior` is added to all log odds but those of signs.
CountPriors count_priors(const Fabric& fabric, const CountProblem& problem,
                         std::span<const ChannelEvidence> signs, const Counting& counting = {});
/// What `bad` other cables of a kind add to the odds of one more, beyond what their number does by itself:
/// 1 + bad times those of the first (CountState::prior_of).
double log_odds_beside(const CountPriors::Kind& kind, double bad);
/// Of the other direction of a bad cable, where so many others are bad, `both_ways` of them in both
/// directions.
double log_odds_of_reverse(double both_ways, double others);
/// A sign that a channel passes something: that it is not dead.
inline bool speaks_against_dead(const ChannelEvidence& sign) {
  return sign.cause == Cause::down && sign.log_ratio < 0;
}
/// Known faults make it likelier that the other directions of their cables are bad too.
void expect_other_directions(const CountProblem& problem, std::span<const ChannelId> dead,
                             CountPriors& priors);

struct BadCables {
  std::array<double, kSuspectKinds> by_kind{};
  double all = 0, both_ways = 0;  // of those whose other direction is a suspect
};

class CountState {
 public:
  CountState(const CountProblem& problem, const CountPriors& priors, const BackgroundPrior& background);

  const CountModel& model() const { return model_; }
  const CountProblem& problem() const { return model_.problem(); }
  const CountPriors& priors() const { return priors_; }
  std::uint32_t hazards() const { return static_cast<std::uint32_t>(faulty_.size()); }
  bool is_faulty(std::uint32_t i) const { return faulty_[i]; }
  const std::vector<bool>& faulty() const { return faulty_; }
  const std::vector<std::uint32_t>& faults() const { return faults_; }

  bool all_faulty(std::span<const std::uint32_t> hazards) const {
    return std::ranges::all_of(hazards, [this](std::uint32_t i) { return is_faulty(i); });
  }
  bool any_faulty(std::span<const std::uint32_t> hazards) const {
    return std::ranges::any_of(hazards, [this](std::uint32_t i) { return is_faulty(i); });
  }
  /// Some there are, and none of these suspects loses packets in bursts.
  bool lose_singly(std::span<const std::uint32_t> hazards) const {
    return !hazards.empty() && std::ranges::none_of(hazards, [this](std::uint32_t i) {
      return model_.is_burst(i) || is_faulty(i + model_.suspects());
    });
  }
  /// Some there are, all of them hazards of bursts, and none of these suspects loses packets one by one.
  bool lose_in_bursts(std::span<const std::uint32_t> hazards) const {
    return !hazards.empty() && std::ranges::all_of(hazards, [this](std::uint32_t i) {
      return model_.is_burst(i) && !is_faulty(model_.suspect_of(i));
    });
  }

  /// The faults with their hazards, for a move that is tried and taken back.
  using Kept = std::vector<std::pair<std::uint32_t, double>>;
  Kept keep() const;
  void restore(const Kept& kept);
  /// The faults that are not among `kept`, ascending.
  std::vector<std::uint32_t> added_since(const Kept& kept) const;

  /// These suspects are out of the question until the next call; those that are faulty are removed.
  void forbid(std::span<const std::uint32_t> suspects);
  const std::vector<bool>& forbidden() const { return forbidden_; }
  /// Suspects whose channels all belong to this one; a node alone.
  std::vector<std::uint32_t> within(std::uint32_t suspect) const;

  /// Learns the background from what is healthy, and what faults are like from those known.
  void learn();
  void start_round();
  /// From here on a fault is any loss above what is tolerated, also one that is less than ten times the
  /// usual.
  void expect_faults_above_tolerated();
  void gather_crowds();

  void add(std::uint32_t i) { add(i, best_hazard(i)); }
  void add(std::uint32_t i, double hazard);
  void remove(std::uint32_t i);
  /// Removes every fault that is one no more, the weakest first, each judged with the ones before it gone.
  bool remove_refuted();
  void set_hazard(std::uint32_t i, double hazard);
  /// The most probable hazard if faulty.
  double best_hazard(std::uint32_t i);
  void refit(int sweeps);

  /// What speaks for a fault, the rest held, in nats: `gain` over its being healthy, whatever its healthy
  /// hazard; `weight` over the hazards as they stand, which is the same for all and so ranks rivals.
  struct Score {
    double gain = -1e9;
    double weight = -1e9;
  };
  Score score_of(std::uint32_t i);
  /// The same, kept until something changes; the least score where a fault is out of the question.
  const Score& refreshed(std::uint32_t i);
  /// As it was when it was last asked for.
  const Score& last_score(std::uint32_t i) const { return score_[i]; }
  void refresh_all() { std::ranges::fill(outdated_, kAllOutdated); }

  struct StandIn {
    Score score;
    std::uint32_t hazard = 0;
  };
  /// What could stand in for `fault`, itself included, were it not known, best first. The state is left as it
  /// was.
  std::vector<StandIn> stand_ins(std::uint32_t fault);

  /// Log of the probability of the counts under the faults, every healthy channel losing as usual.
  double likelihood();
  /// Log of the posterior probability of counts and faults, up to a constant that all states of a problem
  /// share.
  double objective();

 private:
  static constexpr std::uint8_t kScore = 1, kFit = 2, kAllOutdated = 15;
  std::uint8_t bit(std::uint32_t i, std::uint8_t what) const {
    return static_cast<std::uint8_t>(model_.is_burst(i) ? what << 2 : what);
  }
  bool is_outdated(std::uint32_t i, std::uint8_t what) const {
    return (outdated_[model_.suspect_of(i)] & bit(i, what)) != 0;
  }
  void brought_up_to_date(std::uint32_t i, std::uint8_t what) {
    outdated_[model_.suspect_of(i)] &= static_cast<std::uint8_t>(~bit(i, what));
  }
  void expect_faults_from(double floor);
  double log_odds(std::uint32_t i) const;
  void mark(std::uint32_t i, bool faulty);
  bool has_bad_reverse(std::uint32_t i) const;
  const BadCables& bad_cables() const;
  std::span<const double> prior_of(std::uint32_t i);
  /// Prior of a fault of a kind over the grid, none known.
  double log_signs(std::uint32_t i, std::size_t point) const;
  const std::vector<double>& prior_of_kind(std::uint8_t kind) const {
    return kind < kSuspectKinds / 2 ? fault_prior_ : burst_prior_;
  }
  void add_alike(std::uint8_t kind, std::vector<double>& prior, double hazard, double weight) const;
  double log_faulty(std::uint32_t i, std::span<const double> profile);
  struct Top {
    double hazard = 0;
    double height = 0;  // as the profile's
  };
  Top top_near(std::uint32_t i, std::span<const double> profile, std::size_t point) const;
  double at_hazard(std::span<const double> profile, double hazard) const;
  bool is_out_of_reach(std::uint32_t i, double weight) const;

  const CountPriors& priors_;
  BackgroundPrior background_;
  CountModel model_;
  double fault_from_ = 0;  // hazard of the least fault
  std::vector<double> fault_prior_;
  std::vector<double> burst_prior_;
  std::vector<bool> forbidden_;  // by suspect
  std::vector<bool> faulty_;
  mutable std::optional<BadCables> bad_cables_;  // once counted
  std::vector<std::uint32_t> faults_;
  std::array<std::vector<double>, kSuspectKinds> crowds_;   // prior of a fault by kind, with those known
  std::vector<std::pair<std::uint32_t, double>> in_crowd_;  // those in crowds_, with their hazards there
  std::vector<double> own_prior_;
  std::vector<Score> score_;
  /// By suspect: what of it (losing singly, or in bursts) was found before something changed that shares a
  /// lossy row with it.
  std::vector<std::uint8_t> outdated_;
};

}  // namespace weft::diagnosis
