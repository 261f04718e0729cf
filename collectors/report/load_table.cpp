#include "collectors/report/load_table.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "collectors/report/words.hpp"
#include "topology/base/statistics.hpp"
#include "topology/base/text_table.hpp"

namespace weft::report {
namespace {

double percent(Bandwidth part, Bandwidth whole) { return whole > Bandwidth() ? part / whole * 100 : 100; }

std::string latency_lines(const files::FlowsReport& report, std::size_t columns) {
  std::size_t qps = 0;
  for (const files::FlowReport& flow : report.flows) qps += flow.qps.size();
  if (report.latency.count() == 0) return "";
  return wrapped(
      fmt::format("{} {}s over {} queue pairs took {} (p50), {} (p99), {} (p99.9)", report.latency.count(),
                  to_string(report.operation), qps, duration(*report.latency.quantile(0.5)),
                  duration(*report.latency.quantile(0.99)), duration(*report.latency.quantile(0.999))),
      0, columns);
}

std::string receiver_lines(const files::FlowsReport& report, std::size_t columns) {
  if (report.receivers.empty()) return "";
  const bool incast = report.pattern == LoadPattern::incast;
  TextTable table(
      {{"RECEIVER"}, {"SENDERS"}, {incast ? "IN ALL" : "FROM EACH"}, {"OF ITS RIGHT"}, {"SLOWEST SENDER"}});
  for (const files::ReceiverReport& receiver : report.receivers)
    table.add({receiver.nic, fmt::format("{}", receiver.senders), readable(receiver.delivered),
               fmt::format("{:.0f}%", percent(receiver.delivered, receiver.wanted)),
               fmt::format("{}, {:.0f}%", receiver.slowest, receiver.slowest_share * 100)});
  return table.text(columns);
}

std::string flow_table(const files::FlowsReport& report, std::size_t columns) {
  std::string lines = receiver_lines(report, columns) + latency_lines(report, columns);
  for (const files::SlowNicReport& slow : report.slow)
    lines +=
        wrapped(fmt::format("slow in {}: {}, {} of its {} flows got less than {:.0f}{}% of what is usual",
                            slow.receives ? "receiving" : "sending", slow.nic, slow.slow, slow.flows,
                            kSlowFlow * 100, kNoBreak),
                0, columns);
  return lines;
}

constexpr std::size_t kMaxQueues = 5;

std::string queue_line(const std::vector<files::ChannelQueueReport>& queues) {
  std::string line;
  for (std::size_t i = 0; i < std::min(queues.size(), kMaxQueues); ++i)
    line += fmt::format("{}{} {}", line.empty() ? "" : ", ", fmt::join(queues[i].channels, " or "),
                        duration(queues[i].wait));
  if (queues.size() > kMaxQueues) line += fmt::format(", and {} more", queues.size() - kMaxQueues);
  return line;
}

std::string queueing_lines(const files::QueueingReport& report, std::size_t columns) {
  std::vector<Nanoseconds> loaded, idle;
  for (const files::LoadedTripReport& trip : report.trips)
    if (trip.loaded && trip.idle) loaded.push_back(trip.loaded->p50), idle.push_back(trip.idle->p50);
  if (loaded.empty()) return "";
  const std::string queues = queue_line(report.channels);
  return wrapped(fmt::format("round trips beside {} flows took {} in the median, and {} before the load{}",
                             loaded.size(), duration(median(loaded)), duration(median(idle)),
                             queues.empty() ? "" : "; waited in queues: " + queues),
                 0, columns);
}

}  // namespace

std::string load_part(const files::DiagnosisDocument& document, std::size_t columns) {
  std::string lines = document.flows ? flow_table(*document.flows, columns) : "";
  if (document.queueing) lines += queueing_lines(*document.queueing, columns);
  return lines.empty() ? "" : "\n" + lines;
}

}  // namespace weft::report
