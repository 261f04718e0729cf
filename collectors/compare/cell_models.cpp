#include "collectors/compare/cell_models.hpp"

#include <algorithm>
#include <utility>

#include "topology/base/statistics.hpp"

namespace weft::compare {
namespace {

/// By channel, as a share: of its rate that is left, or of packets that pass.
using Factors = std::map<std::string, double, std::less<>>;

Factors factors_of(const MeasuredRun& run, Cause cause) {
  Factors factors;
  for (const Culprit& culprit : run.culprits)
    if (culprit.cause == cause && culprit.value)
      for (const std::uint32_t channel : culprit.channels) {
        const double left = cause == Cause::loss ? 1 - *culprit.value : *culprit.value;
        factors[run.channels[channel]] = std::clamp(left, 0.0, 1.0);
      }
  return factors;
}

/// What the sender of a pair put on the wire, as a share of what it wanted, where it was held back. What was
/// delivered tells nothing of the sender: a slow cable lessens it, too.
std::map<std::pair<std::string, std::string>, double> held_back(const MeasuredRun& run) {
  std::map<std::pair<std::string, std::string>, double> shares;
  for (const MeasuredFlow& flow : run.flows)
    if (flow.sender_stalled && flow.offered && flow.wanted > 0)
      shares[{flow.src, flow.dst}] = std::min(*flow.offered / flow.wanted, 1.0);
  return shares;
}

/// Of each channel in a healthy state: what it is built for beside the hosts' cables, whose rate is the line
/// rate; without a known fabric the line rate. More where more crossed it at a time.
std::vector<double> capacities(const MeasuredRun& run) {
  double line = run.line_rate;
  if (line <= 0)
    for (const MeasuredFlow& flow : run.flows) line = std::max(line, flow.wanted);
  std::vector<double> capacity(run.channels.size(), line);
  if (run.built && run.built->host_rate > 0)
    for (std::size_t c = 0; c < run.channels.size(); ++c)
      if (const auto at = run.built->channels.find(run.channels[c]); at != run.built->channels.end())
        capacity[c] = line * at->second.rate / run.built->host_rate;
  std::map<std::pair<std::uint32_t, std::uint32_t>, double> crossed;  // by round and channel
  for (const MeasuredFlow& flow : run.flows)
    for (const std::uint32_t channel : flow.path) crossed[{flow.round, channel}] += flow.delivered;
  for (const auto& [key, rate] : crossed) capacity[key.second] = std::max(capacity[key.second], rate);
  return capacity;
}

/// Of one size: what the hosts and their cables take, and each further hop; by least squares over paths.
struct TripFit {
  double hosts = 0;
  double per_hop = 0;
  bool has_distances = false;
};

constexpr double kHostHops = 2;  // from host to host under one leaf: their own cables

/// Seconds that named channels add to this trip.
double named_delay(const MeasuredRun& run, const RoundTrip& trip, const Factors& delays) {
  double sum = 0;
  for (const std::uint32_t channel : trip.path)
    if (const auto at = delays.find(run.channels[channel]); at != delays.end()) sum += at->second;
  return sum;
}

Factors delays_of(const MeasuredRun& run) {
  Factors delays;
  for (const Culprit& culprit : run.culprits)
    if (culprit.cause == Cause::delay && culprit.value && !culprit.is_host)
      for (const std::uint32_t channel : culprit.channels)
        delays[run.channels[channel]] = std::max(*culprit.value, 0.0);
  return delays;
}

/// Medians by distance are fitted, so that a distance of many paths counts no more than one of few.
std::map<Bytes, TripFit> fits_of(const MeasuredRun& run) {
  const auto delays = delays_of(run);
  std::map<Bytes, std::map<std::size_t, std::vector<double>>> all;
  for (const RoundTrip& trip : run.trips)
    all[trip.size][trip.hops].push_back(trip.p50 - named_delay(run, trip, delays));
  std::map<Bytes, TripFit> fits;
  for (auto& [size, by_hops] : all) {
    std::vector<std::pair<double, double>> points;
    for (auto& [hops, values] : by_hops) {
      points.emplace_back(static_cast<double>(hops) - kHostHops, median(values));
    }
    double x = 0, y = 0, xx = 0, xy = 0;
    for (const auto& [hops, time] : points) x += hops, y += time, xx += hops * hops, xy += hops * time;
    const auto n = static_cast<double>(points.size());
    const double spread = n * xx - x * x;
    TripFit fit{.hosts = y / n, .has_distances = spread > 0};
    if (fit.has_distances) {
      fit.per_hop = (n * xy - x * y) / spread;
      fit.hosts = (y - fit.per_hop * x) / n;
    }
    fits[size] = fit;
  }
  return fits;
}

}  // namespace

std::map<Cell, double> model_flows(const FlowParts& parts) {
  const MeasuredRun& run = *parts.paths;
  auto capacity = capacities(run);
  std::vector<double> passes(run.channels.size(), 1);
  const auto apply = [&](const Factors& factors, std::vector<double>& to) {
    for (std::size_t c = 0; c < run.channels.size(); ++c)
      if (const auto at = factors.find(run.channels[c]); at != factors.end()) to[c] *= at->second;
  };
  apply(factors_of(*parts.cables, Cause::rate), capacity);
  apply(factors_of(*parts.traffic, Cause::congestion), capacity);
  apply(factors_of(*parts.losses, Cause::loss), passes);
  const auto held = held_back(*parts.hosts);
  std::vector<double> wanted;
  std::map<std::pair<std::uint32_t, std::uint32_t>, double> offered;  // by round and channel
  for (const MeasuredFlow& flow : run.flows) {
    const auto at = held.find({flow.src, flow.dst});
    wanted.push_back(flow.wanted * (at == held.end() ? 1 : at->second));
    for (const std::uint32_t channel : flow.path) offered[{flow.round, channel}] += wanted.back();
  }
  const double line = parts.line_rate->line_rate;
  const double scale = run.line_rate > 0 && line > 0 ? line / run.line_rate : 1;
  std::vector<double> rates;
  for (std::size_t i = 0; i < run.flows.size(); ++i) {
    const MeasuredFlow& flow = run.flows[i];
    double least = 1;
    double passed = 1;
    for (const std::uint32_t channel : flow.path) {
      const double load = offered[{flow.round, channel}];
      if (load > 0) least = std::min(least, capacity[channel] / load);
      passed *= passes[channel];
    }
    rates.push_back(wanted[i] * least * passed * scale);
  }
  return flow_cells(run, rates);
}

std::map<Cell, double> model_trips(const MeasuredRun& rest, const TripParts& parts) {
  const auto own = fits_of(rest);
  const auto hosts = fits_of(*parts.hosts);
  const auto hops = fits_of(*parts.hops);
  const auto own_delays = delays_of(rest);
  const auto delays = delays_of(*parts.cables);
  std::vector<double> medians;
  for (const RoundTrip& trip : rest.trips) {
    double time = trip.p50 - named_delay(rest, trip, own_delays) + named_delay(rest, trip, delays);
    const TripFit& mine = own.at(trip.size);
    if (const auto at = hosts.find(trip.size); at != hosts.end() && mine.has_distances)
      time += at->second.hosts - mine.hosts;
    if (const auto at = hops.find(trip.size);
        at != hops.end() && at->second.has_distances && mine.has_distances)
      time += (at->second.per_hop - mine.per_hop) * (static_cast<double>(trip.hops) - kHostHops);
    medians.push_back(std::max(time, 0.0));
  }
  return trip_cells(rest, medians);
}

}  // namespace weft::compare
