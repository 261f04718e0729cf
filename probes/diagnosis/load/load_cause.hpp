// Load cause: whether a channel that holds flows back is itself slow, or shared with other traffic. A slow
// one passes min(o, r) in every round, to within the noise of the measurement, whatever is offered. Of one of
// capacity C that carries other traffic x besides, flows that offer o get about o C / (o + x), which grows
// with o; and only about: whose packets a full queue drops is a matter of phase (Floyd and Jacobson, "Traffic
// phase effects in packet-switched gateways", 1991), so rounds scatter far more than a slow channel's do.
#pragma once

#include <algorithm>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "topology/base/units.hpp"
#include "topology/findings/observation.hpp"
#include "topology/findings/verdict.hpp"

namespace weft::diagnosis {

/// One way in which a channel may pass load: at most `capacity`, `other` of it taken by other traffic.
struct Passing {
  double capacity = 0;
  double other = 0;
  double share(double offered) const {
    return offered > 0 ? std::min(1.0, capacity / (offered + other)) : 1.0;
  }
};

/// What all flows over a channel offered and got in one round in which nothing else held them back, as shares
/// of the channel's capacity. Together: a queue that overflows does not drop from all flows alike, so only
/// their sum tells what the channel passes.
struct PressedRound {
  double offered = 0;
  double got = 0;
};

struct CauseFit {
  double log_likelihood =
      0;         // nats; of the rounds' `got`, averaged over the ways that the cause can pass load
  Passing best;  // as shares of the capacity
};

/// `cause`: rate or congestion. `noise`: scale of the scatter of what a flow gets, as a share of the
/// capacity.
CauseFit fit_cause(Cause cause, std::span<const PressedRound> rounds, double noise);

/// The rounds by a slow cable that comes and goes: each is held back for a part of its time, which may be
/// none or all of it.
CauseFit fit_rate_at_times(std::span<const PressedRound> rounds, double noise);

/// True when the offers of the rounds differ enough for the two causes to predict different things.
bool offers_differ(std::span<const PressedRound> rounds);

/// As "of 20M offered 20M arrived, of 47.5M 25M, of 95M 25M": rounds of about the same offer are one, and of
/// many different ones the least, the middle and the most are told. `capacity`: of which the rounds are
/// shares.
std::string offers_in_words(std::vector<PressedRound> rounds, Bandwidth capacity);

/// How long the slowest small probes over a channel were on their way while weft sent no load. Other traffic
/// makes some of them wait behind it, even where it leaves the middle one alone; a cable that is merely slow
/// does not.
class Waits {
 public:
  /// The observations must outlive this.
  explicit Waits(const Observations& observations);

  /// ln P(the p99 of its round trips | other traffic) - ln P(... | none), in nats; 0 where it was not
  /// measured.
  double log_ratio(ChannelId channel) const;

 private:
  const Observations& observations_;
  double usual_ = 0;   // median over all round trips of ln(p99 / us)
  double spread_ = 0;  // its robust standard deviation
  mutable std::map<ChannelId, double> known_;
};

}  // namespace weft::diagnosis
