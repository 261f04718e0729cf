#include "probes/diagnosis/delay.hpp"

#include <fmt/format.h>

#include <limits>
#include <map>
#include <numeric>

#include "probes/diagnosis/robust.hpp"

namespace weft {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
constexpr double kFaultyChannels = 4.0;  // prior number in a fabric
constexpr double kLeastSpread = 1.0;     // microseconds: clocks and queues are no finer
constexpr double kLongest = 1e6;         // a delay fault lies between the spread and a second
constexpr double kCarries = 0.5;         // share of a set of paths from which on it shows a channel's delay
constexpr std::size_t kMostFaults = 64;
constexpr std::size_t kFewest = 3;  // observations of a channel, to speak of a shift

double micros(Nanoseconds time) { return static_cast<double>(time.count()) / 1e3; }

struct Sample {
  double residual = 0;  // microseconds
  std::uint32_t first = 0;
  std::uint32_t count = 0;  // of its channels in DelaySearch::channels_
};

struct Shift {
  ChannelId channel;
  double micros = 0;
  double error = 0;  // standard error
  double log_odds = 0;
  double explained = 0;  // nats: how much better the samples over the channel fit than with no shift
};

class DelaySearch {
 public:
  DelaySearch(const Fabric& fabric, const Observations& observations)
      : fabric_(fabric), observations_(observations) {
    for (const Observation& probe : observations.probes)
      if (probe.rtt) add(probe);
    centre();
    index();
  }

  bool empty() const { return samples_.empty(); }

  DelayShifts shifts() {
    DelayShifts shifts;
    std::vector<double> known;
    for (std::uint32_t c = 0; c < fabric_.channel_count(); ++c) {
      shifts.of_channel.push_back(shift_of(ChannelId(c)));
      if (!std::isnan(shifts.of_channel.back())) known.push_back(shifts.of_channel.back());
    }
    if (known.empty()) return shifts;
    auto sorted = known;
    spread_ = shifts.spread = std::max(spread_about(known, median(sorted)), kLeastSpread);
    return shifts;
  }

  /// Takes out the likeliest shift until none is left.
  std::vector<Shift> search(const DelayShifts& shifts) {
    std::vector<double> current = shifts.of_channel;
    std::vector<Shift> faults;
    while (faults.size() < kMostFaults) {
      const auto best = likeliest(current);
      if (!best) break;
      take_out(*best);
      for (std::uint32_t c = 0; c < current.size(); ++c)
        if (touches(ChannelId(c), best->channel)) current[c] = shift_of(ChannelId(c));
      faults.push_back(*best);
    }
    return faults;
  }

  /// Channels crossed by exactly the same samples, ids ascending.
  std::vector<ChannelId> class_of(ChannelId channel) const {
    std::vector<ChannelId> members;
    const auto own = samples_of(channel);
    for (const ChannelId other : channels_of(own.front()))
      if (std::ranges::equal(samples_of(other), own)) members.push_back(other);
    std::ranges::sort(members);
    return members;
  }

  std::size_t sample_count(ChannelId channel) const { return samples_of(channel).size(); }

 private:
  void add(const Observation& probe) {
    Sample sample{.residual = micros(probe.rtt->p50), .first = static_cast<std::uint32_t>(channels_.size())};
    std::vector<std::pair<ChannelId, double>> shares;
    std::size_t hops = 0;
    for (const auto& set : {std::optional(probe.path), probe.back}) {
      if (!set) continue;
      const auto members = observations_.paths.paths(*set);
      hops += observations_.paths.channels(members.front()).size();
      for (const PathId path : members)
        for (const ChannelId channel : observations_.paths.channels(path))
          shares.emplace_back(channel, 1.0 / static_cast<double>(members.size()));
    }
    std::ranges::sort(shares);
    for (std::size_t at = 0; at < shares.size();) {
      const ChannelId channel = shares[at].first;
      double share = 0;
      for (; at < shares.size() && shares[at].first == channel; ++at) share += shares[at].second;
      if (share > kCarries - 1e-9) channels_.push_back(channel);
    }
    sample.count = static_cast<std::uint32_t>(channels_.size()) - sample.first;
    kinds_.emplace_back(hops, probe.size.count());
    samples_.push_back(sample);
  }

  /// From RTTs to residuals against the median of the same number of channels and packet size.
  void centre() {
    std::map<std::pair<std::size_t, std::int64_t>, std::vector<double>> by_kind;
    for (std::size_t i = 0; i < samples_.size(); ++i) by_kind[kinds_[i]].push_back(samples_[i].residual);
    std::map<std::pair<std::size_t, std::int64_t>, double> middle;
    for (auto& [kind, values] : by_kind) middle[kind] = median(values);
    std::vector<double> residuals;
    for (std::size_t i = 0; i < samples_.size(); ++i)
      residuals.push_back(samples_[i].residual -= middle[kinds_[i]]);
    noise_ = std::max(spread_about(residuals, 0.0), kLeastSpread);
  }

