#include "probes/diagnosis/delay/delay_rows.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "probes/diagnosis/delay/delay_fit.hpp"
#include "topology/base/statistics.hpp"

namespace weft::diagnosis {
namespace {

constexpr double kCarries = 0.5;  // share of a set of paths beyond which it shows a channel's delay
constexpr double kRounding = 1e-9;
constexpr double kMinNoise = 1.0;       // microseconds: clocks and queues are no finer
constexpr double kUnlike = 0.05;        // of the base: healthy hosts and cables of a length differ so
constexpr double kWide = 5.0;           // scales of noise that the fastest rows lie within
constexpr double kMinFast = 1.0 / 256;  // of a kind's rows: fewer do not make a base
constexpr std::size_t kTellSpread = 6;  // rows, to tell how they scatter
constexpr double kGap = 20.0;           // times what the rows below it spread over
constexpr double kLongerAtMost = 1.25;  // times what the number of channels lets expect

double micros(Nanoseconds time) { return static_cast<double>(time.count()) / 1e3; }

double noise_at(double base, double within) {
  return std::hypot(std::max(kMinNoise, kUnlike * base), DelayRows::kOfTail * within);
}

/// Where rows from `first` on lie so close together that the next one cannot be of theirs, however long their
/// tails: at least `fewest`. `end` where they do not.
std::size_t before_gap(const std::vector<std::pair<double, double>>& sorted, std::size_t first,
                       std::size_t end, std::size_t fewest) {
  for (std::size_t i = first + fewest; i < end; ++i) {
    const double spread = std::max(sorted[i - 1].first - sorted[first].first, kUnlike * sorted[first].first);
    if (sorted[i].first - sorted[i - 1].first > kGap * std::max(spread, kMinNoise)) return i;
  }
  return end;
}

}  // namespace

DelayRows::DelayRows(const Observations& observations) {
  for (const Observation& probe : observations.probes)
    if (probe.rtt) add(observations, probe);
  learn_bases();
  set_bases();
}

void DelayRows::set_bases() {
  for (DelayKind& kind : kinds_) kind.noise = noise_at(kind.base, kind.within);
  for (DelayRow& row : rows_) row.late = row.time - kinds_[row.kind].base;
  compare_lengths();
}

DelayRows DelayRows::with_bases(const std::vector<double>& bases) const {
  DelayRows other = *this;
  for (std::size_t k = 0; k < bases.size(); ++k) {
    other.kinds_[k].base = bases[k];
    other.kinds_[k].shared = 0;
  }
  other.set_bases();
  return other;
}

std::vector<double> DelayRows::joint_bases() const {
  std::vector<double> times, noise, bases;
  double least = kinds_.front().base;
  for (const DelayKind& kind : kinds_) {
    bases.push_back(kind.fastest);
    least = std::min(least, kind.base);
  }
  std::vector<DelayFit::Column> columns(kinds_.size(), {{}, DelayFit::kThere});
  std::map<ChannelId, std::vector<DelayFit::Entry>> of_channel;
  for (std::uint32_t i = 0; i < rows_.size(); ++i) {
    times.push_back(rows_[i].time);
    noise.push_back(noise_at(least, kind_of(i).within));
    columns[rows_[i].kind].entries.push_back({i, 1.0});
    for (const ChannelId channel : channels_of(i)) {
      auto& entries = of_channel[channel];
      if (!entries.empty() && entries.back().row == i)
        ++entries.back().weight;
      else
        entries.push_back({i, 1.0});
    }
  }
  std::vector<std::vector<DelayFit::Entry>> distinct;
  for (auto& [channel, entries] : of_channel)
    if (std::ranges::find(distinct, entries) == distinct.end()) distinct.push_back(std::move(entries));
  const double cost = std::log(static_cast<double>(of_channel.size()));
  for (auto& entries : distinct) columns.push_back({std::move(entries), cost});
  std::vector<std::vector<double>> left(bases.size());
  auto rest = times;
  const DelayFit fit(std::move(times), std::move(noise), columns);
  for (const DelayFit::Active& active : fit.solve())
    if (active.column >= bases.size())
      for (const auto& entry : columns[active.column].entries) rest[entry.row] -= entry.weight * active.shift;
  for (std::size_t i = 0; i < rest.size(); ++i) left[rows_[i].kind].push_back(rest[i]);
  for (std::size_t k = 0; k < bases.size(); ++k) bases[k] = std::clamp(median(left[k]), 0.0, bases[k]);
  return bases;
}

void DelayRows::add(const Observations& observations, const Observation& probe) {
  DelayRow row{.time = micros(probe.rtt->p50),
               .within = std::max(micros(probe.rtt->p99 - probe.rtt->p50), 0.0),
               .first = static_cast<std::uint32_t>(channels_.size())};
  std::size_t hops = 0;
  bool known = true;
  for (const auto& set : {std::optional(probe.path), probe.back}) {
    if (!set) continue;
    const auto members = observations.paths.paths(*set);
    const auto first = observations.paths.channels(members.front());
    hops += first.size();
    known &= members.size() == 1;
    if (known) channels_.insert(channels_.end(), first.begin(), first.end());
  }
  if (!known) {
    channels_.resize(row.first);
    std::vector<std::pair<ChannelId, double>> shares;
    for (const auto& set : {std::optional(probe.path), probe.back}) {
      if (!set) continue;
      const auto members = observations.paths.paths(*set);
      for (const PathId path : members)
        for (const ChannelId channel : observations.paths.channels(path))
          shares.emplace_back(channel, 1.0 / static_cast<double>(members.size()));
    }
    std::ranges::sort(shares);
    std::vector<ChannelId> halves;
    for (std::size_t at = 0; at < shares.size();) {
      const ChannelId channel = shares[at].first;
      double share = 0;
      for (; at < shares.size() && shares[at].first == channel; ++at) share += shares[at].second;
      if (share > kCarries + kRounding)
        channels_.push_back(channel);
      else if (share > kCarries - kRounding)
        halves.push_back(channel);
    }
    row.halves = static_cast<std::uint32_t>(halves.size());
    channels_.insert(channels_.end(), halves.begin(), halves.end());
  }
  row.count = static_cast<std::uint32_t>(channels_.size()) - row.first - row.halves;
  const auto same = [&](const DelayKind& kind) {
    return kind.hops == hops && kind.size == probe.size.count();
  };
  const auto kind = std::ranges::find_if(kinds_, same);
  row.kind = static_cast<std::uint32_t>(kind - kinds_.begin());
  if (kind == kinds_.end()) kinds_.push_back({.hops = hops, .size = probe.size.count()});
  rows_.push_back(row);
}

/// The lowest cluster of a kind's rows that is no stray, and its middle.
void DelayRows::learn_bases() {
  std::vector<std::vector<std::pair<double, double>>> by_kind(kinds_.size());
  for (const DelayRow& row : rows_) by_kind[row.kind].emplace_back(row.time, row.within);
  for (std::size_t k = 0; k < kinds_.size(); ++k) {
    auto& values = by_kind[k];
    std::ranges::sort(values);
    const auto needed = static_cast<std::size_t>(std::ceil(kMinFast * static_cast<double>(values.size())));
    for (std::size_t first = 0; first < values.size(); ++first) {
      // Of the values from here on that are within the noise, which their own tails limit.
      std::size_t end = first;
      double noise = noise_at(values[first].first, values[first].second);
      while (end < values.size() && values[end].first <= values[first].first + kWide * noise) ++end;
      end = before_gap(values, first, end, std::max(needed, kTellSpread));
      if (end - first < needed) continue;
      std::vector<double> fast, within;
      for (std::size_t i = first; i < end; ++i) {
        fast.push_back(values[i].first);
        within.push_back(values[i].second);
      }
      kinds_[k].base = kinds_[k].fastest = median(fast);
      kinds_[k].within = kinds_[k].tail = median(within);
      if (fast.size() >= kTellSpread)
        kinds_[k].within = std::min(kinds_[k].tail, (fast.back() - fast.front()) / DelayRows::kOfTail);
      break;
    }
  }
}

/// A path of more channels takes longer, but by no more than their number; one of fewer does not. What is
/// beyond that is a delay which all paths of that length share.
void DelayRows::compare_lengths() {
  const auto kinds = kinds_;
  for (DelayKind& kind : kinds_) {
    double low = 0, high = kind.base;
    for (const DelayKind& other : kinds) {
      if (other.size != kind.size || other.hops == kind.hops || other.hops == 0) continue;
      const bool is_longer = kind.hops > other.hops;
      const double most = is_longer
                              ? other.base * static_cast<double>(kind.hops) / static_cast<double>(other.hops)
                              : other.base;
      if (most >= high) continue;
      high = most;
      low = is_longer ? other.base
                      : other.base * static_cast<double>(kind.hops) / static_cast<double>(other.hops);
    }
    // The rows of a length on busy hosts may be late together, however little they scatter.
    if (kind.base <= kLongerAtMost * high + kLate * noise_at(kind.base, kind.tail)) continue;
    const double expected = std::midpoint(low, high);
    kind.shared = kind.base - expected;
    kind.base = expected;
    kind.noise = std::hypot(std::max(kMinNoise, kUnlike * expected), 0.5 * (high - low));
  }
  for (DelayRow& row : rows_) row.late += kinds_[row.kind].shared;
}

}  // namespace weft::diagnosis
