// Ageing: parts whose rate of failures changes with their age, by a Weibull law. A part that was repaired is
// new; more failures (a weight, an open rate) mean a larger hazard at every age.
#pragma once

#include "balancer/reliability/closed_form.hpp"
#include "topology/files/rates.hpp"

namespace weft::reliability {

/// Whether the rate changes with age: a shape of 1 does not age.
bool ages(const files::ClassRates& rates);

/// Of an ageing class, `factor` (above 0) times the hazard. Where the file says at which age counting began,
/// the counted events are those of these ages; otherwise the mean life is that of the counted rate.
Hours weibull_scale(const files::ClassRates& rates, double factor);

/// Time to the next failure of a part of this age, for an exponential draw of mean 1: the inverse of the
/// conditional survival.
Hours weibull_wait(Hours age, double shape, Hours scale, double exponential);

/// Failures that a part of the class has on average within `length` from now on, at the age that it has then;
/// the renewal equation, solved by Riemann and Stieltjes sums (Xie, "On the solution of renewal-type integral
/// equations", 1989). A repair takes its mean. Constant rates: rate x length.
double failures_a_part(const files::ClassRates& rates, Hours length);

/// What is known of the failures of so many parts within `length`.
CountSource failures_source(const files::ClassRates& rates, double parts, Hours length);

}  // namespace weft::reliability
