#include "collectors/compare/cell_models.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "collectors/compare/probe_cells.hpp"
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

double line_of(const MeasuredRun& run) {
  double line = run.line_rate;
  if (line <= 0)
    for (const MeasuredFlow& flow : run.flows) line = std::max(line, flow.wanted);
  return line;
}

using ByPair = std::map<std::pair<std::string, std::string>, double>;
using ByNic = std::map<std::string, double>;

/// How much of what flows lack pauses explain, by NIC: the time that its cable stood over the time that it
/// lacked, both of all rounds of load, for nobody tells in which of them it stood; 1 at most. `expected` and
/// `got`: one a flow.
ByNic explained_by_pauses(const MeasuredRun& run, double PausedNic::*stood, std::string MeasuredFlow::*nic,
                          const std::vector<double>& expected, const std::vector<double>& got) {
  constexpr double kNoise = 0.02;  // of what was expected
  ByNic explained;
  if (run.paused.empty()) return explained;
  std::map<std::string, std::map<std::uint32_t, std::pair<double, double>>> sums;  // by NIC and round
  std::set<std::uint32_t> rounds;
  for (std::size_t i = 0; i < run.flows.size(); ++i) {
    auto& [all, some] = sums[run.flows[i].*nic][run.flows[i].round];
    all += expected[i], some += got[i];
    rounds.insert(run.flows[i].round);
  }
  const double line = line_of(run);
  for (const auto& [name, paused] : run.paused) {
    double lacked = 0;  // rounds
    for (const auto& [round, sum] : sums[name])
      if (sum.first - sum.second > kNoise * sum.first) lacked += 1 - std::min(sum.second / line, 1.0);
    if (lacked > 0)
      explained[name] = std::min(paused.*stood * static_cast<double>(rounds.size()) / lacked, 1.0);
  }
  return explained;
}

double value_or_zero(const ByNic& values, const std::string& nic) {
  const auto at = values.find(nic);
  return at == values.end() ? 0 : at->second;
}

/// What the sender of a pair put on the wire, as a share of what it wanted, where it was held back. What was
/// delivered tells nothing of the sender: a slow cable lessens it, too. What it could not send while pauses
/// stopped it is not held back, where these have a part of their own.
ByPair held_back(const MeasuredRun& run, bool with_pauses) {
  const auto is_held = [](const MeasuredFlow& flow) {
    return flow.sender_stalled && flow.offered && flow.wanted > 0;
  };
  std::vector<double> offered = wanted_of(run);
  for (std::size_t i = 0; i < run.flows.size(); ++i)
    if (is_held(run.flows[i])) offered[i] = std::min(*run.flows[i].offered, offered[i]);
  const auto stopped =
      with_pauses ? explained_by_pauses(run, &PausedNic::sending, &MeasuredFlow::src, wanted_of(run), offered)
                  : ByNic();
  ByPair shares;
  for (std::size_t i = 0; i < run.flows.size(); ++i)
    if (const MeasuredFlow& flow = run.flows[i]; is_held(flow))
      shares[{flow.src, flow.dst}] =
          1 - (1 - offered[i] / flow.wanted) * (1 - value_or_zero(stopped, flow.src));
  return shares;
}

