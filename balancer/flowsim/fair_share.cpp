#include "balancer/flowsim/fair_share.hpp"

#include <algorithm>
#include <limits>
#include <queue>

namespace weft::flowsim {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();
constexpr double kTiny = 1e-12;  // relative

/// Progressive filling: the rate of all streams rises together; where a channel is full, its streams keep the
/// rate they have and the others go on.
class Filling {
 public:
  Filling(std::span<const Stream> streams, std::span<const double> capacity)
      : streams_(streams),
        left_(capacity.begin(), capacity.end()),
        wanted_(capacity.size()),
        on_(capacity.size()) {
    for (std::uint32_t s = 0; s < streams.size(); ++s)
      for (const Stream::Use& use : streams[s].uses) {
        wanted_[use.channel.value()] += use.share;
        on_[use.channel.value()].push_back(s);
      }
  }

  /// Rates of the streams that are still `active`; 0 for the others.
  std::vector<double> rates(const std::vector<bool>& active) {
    auto left = left_;
    auto wanted = wanted_;
    std::vector<double> rate(streams_.size(), kInfinite);
    std::vector<bool> fixed(streams_.size());
    for (std::uint32_t s = 0; s < streams_.size(); ++s)
      if (!active[s]) fixed[s] = true, rate[s] = 0;
    using Level = std::pair<double, std::uint32_t>;  // the rate at which a channel is full
    std::priority_queue<Level, std::vector<Level>, std::greater<>> next;
    const auto level = [&](std::uint32_t c) { return std::max(0.0, left[c]) / wanted[c]; };
    for (std::uint32_t c = 0; c < wanted.size(); ++c)
      if (wanted[c] > kTiny) next.emplace(level(c), c);
    while (!next.empty()) {
      const auto [at, channel] = next.top();
      next.pop();
      if (wanted[channel] <= kTiny) continue;
      if (const double now = level(channel); now > at * (1 + kTiny)) {
        next.emplace(now, channel);  // streams fixed elsewhere left it more
        continue;
      }
      for (const std::uint32_t s : on_[channel]) {
        if (fixed[s]) continue;
        fixed[s] = true;
        rate[s] = at;
        for (const Stream::Use& use : streams_[s].uses) {
          left[use.channel.value()] -= use.share * at;
          wanted[use.channel.value()] -= use.share;
        }
      }
      wanted[channel] = 0;
    }
    return rate;
  }

  void end(std::uint32_t stream) {
    for (const Stream::Use& use : streams_[stream].uses) {
      wanted_[use.channel.value()] -= use.share;
      std::erase(on_[use.channel.value()], stream);
      if (on_[use.channel.value()].empty()) wanted_[use.channel.value()] = 0;
    }
  }

 private:
  std::span<const Stream> streams_;
  std::vector<double> left_;
  std::vector<double> wanted_;                  // per channel: the shares of active streams
  std::vector<std::vector<std::uint32_t>> on_;  // per channel: its active streams
};

}  // namespace

std::vector<double> completion_times(std::span<const Stream> streams, std::span<const double> capacity,
                                     double resolution) {
  Filling filling(streams, capacity);
  std::vector<double> left;
  for (const Stream& stream : streams) left.push_back(stream.bytes);
  std::vector<double> ended(streams.size(), kInfinite);
  std::vector<bool> active(streams.size(), true);
  double now = 0;
  for (std::size_t running = streams.size(); running > 0;) {
    const auto rate = filling.rates(active);
    double step = kInfinite;
    for (std::uint32_t s = 0; s < streams.size(); ++s)
      if (active[s] && rate[s] > 0) step = std::min(step, left[s] / rate[s]);
    if (step == kInfinite) break;
    now += step;
    const double close = now * std::max(resolution, kTiny);
    for (std::uint32_t s = 0; s < streams.size(); ++s) {
      if (!active[s] || rate[s] <= 0) continue;
      left[s] -= rate[s] == kInfinite ? left[s] : rate[s] * step;
      if (rate[s] != kInfinite && left[s] > rate[s] * close) continue;
      ended[s] = now;
      active[s] = false;
      filling.end(s);
      --running;
    }
  }
  return ended;
}

}  // namespace weft::flowsim
