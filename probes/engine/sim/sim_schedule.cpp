#include "probes/engine/sim/sim_schedule.hpp"

#include <algorithm>
#include <cmath>

namespace weft::sim {
namespace {

constexpr double kUnpaced = 1e6;  // packets per second that a prober without a pace sends

double nanoseconds_between(const datapath::Pace& pace) {
  return 1e9 / (pace.packets_per_second > 0 ? pace.packets_per_second : kUnpaced);
}

Nanoseconds rounded(double nanoseconds) { return Nanoseconds(std::llround(nanoseconds)); }

}  // namespace

Nanoseconds interval_of(const datapath::Pace& pace) { return rounded(nanoseconds_between(pace)); }

Nanoseconds length_of(const datapath::PingRequest& request) {
  double packets = 0;
  for (const datapath::PingSpec& spec : request.specs) packets += spec.count;
  return rounded(packets * nanoseconds_between(request.pace)) + request.pace.answer_wait;
}

Nanoseconds length_of(const datapath::TraceRequest& request) {
  double probes = 0;
  for (const datapath::TraceSpec& spec : request.specs) probes += spec.max_hops;
  return (rounded(probes * nanoseconds_between(request.pace)) + request.pace.answer_wait) * request.attempts;
}

PingSchedule::PingSchedule(const datapath::PingRequest& request, Nanoseconds begin)
    : request_(request), begin_(begin), interval_(nanoseconds_between(request.pace)) {
  for (const datapath::PingSpec& spec : request.specs) counts_.push_back(spec.count);
  std::ranges::sort(counts_);
  double sum = 0;
  for (const std::uint32_t count : counts_) {
    sums_.push_back(sum);
    sum += count;
  }
  sums_.push_back(sum);
}

double PingSchedule::before(std::uint32_t turns) const {
  const auto longer = static_cast<std::size_t>(std::ranges::lower_bound(counts_, turns) - counts_.begin());
  return sums_[longer] + static_cast<double>(turns) * static_cast<double>(counts_.size() - longer);
}

TimeWindow PingSchedule::window(std::uint32_t spec) const {
  const std::uint32_t count = request_.specs[spec].count;
  if (count == 0) return {begin_, Nanoseconds(0)};
  // Its place in a turn: of the specs before it, those that still send, if these are spread evenly.
  const auto place = [&](std::uint32_t turn) {
    const double all = before(turn + 1) - before(turn);
    return all * spec / static_cast<double>(counts_.size());
  };
  const double first = before(0) + place(0);
  const double last = before(count - 1) + place(count - 1);
  return {begin_ + rounded(first * interval_), rounded((last - first) * interval_)};
}

Nanoseconds send_time(const TimeWindow& window, std::uint32_t packet, std::uint32_t count) {
  if (count < 2) return window.start;
  return window.start + Nanoseconds(static_cast<std::int64_t>(static_cast<double>(window.length.count()) *
                                                              packet / (count - 1)));
}

}  // namespace weft::sim
