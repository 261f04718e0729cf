// The search for what caused the losses: which suspects are faulty, several at once, and how sure that is.
// It climbs (count_climb) from no fault and from the likeliest hazards of all channels at once; of the ends
// the most probable counts. Then it asks what else explains the same (exchanges).
#pragma once

#include "probes/diagnosis/counts/count_state.hpp"
#include "topology/findings/diagnosis.hpp"

namespace weft::diagnosis {

/// From this probability on a group of rivals is an open question: a run with one is not healthy.
inline constexpr double kOpen = 0.2;

/// One suspect that is faulty, or may be.
struct Suspicion {
  std::uint32_t suspect = 0;
  double probability = 0;  // posterior
  double loss = 0;         // estimate of the share it loses if faulty, and its 95 % interval
  double low = 0;
  double high = 0;
  double in_bursts = 0;  // of the loss, the share that comes in bursts
};

struct CountResult {
  std::vector<Suspicion> suspicions;  // likeliest first; those above a small probability
  /// Suspicions that stand for the same losses: if one is right the others are not. Indices into suspicions;
  /// each suspicion in exactly one.
  std::vector<std::vector<std::uint32_t>> rivals;
  /// Faults all of which may be replaced by others at no cost: alternatives, each of suspects that are all
  /// faulty then. The first is the one that the suspicions tell.
  std::vector<std::vector<std::vector<std::uint32_t>>> alternatives;
  /// Where nothing else is an open question: the groups that are not unlikely enough for a healthy run.
  std::vector<std::vector<std::uint32_t>> doubted;
  CountModel::Learned background;
  double even_loss = 0;  // of every channel, where the whole fabric loses alike; its probability is above .9
  AccountLine account;   // of the losses, by what is likelier than not
  /// That a suspicion (an index into suspicions) or one of its rivals is right.
  double with_rivals(std::uint32_t suspicion) const;
  /// Of what was found, something that alternatives may replace.
  bool is_in_alternatives(std::uint32_t suspect) const;
};

/// `tolerated`: the loss of a healthy channel. `named_from`: the probability from which on a suspicion counts
/// as found. `with_exchanges`: what else explains the same is asked, for the alternatives. `is_over`: see
/// AssessOptions.
CountResult search_counts(const CountProblem& problem, const CountPriors& priors, double tolerated,
                          double named_from, bool with_exchanges, const std::function<bool()>& is_over = {});

}  // namespace weft::diagnosis
