#include "balancer/reliability/offenders.hpp"

#include <algorithm>
#include <cmath>
#include <map>

namespace weft::reliability {
namespace {

constexpr int kMaxSteps = 2000;
constexpr double kSettled = 1e-10;
constexpr double kMinRatio = 3;       // less is no offender: no one would replace it
constexpr double kMaxRatio = 10'000;  // the most that a file of rates has

/// Parts with the same history are one row.
struct Row {
  double events, hours, parts;
};

std::vector<Row> rows_of(const std::vector<PartHistory>& parts) {
  std::map<std::pair<std::uint64_t, double>, double> counts;
  for (const PartHistory& each : parts)
    if (each.watched > Hours(0)) ++counts[{each.events, each.watched.count()}];
  std::vector<Row> rows;
  for (const auto& [key, count] : counts) rows.push_back({static_cast<double>(key.first), key.second, count});
  return rows;
}

/// Without the factorial, which all share.
double log_poisson(double events, double mean) { return events * std::log(mean) - mean; }

/// The probability that a part of this history is an offender.
double offender_of(double events, double hours, double rate, double share, double ratio) {
  if (share <= 0 || rate <= 0) return 0;
  const double odds = std::log(share / (1 - share)) + events * std::log(ratio) - rate * hours * (ratio - 1);
  return 1 / (1 + std::exp(-odds));
}

double log_likelihood(const std::vector<Row>& rows, double rate, double share, double ratio) {
  double sum = 0;
  for (const Row& each : rows) {
    const double usual = log_poisson(each.events, rate * each.hours);
    const double bad = log_poisson(each.events, rate * ratio * each.hours);
    const double most = std::max(usual, bad);
    sum +=
        each.parts * (most + std::log((1 - share) * std::exp(usual - most) + share * std::exp(bad - most)));
  }
  return sum;
}

/// Expectation and maximisation from this beginning.
OffenderFit climbed(const std::vector<Row>& rows, OffenderFit fit) {
  for (int step = 0; step < kMaxSteps; ++step) {
    double bad = 0, bad_events = 0, bad_hours = 0, events = 0, hours = 0, parts = 0;
    for (const Row& each : rows) {
      const double p =
          offender_of(each.events, each.hours, fit.rate, fit.offenders.share, fit.offenders.ratio);
      bad += each.parts * p, parts += each.parts;
      bad_events += each.parts * p * each.events, bad_hours += each.parts * p * each.hours;
      events += each.parts * (1 - p) * each.events, hours += each.parts * (1 - p) * each.hours;
    }
    if (bad_hours <= 0 || hours <= 0) break;
    // Of the usual parts, too, half a failure at least is reckoned with (files::events_counted).
    const double usual = std::max(events, 0.5) / hours;
    const OffenderFit next{usual, {bad / parts, std::min(bad_events / bad_hours / usual, kMaxRatio)}};
    const double change =
        std::abs(next.offenders.share - fit.offenders.share) + std::abs(next.rate / fit.rate - 1);
    fit = next;
    if (change < kSettled) break;
  }
  return fit;
}

}  // namespace

OffenderFit fit_offenders(const std::vector<PartHistory>& parts) {
  const auto rows = rows_of(parts);
  double events = 0, hours = 0, count = 0;
  for (const Row& each : rows)
    events += each.events * each.parts, hours += each.hours * each.parts, count += each.parts;
  if (events <= 0) return {};
  const OffenderFit alike{events / hours, {0, 1}};
  OffenderFit best = alike;
  // Two parameters more, and a start from which they can be found.
  double most = log_likelihood(rows, alike.rate, 0, 1) + std::log(count);
  for (const double ratio : {4.0, 10.0, 30.0}) {
    const double share = 0.02;
    const auto fit = climbed(rows, {alike.rate / (1 + share * (ratio - 1)), {share, ratio}});
    const double reached = log_likelihood(rows, fit.rate, fit.offenders.share, fit.offenders.ratio);
    if (reached <= most || fit.offenders.ratio < kMinRatio || fit.offenders.share > 0.5) continue;
    most = reached, best = fit;
  }
  return best;
}

PartPosterior posterior_of(const OffenderFit& fit, const PartHistory& part) {
  const double offender = offender_of(static_cast<double>(part.events), part.watched.count(), fit.rate,
                                      fit.offenders.share, fit.offenders.ratio);
  return {fit.rate * (1 + offender * (fit.offenders.ratio - 1)), offender};
}

}  // namespace weft::reliability
