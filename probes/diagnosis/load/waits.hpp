// Waits: how long the slowest small probes over a channel were on their way while weft sent no load. Other
// traffic makes some of them wait behind it, even where it leaves the middle one alone; a cable that is
// merely slow does not.
#pragma once

#include <map>

#include "topology/findings/observation.hpp"

namespace weft {

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

}  // namespace weft
