#include "tests/bench/diagnosis/tables.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <string_view>

namespace weft::bench {
namespace {

/// {figure} stands for a figure with three digits after the point, {figure:N} for N of them.
constexpr std::string_view kTables = R"(
| precision / recall | mid: 25 k x 100 packets, .2-2 % | low: 100 k x 100, .1-.2 % | limit: 25 k x 100, .1-.2 % | Pareto: 25 k flows, shape 1.05, mean 56, cap 10,000, .2-2 % |
|---|---|---|---|---|
| weft | {precision_mid} / {recall_mid} | {precision_low} / {recall_low} | {precision_limit} / {recall_limit} | {precision_pareto} / {recall_pareto} |
| Flock; as tuned at mid | {precision_mid_flock} / {recall_mid_flock} | {precision_low_flock} / {recall_low_flock}; {precision_low_flock_as_mid} / {recall_low_flock_as_mid} | {precision_limit_flock} / {recall_limit_flock}; {precision_limit_flock_as_mid} / {recall_limit_flock_as_mid} | |
| 007; as tuned at mid | {precision_mid_007} / {recall_mid_007} | {precision_low_007} / {recall_low_007}; {precision_low_007_as_mid} / {recall_low_007_as_mid} | {precision_limit_007} / {recall_limit_007}; {precision_limit_007_as_mid} / {recall_limit_007_as_mid} | |
| NetBouncer; as tuned at mid | {precision_mid_netbouncer} / {recall_mid_netbouncer} | {precision_low_netbouncer} / {recall_low_netbouncer}; {precision_low_netbouncer_as_mid} / {recall_low_netbouncer_as_mid} | {precision_limit_netbouncer} / {recall_limit_netbouncer}; {precision_limit_netbouncer_as_mid} / {recall_limit_netbouncer_as_mid} | |

Each scenario, at the defaults:

| scenario | precision | recall / bound | from 16 nats (faults): recall / bound / bound but for the backgrounds | 10 to 16 nats (faults): recall / bound |
|---|---|---|---|---|
)";

constexpr std::string_view kScenario =
    "| {{name}} | {precision_{{key}}} | {recall_{{key}}} / {recall_{{key}}_bound} | "
    "({faults_16nats_{{key}}:0}) "
    "{recall_16nats_{{key}}} / {recall_16nats_{{key}}_bound} / {recall_16nats_{{key}}_usual} | "
    "({faults_10nats_{{key}}:0}) {recall_10nats_{{key}}} / {recall_10nats_{{key}}_bound} |\n";
constexpr std::pair<const char*, const char*> kScenarios[] = {
    {"mid", "mid"},
    {"low", "low"},
    {"limit", "limit"},
    {"Pareto", "pareto"},
    {"mid, 2 % of links removed", "mid_removed"},
    {"low, 2 % removed", "low_removed"},
    {"limit, 2 % removed", "limit_removed"},
    {"leaf-spine 120x90, mid", "120x90"},
    {"120x90, 2 % removed", "120x90_removed"},
    {"rails, 24,576 NICs, mid", "rails"},
    {"rails, 2 % removed", "rails_removed"},
    {"faulty NIC channels, mid", "nics_mid"},
    {"faulty NIC channels, low", "nics_low"},
};

constexpr std::string_view kRest =
    R"(| all but NICs | | | {recall_16nats} / {recall_16nats_bound} / {recall_16nats_usual} | |

At equal precision, over 400 seeds apart (`--only bound`):

| at the limit, recall at a precision of | .999 | .995 | .99 | .98 | .95 |
|---|---|---|---|---|---|
| bound: knows everything else | {recall_limit_at_0.999_bound} | {recall_limit_at_0.995_bound} | {recall_limit_at_0.99_bound} | {recall_limit_at_0.98_bound} | {recall_limit_at_0.95_bound} |
| bound that knows the other faults, but of the healthy channels only the mean | {recall_limit_at_0.999_usual} | {recall_limit_at_0.995_usual} | {recall_limit_at_0.99_usual} | {recall_limit_at_0.98_usual} | {recall_limit_at_0.95_usual} |
| weft (untuned; what it states from .2 on) | {recall_limit_at_0.999_weft} | {recall_limit_at_0.995_weft} | {recall_limit_at_0.99_weft} | {recall_limit_at_0.98_weft} | {recall_limit_at_0.95_weft} |
| Flock, of 36 settings the best for each column | {recall_limit_at_0.999_flock} | {recall_limit_at_0.995_flock} | {recall_limit_at_0.99_flock} | {recall_limit_at_0.98_flock} | {recall_limit_at_0.95_flock} |
| 007 | {recall_limit_at_0.999_007} | {recall_limit_at_0.995_007} | {recall_limit_at_0.99_007} | {recall_limit_at_0.98_007} | {recall_limit_at_0.95_007} |
| NetBouncer, of 3 settings the best | {recall_limit_at_0.999_netbouncer} | {recall_limit_at_0.995_netbouncer} | {recall_limit_at_0.99_netbouncer} | {recall_limit_at_0.98_netbouncer} | {recall_limit_at_0.95_netbouncer} |

And the rest:

| | |
|---|---|
| stated / true probability at the limit (verdicts): from .2, .5, .7, .9, .99 | {stated_0.2} / {true_0.2} ({verdicts_0.2:0}), {stated_0.5} / {true_0.5} ({verdicts_0.5:0}), {stated_0.7} / {true_0.7} ({verdicts_0.7:0}), {stated_0.9} / {true_0.9} ({verdicts_0.9:0}), {stated_0.99} / {true_0.99} ({verdicts_0.99:0}) |
| healthy: false names in 300 seeds (25 k, 100 k, 1 M, Pareto, none lost but 20 strays, background ten times higher) | {false_names_per_300:1} |
| a whole switch failing (.2-2 % on all ports) named as one cause | {switch_as_one:2} |
| hypotheses settled by a second round (of {second_round_share} of the first one's packets) | {hypotheses_settled_right:0} of {hypotheses:0} |
| by class, precision / recall: round trips mid; low; path sets mid | {precision_trips_mid} / {recall_trips_mid}; {precision_trips_low} / {recall_trips_low}; {precision_sets_mid} / {recall_sets_mid} |
| causes named rightly: loss, down, mtu, corruption, delay, rate, congestion, none | {right_loss:2}, {right_down:2}, {right_mtu:2}, {right_corruption:2}, {right_delay:2}, {right_rate:2}, {right_congestion:2}, {right_none:2} |
| diagnosis, k=10, 100,000 observations | {seconds_k10} s |
| diagnosis, 24,576 NICs, 1.5 million paths; half the paths; memory with the observations | {seconds_24576:2} s; {seconds_24576_half:2} s; {gb_24576:2} GB |
| reader | {read_lines_per_s:0} lines/s |
)";

std::string replaced(std::string text, std::string_view what, std::string_view with) {
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += with.size())
    text.replace(at, what.size(), with);
  return text;
}

std::string value_of(std::string_view field, const Figures& figures) {
  const std::size_t colon = field.find(':');
  const auto value = figures.find(field.substr(0, colon));
  if (!value) return "-";
  const int digits = colon == field.npos ? 3 : std::atoi(std::string(field.substr(colon + 1)).c_str());
  return fmt::format("{:.{}f}", *value, digits);
}

std::string filled(std::string_view text, const Figures& figures) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t open = std::min(text.find('{', at), text.size());
    out += text.substr(at, open - at);
    if (open == text.size()) break;
    const std::size_t close = text.find('}', open);
    out += value_of(text.substr(open + 1, close - open - 1), figures);
    at = close + 1;
  }
  return out;
}

}  // namespace

std::string diagnosis_tables(const Figures& figures) {
  std::string text(kTables.substr(1));
  for (const auto& [name, key] : kScenarios)
    text += replaced(replaced(std::string(kScenario), "{{name}}", name), "{{key}}", key);
  text += kRest;
  return filled(text, figures);
}

}  // namespace weft::bench
