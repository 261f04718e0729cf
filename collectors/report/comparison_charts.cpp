#include "collectors/report/comparison_charts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "topology/base/xml_text.hpp"
#include "topology/files/json_text.hpp"

namespace weft::report {
namespace {

using compare::CellResult;
using compare::Decision;
using files::put;
using Text = files::JsonText;

constexpr double kWidth = 860;
constexpr double kLeft = 300;   // of the plot: names stand before it
constexpr double kRight = 840;  // of the plot
constexpr double kRow = 26;
constexpr double kTop = 34;
constexpr double kMinFactor = 1.02;  // of the axis: it has a length
constexpr double kMaxFactor = 8;     // of the axis: what goes beyond is cut there, and the table has it

/// Ratios on a logarithmic axis that has 1 in its middle.
class RatioAxis {
 public:
  explicit RatioAxis(double furthest) : most_(std::log(std::clamp(furthest, kMinFactor, kMaxFactor))) {}
  double x(double ratio) const {
    const double log = std::clamp(std::log(std::max(ratio, 1e-9)), -most_, most_);
    return kLeft + (log / most_ + 1) / 2 * (kRight - kLeft);
  }
  double factor() const { return std::exp(most_); }

 private:
  double most_;
};

double furthest_of(const CellResult& cell) {
  double most = compare::advantage(cell.ratio()) + 1;
  if (cell.test) most = std::max({most, cell.test->high, 1 / std::max(cell.test->low, 1e-9)});
  return most;
}

void put_axis(Text& out, const RatioAxis& axis, double margin, double bottom) {
  put(out, "<rect class=\"band\" x=\"{:.1f}\" y=\"{}\" width=\"{:.1f}\" height=\"{:.1f}\"/>\n",
      axis.x(1 / (1 + margin)), kTop - 6, axis.x(1 + margin) - axis.x(1 / (1 + margin)), bottom - kTop + 6);
  for (const double share : {-1.0, -0.5, 0.0, 0.5, 1.0}) {
    const double ratio = std::pow(axis.factor(), share);
    put(out,
        "<line class=\"grid\" x1=\"{0:.1f}\" y1=\"{1}\" x2=\"{0:.1f}\" y2=\"{2:.1f}\"/>"
        "<text class=\"tick\" x=\"{0:.1f}\" y=\"{3}\">{4:.3g}</text>\n",
        axis.x(ratio), kTop - 6, bottom, kTop - 12, ratio);
  }
}

/// A shape for each verdict, so that no one needs the colours: circle equal, diamond differs, hollow square
/// undecided.
void put_point(Text& out, Decision decision, double x, double y) {
  switch (decision) {
    case Decision::equal:
      return put(out, "<circle class=\"equal\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"5\"/>\n", x, y);
    case Decision::differs:
      return put(out, "<path class=\"differs\" d=\"M{0:.1f} {1:.1f}l7 7l-7 7l-7 -7z\"/>\n", x, y - 7);
    case Decision::undecided:
      return put(out, "<rect class=\"undecided\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"9\" height=\"9\"/>\n",
                 x - 4.5, y - 4.5);
  }
}

void begin(Text& out, double height, std::string_view label) {
  put(out,
      "<svg class=\"chart\" xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {:.0f}\" role=\"img\" "
      "aria-label=\"{}\">\n",
      kWidth, height, xml_escaped(label));
}

}  // namespace

std::string forest_chart(const compare::Comparison& comparison, std::size_t most) {
  const std::size_t rows = std::min(most, comparison.cells.size());
  double furthest = (1 + comparison.settings.margin) * (1 + comparison.settings.margin);
  for (std::size_t i = 0; i < rows; ++i) furthest = std::max(furthest, furthest_of(comparison.cells[i]));
  const RatioAxis axis(furthest);
  const double bottom = kTop + static_cast<double>(rows) * kRow;
  Text out;
  begin(out, bottom + 24, "ratio B/A of each cell with its interval");
  put_axis(out, axis, comparison.settings.margin, bottom);
  for (std::size_t i = 0; i < rows; ++i) {
    const CellResult& cell = comparison.cells[i];
    const double y = kTop + (static_cast<double>(i) + 0.5) * kRow;
    put(out, "<g><title>{}: {}</title><text class=\"name\" x=\"{}\" y=\"{:.1f}\">{}</text>\n",
        xml_escaped(cell_name(cell.cell)), xml_escaped(cell_ratio(cell)), kLeft - 12, y + 4,
        xml_escaped(cell_name(cell.cell)));
    if (cell.test)
      put(out, "<line class=\"{0} interval\" x1=\"{1:.1f}\" y1=\"{3:.1f}\" x2=\"{2:.1f}\" y2=\"{3:.1f}\"/>\n",
          to_string(cell.decision), axis.x(cell.test->low), axis.x(cell.test->high), y);
    put_point(out, cell.decision, axis.x(cell.ratio()), y);
    put(out, "</g>\n");
  }
  const bool has_arrivals = std::ranges::any_of(
      comparison.cells, [](const CellResult& cell) { return cell.cell.metric == compare::Metric::arrived; });
  put(out,
      "<text class=\"tick\" x=\"{:.1f}\" y=\"{:.1f}\">B/A; shaded: within the margin{}; circle: equal, "
      "diamond: differs, square: undecided</text></svg>\n",
      (kLeft + kRight) / 2, bottom + 16,
      has_arrivals ? fmt::format(" ({:.2g} % of what arrives)",
                                 comparison.settings.margin_of(compare::Metric::arrived) * 100)
                   : "");
  return fmt::to_string(out);
}

std::string blocks_chart(const CellResult& cell, double margin) {
  constexpr double kHeight = 130;
  constexpr double kPlot = 90;  // pixels high
  double furthest = (1 + margin) * (1 + margin);
  for (const double ratio : cell.blocks) furthest = std::max({furthest, ratio, 1 / std::max(ratio, 1e-9)});
  const double most = std::log(std::clamp(furthest, kMinFactor, kMaxFactor));
  const auto y = [&](double ratio) {
    return 20 + kPlot / 2 * (1 - std::clamp(std::log(std::max(ratio, 1e-9)) / most, -1.0, 1.0));
  };
  const double step = (kWidth - 100) / static_cast<double>(std::max<std::size_t>(cell.blocks.size(), 1));
  Text out;
  begin(out, kHeight, "ratio B/A of each block: " + cell_name(cell.cell));
  put(out, "<rect class=\"band\" x=\"60\" y=\"{:.1f}\" width=\"{}\" height=\"{:.1f}\"/>\n", y(1 + margin),
      kWidth - 80, y(1 / (1 + margin)) - y(1 + margin));
  for (const double ratio : {std::exp(-most), 1.0, std::exp(most)})
    put(out,
        "<line class=\"grid\" x1=\"60\" y1=\"{0:.1f}\" x2=\"{1}\" y2=\"{0:.1f}\"/><text class=\"name\" "
        "x=\"54\" y=\"{2:.1f}\">{3:.3g}</text>\n",
        y(ratio), kWidth - 20, y(ratio) + 4, ratio);
  std::string line;
  for (std::size_t i = 0; i < cell.blocks.size(); ++i) {
    const double x = 60 + step * (static_cast<double>(i) + 0.5);
    line += fmt::format("{:.1f},{:.1f} ", x, y(cell.blocks[i]));
    put(out,
        "<circle class=\"dot\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3.5\"><title>block {}: "
        "{:.4g}</title></circle>\n",
        x, y(cell.blocks[i]), i + 1, cell.blocks[i]);
  }
  put(out, "<polyline class=\"trace\" points=\"{}\"/></svg>\n", line);
  return fmt::to_string(out);
}

std::string layers_chart(const compare::Reasons& reasons) {
  const double bottom = kTop + static_cast<double>(reasons.layers.size() + 1) * kRow;
  double low = -0.1;
  double high = 1.1;
  for (const compare::LayerShare& share : reasons.layers)
    if (share.interval)
      low = std::min(low, share.interval->first), high = std::max(high, share.interval->second);
  low = std::max(low, -2.0);
  high = std::min(high, 3.0);
  const auto x = [&](double share) {
    return kLeft + (std::clamp(share, low, high) - low) / (high - low) * (kRight - kLeft);
  };
  Text out;
  begin(out, bottom + 10, "share of the difference by layer: " + cell_name(reasons.cell));
  for (const double share : {0.0, 0.5, 1.0})
    put(out,
        "<line class=\"grid\" x1=\"{0:.1f}\" y1=\"{1}\" x2=\"{0:.1f}\" y2=\"{2:.1f}\"/><text class=\"tick\" "
        "x=\"{0:.1f}\" y=\"{3}\">{4:.0f} %</text>\n",
        x(share), kTop - 6, bottom, kTop - 12, share * 100);
  const auto put_bar = [&](std::size_t row, std::string_view name, double share, const char* kind) {
    const double y = kTop + static_cast<double>(row) * kRow + 5;
    put(out, "<text class=\"name\" x=\"{}\" y=\"{:.1f}\">{}</text>\n", kLeft - 12, y + 12, xml_escaped(name));
    put(out, "<rect class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"16\"/>\n", kind,
        std::min(x(0), x(share)), y, std::max(std::abs(x(share) - x(0)), 1.0));
  };
  for (std::size_t i = 0; i < reasons.layers.size(); ++i) {
    const compare::LayerShare& share = reasons.layers[i];
    put_bar(i, to_string(share.layer), share.share, "bar");
    if (share.interval)
      put(out, "<line class=\"whisker\" x1=\"{0:.1f}\" y1=\"{2:.1f}\" x2=\"{1:.1f}\" y2=\"{2:.1f}\"/>\n",
          x(share.interval->first), x(share.interval->second), kTop + static_cast<double>(i) * kRow + 13);
  }
  put_bar(reasons.layers.size(), "unexplained", reasons.unexplained, "bar rest");
  put(out, "</svg>\n");
  return fmt::to_string(out);
}

}  // namespace weft::report
