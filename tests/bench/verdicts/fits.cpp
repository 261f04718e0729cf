#include "tests/bench/verdicts/fits.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "topology/model/fabric.hpp"

namespace weft::bench {
namespace {

constexpr double kHealthyLoss = 1e-6;      // of a channel without fault: a stray loss is no proof
constexpr double kMeanBackground = 0.391;  // of a share drawn log-uniform from 0.1 to 1
constexpr double kDead = 25;               // hazard of a channel that passes nothing
constexpr double kRttError = 0.5;     // microseconds: medians of some hundred, and what a slow cable adds
constexpr double kMax = 1e7;          // microseconds
constexpr double kShareError = 0.01;  // of a flow's share: queues scatter by .003
constexpr double kMaxOfAFlow = 50;    // nats that one flow may say
constexpr double kTooLossy = 0.3;     // below this survival a flow says nothing of rates

/// The channels of a row, each with how often a packet crosses it; of a set of paths with its share of them.
void add_terms(const PathTable& paths, PathSetId set, std::map<std::uint32_t, double>& terms) {
  const auto members = paths.paths(set);
  for (const PathId path : members)
    for (const ChannelId channel : paths.channels(path))
      terms[channel.value()] += 1.0 / static_cast<double>(members.size());
}

std::vector<FitRow> loss_rows(const Observations& seen, Fraction background) {
  const double healthy = std::max(kHealthyLoss, kMeanBackground * background.value());
  std::map<std::pair<PathSetId, std::optional<PathSetId>>, std::pair<double, double>> by_path;
  for (const Observation& row : seen.probes) {
    if (row.sent == 0) continue;
    auto& [sent, lost] = by_path[{row.path, row.back}];
    sent += static_cast<double>(row.sent);
    lost += static_cast<double>(row.lost);
  }
  std::vector<FitRow> rows;
  for (const auto& [ways, counts] : by_path) {
    std::map<std::uint32_t, double> terms;
    add_terms(seen.paths, ways.first, terms);
    if (ways.second) add_terms(seen.paths, *ways.second, terms);
    rows.push_back({.terms = {terms.begin(), terms.end()},
                    .sent = counts.first,
                    .lost = counts.second,
                    .least = healthy * static_cast<double>(terms.size())});
  }
  return rows;
}

/// The base of each class of round trips is one amount more, behind those of the channels.
std::vector<FitRow> delay_rows(std::size_t channels, const Observations& seen, std::size_t& bases) {
  std::map<std::tuple<std::size_t, std::size_t, Bytes>, std::uint32_t> classes;
  std::vector<FitRow> rows;
  for (const Observation& row : seen.probes) {
    if (!row.rtt || !row.back) continue;
    std::map<std::uint32_t, double> terms;
    add_terms(seen.paths, row.path, terms);
    add_terms(seen.paths, *row.back, terms);
    const auto length = [&](PathSetId set) {
      return seen.paths.channels(seen.paths.paths(set).front()).size();
    };
    const auto fresh = static_cast<std::uint32_t>(channels + classes.size());
    const auto base = classes.try_emplace({length(row.path), length(*row.back), row.size}, fresh).first;
    terms[base->second] = 1;
    rows.push_back({.terms = {terms.begin(), terms.end()},
                    .value = std::chrono::duration<double, std::micro>(row.rtt->p50).count(),
                    .error = kRttError});
  }
  bases = classes.size();
  return rows;
}

}  // namespace

LossFit::LossFit(const Fabric& fabric, const Observations& seen, Fraction background)
    : fit_(loss_rows(seen, background), fabric.channel_count(), kDead), all_(fit_.rough()) {
  evidence_.assign(fabric.channel_count(), 0.0);
  for (const ChannelEvidence& sign : seen.channels)
    evidence_[sign.channel.value()] += std::max(sign.log_ratio, 0.0);
  fit_.best(Channels(fabric.channel_count(), true), all_);
}

double LossFit::nats(const Channels& open) {
  auto at = all_;
  double nats = fit_.best(open, at);
  for (std::size_t c = 0; c < open.size(); ++c)
    if (!open[c]) nats -= evidence_[c];
  return nats;
}

double LossFit::survival(const PathTable& paths, PathSetId set) {
  std::map<std::uint32_t, double> terms;
  add_terms(paths, set, terms);
  double hazard = 0;
  for (const auto& [channel, share] : terms) hazard += share * all_[channel];
  return std::exp(-hazard);
}

RoundTripFit::RoundTripFit(const Fabric& fabric, const Observations& seen)
    : channels_(fabric.channel_count()), fit_({}, 0, 0) {
  auto rows = delay_rows(channels_, seen, bases_);
  std::vector<double> base(channels_ + bases_, kMax);
  for (const FitRow& row : rows) {
    double& lowest = base[row.terms.back().first];
    lowest = std::min(lowest, row.value);
  }
  std::fill_n(base.begin(), channels_, 0.0);
  fit_ = AdditiveFit(std::move(rows), channels_ + bases_, kMax);
  all_ = std::move(base);
  fit_.best(Channels(channels_ + bases_, true), all_);
}

double RoundTripFit::nats(const Channels& open) {
  auto with_bases = open;
  with_bases.resize(channels_ + bases_, true);
  auto at = all_;
  return fit_.best(with_bases, at);
}

RateFit::RateFit(const Fabric& fabric, const Observations& seen, LossFit& losses)
    : most_(fabric.channel_count(), 0.0), carried_(fabric.channel_count()) {
  for (std::uint32_t c = 0; c < fabric.channel_count(); ++c)
    rate_.push_back(fabric.rate(ChannelId(c)).bits_per_second());
  for (const LoadObservation& load : seen.loads) {
    const double survival = losses.survival(seen.paths, load.path);
    if (load.offered <= Bandwidth() || survival < kTooLossy || seen.paths.paths(load.path).size() > 1)
      continue;
    Flow flow{
        .round = load.round,
        .offered = load.offered.bits_per_second(),
        .arrived = std::min(load.delivered.bits_per_second() / survival, load.offered.bits_per_second())};
    for (const ChannelId channel : seen.paths.channels(seen.paths.paths(load.path).front())) {
      flow.channels.push_back(channel.value());
      double& all = carried_[channel.value()][load.round];
      all += flow.arrived;
      most_[channel.value()] = std::max(most_[channel.value()], all);
    }
    if (!load.sender_stalled) flows_.push_back(std::move(flow));
  }
}

double RateFit::nats(const Channels& open) {
  double nats = 0;
  for (const Flow& flow : flows_) {
    // By how much of its offer the flow is off what the likeliest of its channels would have let it have.
    double off = (flow.offered - flow.arrived) / flow.offered;
    for (const std::uint32_t c : flow.channels) {
      const double passes = open[c] ? most_[c] : std::max(rate_[c], most_[c]);
      const double carried = std::max(carried_[c].at(flow.round), 1.0);
      off = std::min(off, flow.arrived / flow.offered * std::max(passes / carried - 1, 0.0));
    }
    nats -= std::min(0.5 * off * off / (kShareError * kShareError), kMaxOfAFlow);
  }
  return nats;
}

}  // namespace weft::bench
