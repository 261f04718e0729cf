#include "collectors/report/document_charts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "topology/base/xml_text.hpp"

namespace weft::report {
namespace {

constexpr double kLeft = 80, kTop = 16, kWidth = 760, kHeight = 200;
constexpr std::size_t kPoints = 100;

struct Range {
  double low = 0;
  double high = 1;
};

double y_of(double value, Range range) {
  return kTop + kHeight * (1 - std::clamp((value - range.low) / (range.high - range.low), 0.0, 1.0));
}

std::string begin(std::string_view label, std::string_view below, Range range) {
  std::string svg = fmt::format(
      "<svg class=\"chart\" xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 860 {:.0f}\" role=\"img\" "
      "aria-label=\"{}\">\n",
      kTop + kHeight + 44, xml_escaped(label));
  for (const double share : {0.0, 0.25, 0.5, 0.75, 1.0}) {
    const double value = range.low + share * (range.high - range.low);
    svg += fmt::format(
        "<line class=\"grid\" x1=\"{0}\" x2=\"{1}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\"/><text class=\"name\" "
        "x=\"{3}\" y=\"{4:.1f}\">{5:.4g}</text>\n",
        kLeft, kLeft + kWidth, y_of(value, range), kLeft - 8, y_of(value, range) + 4, value);
  }
  return svg + fmt::format("<text class=\"tick\" x=\"{}\" y=\"{}\">{}</text>\n", kLeft + kWidth / 2,
                           kTop + kHeight + 38, xml_escaped(below));
}

/// Of sorted values, between the two that are next to it.
double quantile(const std::vector<double>& sorted, double share) {
  const double at = share * static_cast<double>(sorted.size() - 1);
  const auto low = static_cast<std::size_t>(at);
  const auto high = std::min(low + 1, sorted.size() - 1);
  return sorted[low] + (at - static_cast<double>(low)) * (sorted[high] - sorted[low]);
}

std::string curve(const std::vector<double>& sorted, const char* kind, Range range) {
  std::string points;
  for (std::size_t i = 0; i <= kPoints; ++i) {
    const double share = static_cast<double>(i) / kPoints;
    points += fmt::format("{:.1f},{:.1f} ", kLeft + share * kWidth, y_of(quantile(sorted, share), range));
  }
  return fmt::format("<polyline class=\"{}\" points=\"{}\"/>\n", kind, points);
}

Range range_of(const std::vector<Sample>& samples) {
  Range range{.low = samples.front().second.front(), .high = samples.front().second.front()};
  for (const auto& [name, values] : samples)
    range = {std::min(range.low, values.front()), std::max(range.high, values.back())};
  const double pad = std::max((range.high - range.low) * 0.05, std::abs(range.high) * 1e-3 + 1e-12);
  return {range.low - pad, range.high + pad};
}

std::string quantile_table(const std::vector<Sample>& samples) {
  std::string html = "<details><summary>As a table</summary><table><tr><th class=\"n\">share</th>";
  for (const auto& [name, values] : samples)
    html += fmt::format("<th class=\"n\">{}</th>", xml_escaped(name));
  html += samples.size() == 2 ? "<th class=\"n\">quotient</th></tr>\n" : "</tr>\n";
  for (const double share : std::array{0.0, 0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99, 1.0}) {
    html += fmt::format("<tr><td class=\"n\">{:.0f} %</td>", share * 100);
    for (const auto& [name, values] : samples)
      html += fmt::format("<td class=\"n\">{:.6g}</td>", quantile(values, share));
    if (samples.size() == 2)
      html += fmt::format("<td class=\"n\">{:.4f}</td>",
                          quantile(samples[1].second, share) / quantile(samples[0].second, share));
    html += "</tr>\n";
  }
  return html + "</table></details>\n";
}

}  // namespace

std::string quantile_chart(std::string_view label, const std::vector<Sample>& samples) {
  auto sorted = samples;
  for (auto& [name, values] : sorted) std::ranges::sort(values);
  const Range range = range_of(sorted);
  std::string svg = begin(label, label, range);
  for (const double share : {0.0, 0.25, 0.5, 0.75, 1.0})
    svg += fmt::format("<text class=\"tick\" x=\"{:.1f}\" y=\"{:.1f}\">{:.0f} %</text>\n",
                       kLeft + share * kWidth, kTop + kHeight + 18, share * 100);
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    svg += curve(sorted[i].second, i == 0 ? "first" : "second", range);
    svg += fmt::format("<text x=\"{}\" y=\"{:.1f}\">{}{}</text>\n", kLeft + 8,
                       kTop + 14 + 16 * static_cast<double>(i), xml_escaped(sorted[i].first),
                       i == 0 ? "" : " (dashed)");
  }
  return svg + "</svg>\n" + quantile_table(sorted);
}

std::string load_chart(const CarriedLoads& loads) {
  constexpr std::size_t kShown = 20;
  std::vector<std::pair<double, std::string>> order;
  for (const auto& [link, load] : loads.by_channel)
    if (load > 0) order.emplace_back(load, link);
  std::ranges::stable_sort(order, std::greater(), &std::pair<double, std::string>::first);
  const Range range{0, std::max(order.front().first, 1.0) * 1.05};
  std::string svg = begin("load of links, the greatest first",
                          fmt::format("links, the most loaded first (times {})", loads.yardstick), range);
  std::string points;
  for (std::size_t i = 0; i <= kPoints; ++i) {
    const double share = static_cast<double>(i) / kPoints;
    const auto at = static_cast<std::size_t>(share * static_cast<double>(order.size() - 1));
    points += fmt::format("{:.1f},{:.1f} ", kLeft + share * kWidth, y_of(order[at].first, range));
  }
  svg += fmt::format("<polyline class=\"first\" points=\"{}\"/>\n", points);
  svg += fmt::format(
      "<line class=\"second\" x1=\"{0}\" x2=\"{1}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\"/><text x=\"{3}\" "
      "y=\"{4:.1f}\">{5}</text>\n",
      kLeft, kLeft + kWidth, y_of(1, range), kLeft + 8, y_of(1, range) - 6, loads.yardstick);
  std::string html = svg + fmt::format(
                               "</svg>\n<details><summary>The most loaded as a table</summary><table><tr>"
                               "<th>link</th><th class=\"n\">times {}</th></tr>\n",
                               loads.yardstick);
  for (std::size_t i = 0; i < std::min(order.size(), kShown); ++i)
    html += fmt::format("<tr><td>{}</td><td class=\"n\">{:.3f}</td></tr>\n", xml_escaped(order[i].second),
                        order[i].first);
  return html + "</table></details>\n";
}

}  // namespace weft::report
