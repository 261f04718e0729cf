#include "tests/bench/support/svg_plot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace weft::bench {
namespace {

constexpr double kWidth = 320;  // of a panel's drawing, in pixels
constexpr double kHeight = 220;
constexpr double kLeft = 52;
constexpr double kTop = 52;
constexpr double kGap = 60;
constexpr double kFoot = 74;
constexpr int kTicks = 5;

// Told apart without colour too: each has its own dashes. Colours after Okabe and Ito (2008).
constexpr std::array kColours{"#0072B2", "#D55E00", "#009E73", "#CC79A7", "#555555"};
constexpr std::array kDashes{"", "6 3", "2 3", "8 3 2 3", "1 4"};

class Drawing {
 public:
  explicit Drawing(const Plot& plot) : plot_(plot) {}

  std::string text() {
    const double panels = static_cast<double>(plot_.panels.size());
    const double width = 2 * kLeft + panels * kWidth + (panels - 1) * kGap;
    const double height = kTop + kHeight + kFoot;
    out_ = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" "
        "font-family=\"sans-serif\" "
        "font-size=\"11\">\n<rect width=\"{0:.0f}\" height=\"{1:.0f}\" fill=\"white\"/>\n",
        width, height);
    write(width / 2, 18, "middle", plot_.title, 14);
    for (std::size_t i = 0; i < plot_.panels.size(); ++i) {
      left_ = kLeft + static_cast<double>(i) * (kWidth + kGap);
      panel(plot_.panels[i]);
    }
    legend(height - 12);
    return out_ + "</svg>\n";
  }

 private:
  double x_at(std::size_t i) const {
    const double span = std::log(plot_.x.back() / plot_.x.front());
    return left_ + 8 + (kWidth - 16) * (span > 0 ? std::log(plot_.x[i] / plot_.x.front()) / span : 0.5);
  }
  static double y_at(const Panel& panel, double y) {
    return kTop + kHeight * (1 - (std::clamp(y, panel.lowest, 1.0) - panel.lowest) / (1 - panel.lowest));
  }

  void write(double x, double y, const char* anchor, const std::string& text, int size = 11) {
    out_ += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\" font-size=\"{}\">{}</text>\n", x,
                        y, anchor, size, text);
  }

  void panel(const Panel& panel) {
    write(left_ + kWidth / 2, kTop - 12, "middle", panel.title, 12);
    for (int tick = 0; tick <= kTicks; ++tick) {
      const double value = panel.lowest + (1 - panel.lowest) * tick / kTicks;
      const double y = y_at(panel, value);
      out_ += fmt::format("<path d=\"M{:.1f} {:.1f}h{:.0f}\" stroke=\"#ddd\"/>\n", left_, y, kWidth);
      write(left_ - 6, y + 4, "end", fmt::format("{:.2f}", value));
    }
    for (std::size_t i = 0; i < plot_.x.size(); ++i)
      write(x_at(i), kTop + kHeight + 16, "middle", plot_.x_names[i]);
    write(left_ + kWidth / 2, kTop + kHeight + 34, "middle", plot_.x_title);
    for (std::size_t l = panel.lines.size(); l-- > 0;) line(panel, l);  // the first is drawn on top
  }

  void line(const Panel& panel, std::size_t l) {
    std::string points;
    for (std::size_t i = 0; i < plot_.x.size(); ++i)
      points += fmt::format("{:.1f},{:.1f} ", x_at(i), y_at(panel, panel.lines[l].y[i]));
    out_ += fmt::format(
        "<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"{}\" stroke-dasharray=\"{}\"/>\n",
        points, kColours[l % kColours.size()], l == 0 ? 2.5 : 1.8, kDashes[l % kDashes.size()]);
  }

  void legend(double y) {
    double x = kLeft;
    const auto& lines = plot_.panels.front().lines;
    for (std::size_t l = 0; l < lines.size(); ++l) {
      out_ += fmt::format(
          "<path d=\"M{:.1f} {:.1f}h28\" stroke=\"{}\" stroke-width=\"2\" stroke-dasharray=\"{}\"/>\n", x,
          y - 4, kColours[l % kColours.size()], kDashes[l % kDashes.size()]);
      write(x + 34, y, "start", lines[l].name);
      x += 60 + 6.5 * static_cast<double>(lines[l].name.size());
    }
  }

  const Plot& plot_;
  double left_ = 0;
  std::string out_;
};

}  // namespace

std::string svg(const Plot& plot) { return Drawing(plot).text(); }

}  // namespace weft::bench
