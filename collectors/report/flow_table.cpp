#include "collectors/report/flow_table.hpp"

#include <algorithm>

#include "collectors/report/wrapped.hpp"

namespace weft {
namespace {

int decimals(double value) { return value >= 100 ? 0 : value >= 10 ? 1 : 2; }

/// To three digits or more, without an exponent: `1.86 us`, `1.02 ms`, `1072 s`.
std::string duration(Nanoseconds time) {
  const auto said = [&](double size, const char* unit) {
    const double value = static_cast<double>(time.count()) / size;
    return fmt::format("{:.{}f}{}{}", value, decimals(value), kNoBreak, unit);
  };
  if (time >= std::chrono::seconds(1)) return said(1e9, "s");
  if (time >= std::chrono::milliseconds(1)) return said(1e6, "ms");
  return said(1e3, "us");
}

double percent(Bandwidth part, Bandwidth whole) { return whole > Bandwidth() ? part / whole * 100 : 100; }

std::string rate(Bandwidth rate) {
  for (const auto& [unit, size] : {std::pair{'G', 1e9}, {'M', 1e6}, {'K', 1e3}})
    if (rate.bits_per_second() >= size) return fmt::format("{:.3g}{}", rate.bits_per_second() / size, unit);
  return fmt::format("{:.3g}", rate.bits_per_second());
}

std::string latency_lines(const FlowsReport& report, std::size_t columns) {
  std::size_t qps = 0;
  for (const FlowReport& flow : report.flows) qps += flow.qps.size();
  if (report.latency.count() == 0) return "";
  return wrapped(
      fmt::format("{} {}s over {} queue pairs took {} (p50), {} (p99), {} (p99.9)", report.latency.count(),
                  to_string(report.operation), qps, duration(*report.latency.quantile(0.5)),
                  duration(*report.latency.quantile(0.99)), duration(*report.latency.quantile(0.999))),
      0, columns);
}

std::string receiver_lines(const FlowsReport& report) {
  if (report.receivers.empty()) return "";
  std::size_t width = 8;
  for (const ReceiverReport& receiver : report.receivers) width = std::max(width, receiver.nic.size());
  const bool incast = report.pattern == LoadPattern::incast;
  std::string lines = fmt::format("{:<{}}  SENDERS  {:<9}  OF ITS RIGHT  SLOWEST SENDER\n", "RECEIVER", width,
                                  incast ? "IN ALL" : "FROM EACH");
  for (const ReceiverReport& receiver : report.receivers)
    lines += fmt::format("{:<{}}  {:<7}  {:<9}  {:<12}  {}, {:.0f}%\n", receiver.nic, width, receiver.senders,
                         rate(receiver.delivered),
                         fmt::format("{:.0f}%", percent(receiver.delivered, receiver.wanted)),
                         receiver.slowest, receiver.slowest_share * 100);
  return lines;
}

}  // namespace

std::string flow_table(const FlowsReport& report, std::size_t columns) {
  std::string lines = receiver_lines(report) + latency_lines(report, columns);
  for (const SlowNicReport& slow : report.slow)
    lines +=
        wrapped(fmt::format("slow in {}: {}, {} of its {} flows got less than {:.0f}{}% of what is usual",
                            slow.receives ? "receiving" : "sending", slow.nic, slow.slow, slow.flows,
                            kSlowFlow * 100, kNoBreak),
                0, columns);
  return lines.empty() ? "" : "\n" + lines;
}

}  // namespace weft
