// Closed forms: what one rate of failures and independent parts would give. They stand beside the simulation
// and hold it to account where their assumptions are met.
#pragma once

#include <cstdint>
#include <vector>

#include "topology/model/failure_domain.hpp"

namespace weft::reliability {

/// Share of the time that moves the job on: t / (M e^(D/M) (e^((t+C)/M) - 1)); t between checkpoints of cost
/// C, D lost at each failure, M between failures (J. Daly, FGCS 22, 2006, equation 13, for a share). 0: no
/// cycle is ever completed, within what a double holds.
double efficiency(Hours t, Hours cost, Hours down, Hours mean_to_failure);

/// sqrt(2 C M) (J. Young, CACM 17, 1974).
Hours young_interval(Hours cost, Hours mean_to_failure);
/// Daly 2006, equation 37; M where C is at least 2 M.
Hours daly_interval(Hours cost, Hours mean_to_failure);

/// Time between sweeps that cost c each, for faults of this rate that slow the job by this share until they
/// are found: sqrt(2 c / (rate x slowdown)), as Young's.
Hours sweep_interval(Hours cost, double rate_per_hour, double slowdown);

/// P(X <= k) of a Poisson variable: hosts under repair where each repair has a crew (M/G/infinity: only the
/// mean of the repair time counts).
double poisson_at_most(std::uint64_t k, double mean);
/// The least k with P(X <= k) >= share, 0 < share < 1.
std::uint64_t poisson_quantile(double share, double mean);

/// What a rate may be at most, in failures an hour, after so many events (95 %, one-sided).
double rate_at_most(double events, Hours exposure);

struct CountForecast {
  double mean = 0;
  std::uint64_t low = 0, high = 0;  // 95 %
};
/// Of the sum of counts; each source has events in an exposure, and comes `share` times as often as they did:
/// a Poisson count whose rate is drawn from Gamma(events, exposure), so a negative binomial one. Exact to
/// about 1e-5 of probability; none where nothing can come.
struct CountSource {
  double events = 0;
  double share = 0;
};
CountForecast forecast_count(const std::vector<CountSource>& sources);
/// The count that is not passed with this probability.
std::uint64_t count_quantile(const std::vector<CountSource>& sources, double share);

}  // namespace weft::reliability
