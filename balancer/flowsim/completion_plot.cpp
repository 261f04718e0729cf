#include "balancer/flowsim/completion_plot.hpp"

#include <algorithm>
#include <cmath>

#include "topology/base/xml_text.hpp"

namespace weft::flowsim {
namespace {

// Pixels.
constexpr int kRow = 26;
constexpr int kBar = 18;
constexpr int kTop = 48;
constexpr int kNames = 160;
constexpr int kBars = 460;
constexpr int kNumbers = 160;

std::string number_of(const SpreadOutcome& outcome) {
  if (!std::isfinite(outcome.seconds)) return "never";
  const auto time = Nanoseconds(std::llround(outcome.seconds * 1e9));
  return fmt::format("{}, {:.2f} x optimum", to_string(time), outcome.over_bound);
}

std::string row(const SpreadOutcome& outcome, int y, double longest) {
  const double part = std::isfinite(outcome.seconds) && longest > 0 ? outcome.seconds / longest : 1;
  const char* fill = outcome.strategy.spread == Spread::weft ? "#1a7f5a" : "#8a94a6";
  const int text = y + kBar - 5;
  return fmt::format(
      "<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>"
      "<rect x=\"{}\" y=\"{}\" width=\"{:.1f}\" height=\"{}\" fill=\"{}\"/>"
      "<text x=\"{:.1f}\" y=\"{}\">{}</text>\n",
      kNames - 8, text, describe(outcome.strategy), kNames, y, part * kBars, kBar, fill,
      kNames + part * kBars + 6, text, number_of(outcome));
}

}  // namespace

std::string completion_plot(std::string_view title, const std::vector<SpreadOutcome>& outcomes) {
  double longest = 0;
  for (const SpreadOutcome& outcome : outcomes)
    if (std::isfinite(outcome.seconds)) longest = std::max(longest, outcome.seconds);
  const int height = kTop + kRow * static_cast<int>(outcomes.size()) + 12;
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{}\" height=\"{}\" font-family=\"sans-serif\" "
      "font-size=\"13\">\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n"
      "<text x=\"12\" y=\"26\" font-size=\"15\">Time to completion: {}</text>\n",
      kNames + kBars + kNumbers, height, xml_escaped(title));
  for (std::size_t i = 0; i < outcomes.size(); ++i)
    svg += row(outcomes[i], kTop + kRow * static_cast<int>(i), longest);
  return svg + "</svg>\n";
}

}  // namespace weft::flowsim
