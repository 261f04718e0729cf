// A plan as a page that opens offline: charts are SVG with titles, the figures stand beside them, and no
// script runs. What comes from outside (names of fabrics, domains, rates) is escaped.
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "balancer/reliability/plan.hpp"
#include "topology/base/html_page.hpp"
#include "topology/base/outside_text.hpp"
#include "topology/base/xml_text.hpp"

namespace weft::reliability {
namespace {

constexpr double kBar = 240;  // pixels

std::string percent(double share, int digits = 2) { return fmt::format("{:.{}f} %", share * 100, digits); }

std::string heading(std::string_view text) { return fmt::format("<h2>{}</h2>\n", text); }

std::string harmless(std::string_view text) { return xml_escaped(outside_text(text)); }

/// A table of rows that are made already; names in `head` beginning with '#' are of numbers.
std::string table(std::initializer_list<std::string_view> head, const std::vector<std::string>& rows) {
  std::string text = "<table><tr>";
  for (const auto each : head)
    text += each.starts_with('#') ? fmt::format("<th class=\"n\">{}</th>", each.substr(1))
                                  : fmt::format("<th>{}</th>", each);
  return text + fmt::format("</tr>\n{}</table>\n", fmt::join(rows, ""));
}

std::string name_cell(std::string_view text) { return fmt::format("<td>{}</td>", harmless(text)); }
std::string number_cell(std::string_view text) { return fmt::format("<td class=\"n\">{}</td>", text); }

/// From `low` to `high` a line, to `mean` a bar; all of them shares of the widest one.
std::string bar_cell(double mean, double low, double high, const char* colour) {
  const auto at = [](double share) { return std::clamp(std::isfinite(share) ? share : 0, 0.0, 1.0) * kBar; };
  std::string text = fmt::format(
      "<td><svg width=\"{0:.0f}\" height=\"14\" role=\"presentation\"><rect y=\"2\" width=\"{1:.1f}\" "
      "height=\"10\" fill=\"{2}\"/>",
      kBar + 2, at(mean), colour);
  if (high > low)
    text += fmt::format("<line x1=\"{:.1f}\" x2=\"{:.1f}\" y1=\"7\" y2=\"7\" class=\"whisker\"/>", at(low),
                        at(high));
  return text + "</svg></td>";
}

std::string row(std::initializer_list<std::string> cells) {
  return fmt::format("<tr>{}</tr>\n", fmt::join(cells, ""));
}

/// The share of restarts that lack a host by number of spares, on a scale of tens, a step for each host; and,
/// dashed, what it were if hosts failed one by one (Poisson, M/G/infinity).
std::string step_curve(const Plan& plan) {
  constexpr double kLeft = 70, kTop = 12, kWidth = 620, kHeight = 200, kDecades = 5;
  std::size_t most = 1;
  while (most < plan.short_of.size() && plan.short_of[most - 1] > 0) ++most;
  const auto x = [&](double spares) { return kLeft + spares / static_cast<double>(most) * kWidth; };
  const auto y = [&](double share) {
    return kTop + std::min(-std::log10(std::max(share, 1e-9)), kDecades) / kDecades * kHeight;
  };
  std::string steps, alone;
  for (std::size_t spares = 0; spares < most; ++spares) {
    const auto add = [&](std::string& line, double share) {
      line +=
          fmt::format("{}{:.1f},{:.1f} {:.1f},{:.1f}", line.empty() ? "" : " ",
                      x(static_cast<double>(spares)), y(share), x(static_cast<double>(spares) + 1), y(share));
    };
    add(steps, spares < plan.short_of.size() ? plan.short_of[spares] : 0);
    add(alone, 1 - poisson_at_most(spares, plan.hosts_out));
  }
  std::string text = fmt::format(
      "<svg id=\"spares\" class=\"curve\" width=\"{:.0f}\" height=\"{:.0f}\" font-size=\"12\" "
      "role=\"img\"><title>Restarts "
      "that lack "
      "a host, by number of spares</title>\n",
      kLeft + kWidth + 60, kTop + kHeight + 40);
  for (int decade = 0; decade <= static_cast<int>(kDecades); ++decade) {
    const double share = std::pow(10, -decade);
    text += fmt::format(
        "<line x1=\"{0}\" x2=\"{1}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\" stroke=\"#d5dbe1\"/><text x=\"{3}\" "
        "y=\"{4:.1f}\" "
        "text-anchor=\"end\">{5:g} %</text>\n",
        kLeft, kLeft + kWidth, y(share), kLeft - 6, y(share) + 4, share * 100);
  }
  for (std::size_t i = 0; i <= 8; ++i) {
    const auto spares = most * i / 8;
    if (i > 0 && spares == most * (i - 1) / 8) continue;
    text += fmt::format("<text x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n",
                        x(static_cast<double>(spares)), kTop + kHeight + 16, spares);
  }
  return text +
         fmt::format(
             "<polyline fill=\"none\" stroke=\"#8b949e\" stroke-dasharray=\"5 4\" points=\"{}\"/>\n<polyline "
             "fill=\"none\" stroke=\"#0b62a8\" stroke-width=\"2\" points=\"{}\"/>\n<text x=\"{}\" y=\"{}\" "
             "text-anchor=\"middle\">spare hosts</text></svg>\n",
             alone, steps, kLeft + kWidth / 2, kTop + kHeight + 34);
}

std::string spares_part(const Plan& plan) {
  std::vector<std::string> rows, where;
  for (const SpareStep& each : plan.steps)
    rows.push_back(row({number_cell(fmt::format("{}", each.asked)),
                        number_cell(each.spares ? std::to_string(*each.spares) : "too few restarts"),
                        number_cell(std::to_string(each.independent))}));
  const auto span = [](const Span& of) {
    return of.least == of.most ? std::to_string(of.most) : fmt::format("{} to {}", of.least, of.most);
  };
  for (const WhereRow& each : plan.where)
    where.push_back(row({name_cell(each.kind), number_cell(std::to_string(each.groups)),
                         number_cell(span(each.hosts)), number_cell(span(each.spares))}));
  return heading("How many spares") + (plan.short_of.empty() ? "" : step_curve(plan)) +
         "<p class=\"faint\">Restarts that lack a host; dashed, as if hosts failed one by one.</p>\n" +
         table({"#restarts at full size", "#spares", "#if hosts failed one by one"}, rows) +
         heading("Where") + table({"in each", "#of them", "#hosts", "#spares"}, where);
}

std::string causes_part(const Plan& plan) {
  double widest = 1e-9;
  for (const CauseForecast& each : plan.causes)
    widest = std::max(widest, static_cast<double>(each.interruptions.high));
  std::vector<std::string> rows;
  for (const CauseForecast& each : plan.causes) {
    const auto& count = each.interruptions;
    rows.push_back(row({name_cell(cause_name(each.cause)), number_cell(fmt::format("{:.1f}", count.mean)),
                        number_cell(fmt::format("{} to {}", count.low, count.high)),
                        bar_cell(count.mean / widest, static_cast<double>(count.low) / widest,
                                 static_cast<double>(count.high) / widest, "#c8102e"),
                        number_cell(fmt::format("{:.1f}", each.failures.mean))}));
  }
  return heading("What interrupts the job") +
         table({"cause", "#interruptions", "#95 %", "", "#failures"}, rows);
}

std::string time_part(const Plan& plan) {
  const std::pair<const char*, Hours> kinds[]{{"checkpoints", plan.spent.checkpoints},
                                              {"work done again", plan.spent.repeated},
                                              {"detection", plan.spent.detection},
                                              {"restart", plan.spent.restart},
                                              {"waiting for hosts", plan.spent.waiting},
                                              {"slow links and parts", plan.spent.slow},
                                              {"sweeps", plan.spent.sweeps},
                                              {"fewer hosts", plan.spent.shrunk}};
  Hours widest(1e-9);
  for (const auto& [what, time] : kinds) widest = std::max(widest, time);
  std::vector<std::string> rows;
  for (const auto& [what, time] : kinds)
    rows.push_back(
        row({name_cell(what), number_cell(percent(time / plan.length)),
             number_cell(fmt::format("{:.3g} h", time.count())), bar_cell(time / widest, 0, 0, "#e07b00")}));
  return heading("Time lost, by kind") + table({"", "#share", "#in all", ""}, rows) +
         fmt::format("<p>Effective: {} (by the closed form {}).</p>\n", percent(plan.effective.mean),
                     percent(plan.closed_form));
}

std::string blast_part(const Plan& plan) {
  constexpr std::size_t kMaxRows = 100;
  const double widest = static_cast<double>(std::max<std::size_t>(plan.largest_group, 1));
  std::vector<std::string> rows;
  for (const BlastRow& each : plan.blast) {
    if (rows.size() == kMaxRows) break;
    rows.push_back(row({name_cell(each.what), number_cell(std::to_string(each.hosts)),
                        bar_cell(static_cast<double>(each.hosts) / widest, 0, 0, "#8a4fbf"),
                        number_cell(each.slowdown > 1 ? fmt::format("{:.1f} %", 100 / each.slowdown) : "")}));
  }
  std::string text = heading("Blast radius") + table({"what fails", "#hosts", "", "#links left"}, rows);
  if (plan.blast.size() > kMaxRows)
    text += fmt::format("<p>And {} of no more hosts.</p>\n", plan.blast.size() - kMaxRows);
  return text;
}

std::string gains_part(const char* title, const std::vector<Gain>& gains) {
  if (gains.empty()) return "";
  double widest = 1e-9;
  for (const Gain& each : gains) widest = std::max(widest, std::abs(each.high));
  std::vector<std::string> rows;
  for (const Gain& each : gains)
    rows.push_back(row({name_cell(each.what), number_cell(fmt::format("{:+.3f} %", each.gain * 100)),
                        number_cell(fmt::format("{:+.3f} to {:+.3f}", each.low * 100, each.high * 100)),
                        bar_cell(each.gain / widest, each.low / widest, each.high / widest, "#1d6b52")}));
  return heading(title) + table({"", "#gain of the time", "#95 %", ""}, rows);
}

std::string sweeps_part(const Plan& plan) {
  std::string text = heading("How often to sweep");
  std::vector<std::string> rows;
  if (!plan.sweeps.empty()) {
    for (const SweepRow& each : plan.sweeps)
      rows.push_back(
          row({name_cell(each.policy), number_cell(percent(each.effective)), number_cell(percent(each.cost)),
               number_cell(fmt::format("{:.3g} h", each.undetected.count()))}));
    return text + fmt::format("<p>{}</p>\n", harmless(best_sweep(plan))) +
           table({"sweeps", "#effective", "#cost", "#undetected"}, rows);
  }
  text +=
      "<p>These rates have no silent failures, so no sweep pays; that is what was counted, not what is "
      "there.</p>\n";
  for (const SilentRow& each : plan.if_silent)
    rows.push_back(row({number_cell(percent(each.share, 0)),
                        number_cell(fmt::format("{:.3g} h", each.sweep_every.count()))}));
  return rows.empty()
             ? text
             : text + table({"#silent besides, of the failures of NICs and cables", "#a sweep pays every"},
                            rows);
}

std::string shelf_part(const Plan& plan) {
  std::vector<std::string> rows;
  for (const ShelfRow& each : plan.shelf)
    rows.push_back(row({name_cell(each.what), number_cell(fmt::format("{:.1f}", each.mean)),
                        number_cell(std::to_string(each.parts))}));
  return heading("Parts on the shelf") +
         table({fmt::format("within {:.3g} days", plan.lead_time.count() / 24), "#mean", "#.99"}, rows);
}

}  // namespace

std::string plan_html(const Plan& plan) {
  std::string text = html_head("Plan of " + plan.fabric);
  text += fmt::format("<h1>{}</h1>\n", harmless(plan_sentence(plan)));
  text += spares_part(plan) + causes_part(plan) + time_part(plan) +
          gains_part("What to improve first: 10 % less of", plan.improvements) +
          gains_part("What if", plan.what_ifs) + sweeps_part(plan) + blast_part(plan) + shelf_part(plan);
  if (!plan.differs.empty())
    text += heading("Why simulation and closed forms differ") +
            fmt::format("<p>{}</p>\n", harmless(fmt::format("{}.", fmt::join(plan.differs, "; "))));
  if (!plan.guesses.empty())
    text += heading("Guesses") +
            fmt::format("<p>{}</p>\n", harmless(fmt::format("{}.", fmt::join(plan.guesses, "; "))));
  return text +
         fmt::format("<p class=\"faint\">Fabric {}, {} histories, seed {}.</p>\n", harmless(plan.fabric),
                     plan.histories, plan.seed) +
         std::string(kHtmlEnd);
}

}  // namespace weft::reliability