/// Of each channel in a healthy state: what it is built for beside the hosts' cables, whose rate is the line
/// rate; without a known fabric the line rate. More where more crossed it at a time.
std::vector<double> capacities(const MeasuredRun& run) {
  const double line = line_of(run);
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

/// What a round trip without load takes, with parts of other runs.
class IdleModel {
 public:
  /// The runs outlive it.
  IdleModel(const MeasuredRun& rest, const TripParts& parts)
      : rest_(rest),
        own_(fits_of(rest)),
        hosts_(fits_of(*parts.hosts)),
        hops_(fits_of(*parts.hops)),
        own_delays_(delays_of(rest)),
        delays_(delays_of(*parts.cables)) {}

  double time_of(const RoundTrip& trip) const {
    double time = trip.p50 - named_delay(rest_, trip, own_delays_) + named_delay(rest_, trip, delays_);
    const auto mine = own_.find(trip.size);
    if (mine == own_.end() || !mine->second.has_distances) return time;
    if (const auto at = hosts_.find(trip.size); at != hosts_.end())
      time += at->second.hosts - mine->second.hosts;
    if (const auto at = hops_.find(trip.size); at != hops_.end() && at->second.has_distances)
      time += (at->second.per_hop - mine->second.per_hop) * (static_cast<double>(trip.hops) - kHostHops);
    return time;
  }

 private:
  const MeasuredRun& rest_;
  std::map<Bytes, TripFit> own_, hosts_, hops_;
  Factors own_delays_, delays_;
};

/// By distance and size what flows wait in queues in the mean.
std::map<std::pair<std::size_t, Bytes>, double> waits_of(const MeasuredRun& run) {
  std::map<std::pair<std::size_t, Bytes>, std::pair<double, double>> sums;  // with the number of trips
  for (const LoadedRoundTrip& trip : run.loaded) {
    auto& [sum, count] = sums[{trip.idle.hops, trip.idle.size}];
    sum += trip.wait(), ++count;
  }
  std::map<std::pair<std::size_t, Bytes>, double> waits;
  for (const auto& [key, sum] : sums) waits[key] = sum.first / sum.second;
  return waits;
}

/// What the flows get where no pause stops them.
std::vector<double> rates_unpaused(const FlowParts& parts) {
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
  const auto held = held_back(*parts.hosts, parts.pauses != nullptr);
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
  return rates;
}

/// Of each pair the share that pauses of the run leave of what all else does: they have only what nothing
/// else explains. Without pauses: empty.
ByPair left_by_pauses(const MeasuredRun& run) {
  if (run.paused.empty()) return {};
  const auto rates = rates_unpaused(FlowParts::all_of(run));
  const auto got = delivered_of(run);
  const auto by_sender = explained_by_pauses(run, &PausedNic::sending, &MeasuredFlow::src, rates, got);
  const auto by_receiver = explained_by_pauses(run, &PausedNic::receiving, &MeasuredFlow::dst, rates, got);
  std::map<std::pair<std::string, std::string>, std::pair<double, double>> sums;  // with the number of flows
  for (std::size_t i = 0; i < run.flows.size(); ++i) {
    const MeasuredFlow& flow = run.flows[i];
    if (rates[i] <= 0) continue;
    const double lacks = 1 - std::min(got[i] / rates[i], 1.0);
    const double explained =
        std::max(value_or_zero(by_sender, flow.src), value_or_zero(by_receiver, flow.dst));
    auto& [sum, count] = sums[{flow.src, flow.dst}];
    sum += 1 - explained * lacks, ++count;
  }
  ByPair shares;
  for (const auto& [pair, sum] : sums) shares[pair] = sum.first / sum.second;
  return shares;
}

}  // namespace

std::map<Cell, double> model_flows(const FlowParts& parts) {
  const MeasuredRun& run = *parts.paths;
  auto rates = rates_unpaused(parts);
  if (parts.pauses) {
    const auto left = left_by_pauses(*parts.pauses);
    double sum = 0;
    for (const auto& [pair, share] : left) sum += share;
    const double usual = left.empty() ? 1 : sum / static_cast<double>(left.size());
    for (std::size_t i = 0; i < rates.size(); ++i) {
      const auto at = left.find({run.flows[i].src, run.flows[i].dst});
      rates[i] *= at == left.end() ? usual : at->second;  // hosts of another name: as all of them
    }
  }
  return flow_cells(run, rates);
}

std::map<Cell, double> model_trips(const MeasuredRun& rest, const TripParts& parts) {
  const IdleModel model(rest, parts);
  std::vector<double> medians;
  for (const RoundTrip& trip : rest.trips) medians.push_back(std::max(model.time_of(trip), 0.0));
  return trip_cells(rest, medians);
}

std::map<Cell, double> model_loaded(const MeasuredRun& rest, const TripParts& parts) {
  const IdleModel model(rest, parts);
  const auto replaced = waits_of(*parts.queues);
  std::vector<double> medians;
  for (const LoadedRoundTrip& trip : rest.loaded) {
    // The mean of all in place of each: a shift would take a flow that meets no queue below nothing.
    const auto at = replaced.find({trip.idle.hops, trip.idle.size});
    const double wait = parts.queues == &rest || at == replaced.end() ? trip.wait() : at->second;
    medians.push_back(std::max(model.time_of(trip.idle) + wait, 0.0));
  }
  return loaded_cells(rest, medians);
}

std::map<Cell, double> model_probes(const MeasuredRun& rest, const MeasuredRun& losses) {
  const auto own = factors_of(rest, Cause::loss), others = factors_of(losses, Cause::loss);
  auto arrived = arrived_of(rest);
  const auto passes = [&](const Factors& factors, std::uint32_t channel) {
    const auto at = factors.find(rest.channels[channel]);
    return at == factors.end() ? 1.0 : at->second;
  };
  for (std::size_t i = 0; i < arrived.size(); ++i) {
    for (const std::uint32_t channel : rest.probed[i].path)
      if (const double mine = passes(own, channel); mine > 0) arrived[i] *= passes(others, channel) / mine;
    arrived[i] = std::min(arrived[i], 1.0);
  }
  std::map<Cell, double> cells;
  for (const auto& [cell, value] : arrived_cells(rest, arrived))
    if (is_comparable(value.number)) cells[cell] = value.number;
  return cells;
}

}  // namespace weft::compare
