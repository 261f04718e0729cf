#include "collectors/report/routing_table.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "topology/base/text.hpp"
#include "topology/base/text_table.hpp"
#include "topology/model/fabric.hpp"

namespace weft::report {
namespace {

constexpr std::size_t kMaxSwitches = 8;  // of the top tier that get a line

constexpr std::size_t kIndent = 2;
constexpr std::size_t kDeeper = 4;

std::string broken_text(const Fabric& fabric, const routing::RoutingReport& report, std::size_t columns) {
  std::string text;
  for (const auto& broken : report.broken)
    text += wrapped(
        fmt::format("LID {}: {} at {}", broken.lid.value(), to_string(broken.end), fabric.name_of(broken.at)),
        kIndent, columns, kDeeper);
  return text;
}

std::string ring_text(const Fabric& fabric, const std::vector<ChannelId>& ring, std::size_t columns) {
  if (ring.empty()) return "rings of channels that wait for each other: none\n";
  std::string text = fmt::format("{} channels wait for each other in a ring:\n", ring.size());
  for (const ChannelId channel : ring) text += wrapped(fabric.name_of(channel), kIndent, columns, kDeeper);
  return text;
}

std::string top_text(const Fabric& fabric, const routing::RoutingReport::TierUse& top, std::size_t columns) {
  if (top.switches.empty()) return {};
  std::uint64_t sum = 0;
  for (const auto& [node, routes] : top.switches) sum += routes;
  std::string text =
      wrapped(fmt::format("top tier: the busiest switch has {:.2f} times the mean of {} switches",
                          top.busiest_over_mean, top.switches.size()),
              0, columns);
  TextTable table({{"switch"}, {"routes", true}, {"share", true}});
  auto ranked = top.switches;
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  for (std::size_t i = 0; i < std::min(ranked.size(), kMaxSwitches); ++i)
    table.add({fabric.name_of(ranked[i].first), fmt::format("{}", ranked[i].second),
               fmt::format("{:.1f}%", sum == 0 ? 0.0
                                               : 100.0 * static_cast<double>(ranked[i].second) /
                                                     static_cast<double>(sum))});
  text += table.text(columns, kIndent);
  if (ranked.size() > kMaxSwitches) text += fmt::format("  ... and {} more\n", ranked.size() - kMaxSwitches);
  return text;
}

}  // namespace

std::string routing_table(const Fabric& fabric, const routing::RoutingReport& report,
                          const std::optional<std::string>& engine, std::size_t columns) {
  const auto line = [&](const std::string& text) { return wrapped(text, 0, columns, kDeeper); };
  std::string text =
      line(fmt::format("fabric {}: {} of {} routes (source NIC, destination LID) arrive", fabric.name(),
                       report.routes - report.unreachable, report.routes)) +
      line(fmt::format("routing engine: {}; {}", engine.value_or("not known"), describe_engine(report))) +
      line(fmt::format("adaptive routing: {}", describe_adaptive(report.adaptive)));
  if (report.unreachable > 0)
    text += line(fmt::format("{} do not arrive, {} of them loop; the first:", report.unreachable,
                             report.looping)) +
            broken_text(fabric, report, columns);
  return text + ring_text(fabric, report.credit_loop, columns) + top_text(fabric, report.top, columns);
}

}  // namespace weft::report
