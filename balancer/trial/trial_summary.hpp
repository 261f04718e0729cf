// What a trial comes to: medians, how far the links' counters are from the plan, and what is not as it should
// be.
#pragma once

#include <string>

#include "balancer/trial/balance_trial.hpp"
#include "balancer/trial/trial_sending.hpp"

namespace weft::trial {

/// Medians over the repeats; seconds.
struct TrialTimes {
  double measured = 0;
  double predicted = 0;
  double by_packets = 0;         // by the packet mode; 0: left out
  std::uint64_t packets = 0;     // of one sending
  std::uint64_t sent_again = 0;  // over all repeats
  std::uint64_t unfinished = 0;  // QPs, over all repeats
};

struct ChannelBytes {
  ChannelId channel;
  double planned = 0;
  double counted = 0;
};

struct TrialSummary {
  TrialTimes steered;
  TrialTimes hashed;
  double gain_measured = 0;  // random over assigned
  double gain_predicted = 0;
  std::size_t channels = 0;           // that carried assigned flows
  std::optional<ChannelBytes> worst;  // of these and of all that should have carried none, over all repeats
  std::vector<std::string> complaints;
};

TrialSummary summarize(const Fabric& fabric, const TrialOptions& options, const BalanceTrial& trial);

/// Counted in both directions of `link`.
double bytes_over(const TrialSending& sending, LinkId link);

}  // namespace weft::trial