  void index() {
    offsets_.assign(fabric_.channel_count() + 1, 0);
    for (const ChannelId channel : channels_) ++offsets_[channel.value() + 1];
    std::partial_sum(offsets_.begin(), offsets_.end(), offsets_.begin());
    crossing_.resize(channels_.size());
    auto next = offsets_;
    for (std::uint32_t i = 0; i < samples_.size(); ++i)
      for (const ChannelId channel : channels_of(i)) crossing_[next[channel.value()]++] = i;
  }

  std::span<const ChannelId> channels_of(std::uint32_t sample) const {
    return std::span(channels_).subspan(samples_[sample].first, samples_[sample].count);
  }
  std::span<const std::uint32_t> samples_of(ChannelId channel) const {
    const std::uint32_t from = offsets_[channel.value()];
    return std::span(crossing_).subspan(from, offsets_[channel.value() + 1] - from);
  }
  bool touches(ChannelId a, ChannelId b) const {
    return std::ranges::any_of(
        samples_of(a), [&](std::uint32_t i) { return std::ranges::binary_search(channels_of(i), b); });
  }

  double shift_of(ChannelId channel) {
    const auto own = samples_of(channel);
    if (own.size() < kFewest) return kNone;
    scratch_.clear();
    for (const std::uint32_t i : own) scratch_.push_back(samples_[i].residual);
    return median(scratch_);
  }

  double log_likelihood(ChannelId channel, double shift) const {
    double sum = 0;
    for (const std::uint32_t i : samples_of(channel))
      sum += log_student(samples_[i].residual - shift, noise_);
    return sum;
  }

  /// Laplace's approximation of the evidence for a fault's shift (any order of magnitude from the spread up)
  /// against none, or one of the size that healthy channels show.
  Shift weigh(ChannelId channel, double shift) const {
    const double own = static_cast<double>(samples_of(channel).size());
    const double error = noise_ * 1.25 / std::sqrt(own);
    const double shifted = log_likelihood(channel, shift);
    const double unshifted = log_likelihood(channel, 0.0);
    const double peak = shifted + std::log(2.5066 * error);
    const double prior = std::log(kFaultyChannels / static_cast<double>(fabric_.channel_count()));
    const double fault = peak - std::log(shift * std::log(kLongest / spread_));
    const double healthy = std::max(unshifted, peak + log_student(shift, std::hypot(spread_, error)));
    return {channel, shift, error, prior + fault - healthy, shifted - unshifted};
  }

  /// Of the channels that are likelier shifted than not, the one that explains most. The odds alone cannot
  /// choose: a neighbour, half of whose samples cross the fault, is no healthy channel either.
  std::optional<Shift> likeliest(const std::vector<double>& shifts) const {
    std::optional<Shift> best;
    for (std::uint32_t c = 0; c < shifts.size(); ++c) {
      if (!(shifts[c] > 3.0 * spread_)) continue;  // also when it is not a number
      const Shift found = weigh(ChannelId(c), shifts[c]);
      if (found.log_odds > 0 && (!best || found.explained > best->explained)) best = found;
    }
    return best;
  }

  void take_out(const Shift& shift) {
    for (const std::uint32_t i : samples_of(shift.channel)) samples_[i].residual -= shift.micros;
  }

  const Fabric& fabric_;
  const Observations& observations_;
  std::vector<Sample> samples_;
  std::vector<std::pair<std::size_t, std::int64_t>> kinds_;  // channels crossed, packet size
  std::vector<ChannelId> channels_;
  std::vector<std::uint32_t> offsets_;
  std::vector<std::uint32_t> crossing_;
  std::vector<double> scratch_;
  double noise_ = 0;
  double spread_ = 0;
};

std::string in_words(double micros) {
  if (micros >= 1000) return fmt::format("{:.2f} ms", micros / 1000);
  return fmt::format("{:.0f} us", micros);
}

}  // namespace

DelayShifts report_delays(const Fabric& fabric, const Observations& observations, const Tolerance&,
                          Report& report) {
  DelaySearch search(fabric, observations);
  if (search.empty()) return {};
  DelayShifts shifts = search.shifts();
  if (!shifts.measured()) return shifts;
  for (const Shift& fault : search.search(shifts)) {
    Found found{.channels = search.class_of(fault.channel), .cause = Cause::delay};
    found.probability = 1.0 / (1.0 + std::exp(-fault.log_odds));
    found.estimate = Estimate{fault.micros * 1e-6, std::max(fault.micros - 2 * fault.error, 0.0) * 1e-6,
                              (fault.micros + 2 * fault.error) * 1e-6};
    found.evidence.push_back(
        fmt::format("round trips over it take {} longer, median of {} paths; the other channels differ by {}",
                    in_words(fault.micros), search.sample_count(fault.channel), in_words(shifts.spread)));
    if (found.probability >= kSuspected) report.add(std::move(found));
  }
  return shifts;
}

}  // namespace weft
