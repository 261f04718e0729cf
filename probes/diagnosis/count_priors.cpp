#include <algorithm>
#include <cmath>

#include "probes/diagnosis/count_search.hpp"

namespace weft {
namespace {

// Prior numbers of faults in a whole fabric. What matters is their order: a large fabric has a few faulty
// channels, a small one seldom any; host cables are short and mostly copper; more rarely a switch or a host
// harms all that crosses it, or a channel harms large packets only. Tuned once, for calibration, on seeds
// apart from those of the benchmark (docs/diagnosis.md).
constexpr double kFaultyBetweenSwitches = 1.1;
constexpr double kFaultyAtHosts = 0.5;
constexpr double kFaultyNodes = 0.3;
constexpr double kMostOfAll = 0.005;
constexpr double kSizesToChannels = 0.1;

double a_share(double expected, double of) { return std::min(expected / std::max(of, 1.0), kMostOfAll); }

}  // namespace

CountPriors count_priors(const Fabric& fabric, const CountProblem& problem) {
  double between = 0;
  for (std::uint32_t link = 0; link < fabric.link_count(); ++link)
    between += fabric.between_switches(LinkId(link)) ? 2 : 0;
  const double at_hosts = static_cast<double>(fabric.channel_count()) - between;
  const double odds_between = a_share(kFaultyBetweenSwitches, between);
  const double odds_at_hosts = a_share(kFaultyAtHosts, at_hosts);
  const double odds_of_node = a_share(kFaultyNodes, static_cast<double>(fabric.node_count()));
  CountPriors priors;
  for (const Suspect& suspect : problem.suspects) {
    double odds = 0;
    for (const ChannelId channel : suspect.channels)
      odds += fabric.between_switches(channel) ? odds_between : odds_at_hosts;
    const bool switches = odds >= odds_between;
    std::uint8_t kind = switches ? 0 : 1;
    if (suspect.from_size) {
      odds *= kSizesToChannels;
      kind = 3;
    } else if (suspect.channels.empty()) {
      odds = odds_of_node;
      kind = 2;
    }
    priors.log_odds.push_back(std::log(std::min(odds, 0.5)));
    priors.kind.push_back(kind);
  }
  return priors;
}

}  // namespace weft
