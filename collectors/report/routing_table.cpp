#include "collectors/report/routing_table.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "topology/model/fabric.hpp"

namespace weft::report {
namespace {

constexpr std::size_t kMaxSwitches = 8;  // of the top tier that get a line

std::string broken_text(const Fabric& fabric, const routing::RoutingReport& report) {
  std::string text;
  for (const auto& broken : report.broken)
    text += fmt::format("  LID {}: {} at {}\n", broken.lid.value(), to_string(broken.end),
                        fabric.name_of(broken.at));
  return text;
}

std::string ring_text(const Fabric& fabric, const std::vector<ChannelId>& ring) {
  if (ring.empty()) return "rings of channels that wait for each other: none\n";
  std::string text = fmt::format("{} channels wait for each other in a ring:\n", ring.size());
  for (const ChannelId channel : ring) text += fmt::format("  {}\n", fabric.name_of(channel));
  return text;
}

std::string top_text(const Fabric& fabric, const routing::RoutingReport::TierUse& top) {
  if (top.switches.empty()) return {};
  std::uint64_t sum = 0;
  for (const auto& [node, routes] : top.switches) sum += routes;
  std::string text = fmt::format("top tier: the busiest switch has {:.2f} times the mean of {} switches\n",
                                 top.busiest_over_mean, top.switches.size());
  auto ranked = top.switches;
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  for (std::size_t i = 0; i < std::min(ranked.size(), kMaxSwitches); ++i)
    text += fmt::format(
        "  {:<16}{:>12} routes  {:5.1f} %\n", fabric.name_of(ranked[i].first), ranked[i].second,
        sum == 0 ? 0.0 : 100.0 * static_cast<double>(ranked[i].second) / static_cast<double>(sum));
  if (ranked.size() > kMaxSwitches) text += fmt::format("  ... and {} more\n", ranked.size() - kMaxSwitches);
  return text;
}

}  // namespace

std::string routing_table(const Fabric& fabric, const routing::RoutingReport& report,
                          const std::optional<std::string>& engine) {
  std::string text = fmt::format("fabric {}: {} of {} routes (source NIC, destination LID) arrive\n",
                                 fabric.name(), report.routes - report.unreachable, report.routes);
  text += fmt::format("routing engine: {}; {}\n", engine.value_or("not known"), describe_engine(report));
  text += fmt::format("adaptive routing: {}\n", describe_adaptive(report.adaptive));
  if (report.unreachable > 0)
    text += fmt::format("{} do not arrive, {} of them loop; the first:\n{}", report.unreachable,
                        report.looping, broken_text(fabric, report));
  return text + ring_text(fabric, report.credit_loop) + top_text(fabric, report.top);
}

}  // namespace weft::report
