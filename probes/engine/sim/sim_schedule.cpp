#include "probes/engine/sim/sim_schedule.hpp"

#include <cmath>

namespace weft::sim {
namespace {

constexpr double kUnpaced = 1e6;  // packets per second that a prober without a pace sends

double nanoseconds_between(const datapath::Pace& pace) {
  return 1e9 / (pace.packets_per_second > 0 ? pace.packets_per_second : kUnpaced);
}

/// ns, of all packets.
double sending_time(const datapath::PingRequest& request) {
  double packets = 0;
  for (const datapath::PingSpec& spec : request.specs) packets += spec.count;
  return packets * nanoseconds_between(request.pace);
}

Nanoseconds rounded(double nanoseconds) { return Nanoseconds(std::llround(nanoseconds)); }

}  // namespace

Nanoseconds interval_of(const datapath::Pace& pace) { return rounded(nanoseconds_between(pace)); }

Nanoseconds length_of(const datapath::PingRequest& request) {
  return rounded(sending_time(request)) + request.pace.answer_wait;
}

Nanoseconds length_of(const datapath::TraceRequest& request) {
  double probes = 0;
  for (const datapath::TraceSpec& spec : request.specs) probes += spec.hops();
  return (rounded(probes * nanoseconds_between(request.pace)) + request.pace.answer_wait) * request.attempts;
}

PingSchedule::PingSchedule(const datapath::PingRequest& request, Nanoseconds begin)
    : request_(request), begin_(begin), length_(sending_time(request)) {}

TimeWindow PingSchedule::window(std::uint32_t spec) const {
  const double count = request_.specs[spec].count;
  if (count == 0) return {begin_, Nanoseconds(0)};
  const double place = spec / static_cast<double>(request_.specs.size());  // in a turn
  return {begin_ + rounded(length_ * place / count), rounded(length_ * (count - 1) / count)};
}

Nanoseconds PingSchedule::end() const { return begin_ + rounded(length_); }

Nanoseconds send_time(const TimeWindow& window, std::uint32_t packet, std::uint32_t count) {
  if (count < 2) return window.start;
  return window.start + Nanoseconds(static_cast<std::int64_t>(static_cast<double>(window.length.count()) *
                                                              packet / (count - 1)));
}

}  // namespace weft::sim
