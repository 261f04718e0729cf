// A plan for people.
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "balancer/reliability/plan.hpp"
#include "topology/base/text.hpp"
#include "topology/base/text_table.hpp"

namespace weft::reliability {
namespace {

constexpr std::size_t kMaxImprovements = 6;
constexpr std::size_t kMaxBlast = 12;

std::string grouped(std::uint64_t number) {
  std::string text = std::to_string(number);
  for (auto at = static_cast<std::ptrdiff_t>(text.size()) - 3; at > 0; at -= 3)
    text.insert(static_cast<std::size_t>(at), ",");
  return text;
}

std::string percent(double share) { return fmt::format("{:.1f} %", share * 100); }
std::string agents_text() { return sweeps_text({.policy = SweepPolicy::agents}); }

/// The share of all restarts that the plan asks for, and of which the first line speaks.
constexpr double kUsual = 0.999;

/// Without a restart too few hosts there is a bound, no figure.
std::string kept_text(const Plan& plan) {
  if (plan.restarts == 0) return fmt::format("no restart in {} histories", plan.histories);
  const auto is_enough = [&](const SpareStep& each) {
    return each.asked == kUsual && each.spares && *each.spares <= plan.job.spares;
  };
  if (plan.kept < kUsual && std::ranges::any_of(plan.steps, is_enough))
    return fmt::format("{:.5f} of restarts at full size in {} histories, {} in the more that spares took",
                       plan.kept, plan.histories, kUsual);
  if (plan.kept < 1) return fmt::format("{:.5f} of restarts at full size", plan.kept);
  constexpr double kRuleOfThree = 3;  // none of n: fewer than 3 / n, 95 %
  return fmt::format("more than {:.5f} of restarts at full size",
                     1 - std::max(kRuleOfThree / static_cast<double>(plan.restarts), 1e-5));
}

std::string spares_text(const Plan& plan) {
  std::string text = counted(plan.job.spares, "spare host");
  for (const SpareStep& each : plan.steps)
    if (each.asked == kUsual && each.spares && *each.spares > plan.job.spares)
      text += fmt::format(" of the {} that .999 needs", *each.spares);
  return text;
}

std::string causes_text(const Plan& plan, std::size_t columns) {
  TextTable table(
      {{"cause"}, {"interruptions", true}, {"95 %", true}, {"failures in all", true}, {"known by"}});
  for (const CauseForecast& each : plan.causes)
    table.add({std::string(cause_name(each.cause)), fmt::format("{:.1f}", each.interruptions.mean),
               fmt::format("{} to {}", each.interruptions.low, each.interruptions.high),
               fmt::format("{:.1f}", each.failures.mean),
               each.borrowed  ? "another site"
               : each.edited  ? "this file"
               : each.unseen  ? "none was seen"
               : each.guessed ? "a guess in part"
                              : "counts"});
  return table.text(columns, 2);
}

std::string spent_text(const Plan& plan, std::size_t columns) {
  TextTable table({{"time"}, {"share", true}, {"in all", true}});
  const auto add = [&](const char* what, Hours time, bool always) {
    if (std::abs(time / plan.length) < 1e-9) time = Hours(0);  // what is left of rounding
    if (always || time / plan.length > 1e-5)
      table.add({what, fmt::format("{:.2f} %", time / plan.length * 100), time_text(time)});
  };
  add("effective", plan.spent.effective, true);
  add("checkpoints", plan.spent.checkpoints, true);
  add("work done again", plan.spent.repeated, true);
  add("detection", plan.spent.detection, true);
  add("restart", plan.spent.restart, true);
  add("waiting for hosts", plan.spent.waiting, true);
  add("slow links and parts", plan.spent.slow, true);
  add("sweeps", plan.spent.sweeps, false);
  add("fewer hosts", plan.spent.shrunk, false);
  return table.text(columns, 2);
}

std::string steps_text(const Plan& plan, std::size_t columns) {
  TextTable table({{"restarts at full size", true}, {"spares", true}, {"if hosts failed one by one", true}});
  for (const SpareStep& each : plan.steps)
    table.add({fmt::format("{}", each.asked), each.spares ? std::to_string(*each.spares) : "more --histories",
               std::to_string(each.independent)});
  std::string text = table.text(columns, 2);
  const Index room = plan.plant_hosts - plan.job.hosts;
  std::string has;
  for (const SpareStep& each : plan.steps)
    if (each.asked >= kUsual && each.spares && *each.spares > room && *each.spares < plan.plant_hosts) {
      const auto hosts = std::uint64_t{plan.plant_hosts} - *each.spares;
      has = fmt::format("; with {} for {} it holds a job of about {} GPUs", *each.spares, each.asked,
                        grouped(hosts * (plan.gpus / plan.job.hosts)));
      break;
    }
  for (const SpareStep& each : plan.steps)
    if (each.spares.value_or(room + 1) > room)
      return text + wrapped(fmt::format("The fabric has {} beside the job{}.", counted(room, "host"), has), 0,
                            columns);
  return text;
}

std::string span_text(const Span& span) {
  return span.least == span.most ? std::to_string(span.most) : fmt::format("{} to {}", span.least, span.most);
}

std::string where_text(const Plan& plan, std::size_t columns) {
  std::vector<TextColumn> head{{"spares in each"}, {"of them", true}, {"hosts", true}, {"spares", true}};
  for (const SpareStep& each : plan.steps) head.push_back({fmt::format("for {}", each.asked), true});
  TextTable table(head);
  for (const WhereRow& row : plan.where) {
    std::vector<std::string> cells{row.kind, std::to_string(row.groups), span_text(row.hosts),
                                   span_text(row.spares)};
    for (const auto& each : row.of_step) cells.push_back(each ? span_text(*each) : "no room");
    table.add(std::move(cells));
  }
  std::string text = "Where: nowhere, there are no spares";
  const Index apart = plan.job.spares > 0 ? plan.job.pool() / plan.job.spares : 0;
  if (apart > 0) text = "Where: spread over the leaf groups";
  for (const WhereRow& row : plan.where)
    if (row.kind == "leaf group" && apart > 0)
      text += row.spares.most > 1 ? fmt::format(", {} in each of the {}", span_text(row.spares), row.groups)
              : plan.job.spares == row.groups
                  ? fmt::format(", one in each of the {}", row.groups)
                  : fmt::format(", one in each of {} of the {}", plan.job.spares, row.groups);
  if (plan.largest_group > 1)
    text += fmt::format("; one switch or domain takes {} hosts away at once", plan.largest_group);
  if (plan.job.planned.every > Hours(0)) text += "; by planned work " + planned_text(plan.job.planned);
  text += fmt::format(". The blacklist may drain {} and {} between switches of this fabric by its caps{}.",
                      counted(plan.drains_allowed, "host"), counted(plan.cable_drains_allowed, "cable"),
                      plan.drains_allowed > plan.job.spares
                          ? ", more hosts than there are spares: the job may have to wait for those"
                          : "");
  for (const WhereRow& row : plan.where)
    if (row.kind == "rail" && row.hosts.least == plan.job.pool()) text += " Each host is at every rail.";
  return wrapped(text, 0, columns) + table.text(columns, 2);
}

/// Empty where rates name none.
std::string offenders_text(const Plan& plan, std::size_t columns) {
  constexpr std::size_t kMaxOffenders = 8;
  if (plan.offenders.empty()) return {};
  std::vector<std::string> names;
  for (const OffenderRow& each :
       std::span(plan.offenders).first(std::min(plan.offenders.size(), kMaxOffenders)))
    names.push_back(
        fmt::format("{} ({:.2f}, {})", each.name, each.offender, counted(each.events, "failure")));
  if (plan.offenders.size() > kMaxOffenders)
    names.push_back(fmt::format("and {} more (-o json)", plan.offenders.size() - kMaxOffenders));
  return wrapped(fmt::format("Fail again and again, with this probability: {}.", fmt::join(names, ", ")), 0,
                 columns) +
         "\n";
}

std::string closed_text(const Plan& plan, std::size_t columns) {
  std::string text = wrapped(
      fmt::format(
          "Closed forms: effective {} (simulated {} +- {:.2f}), an interruption every {}, checkpoints "
          "every {} (Young {}, Daly {}), {:.1f} hosts out at a time.",
          percent(plan.closed_form), percent(plan.effective.mean), plan.effective.error * 100,
          time_text(plan.mean_to_failure), time_text(plan.job.checkpoint_every), time_text(plan.young),
          time_text(plan.daly), plan.hosts_out),
      0, columns);
  if (plan.sweep_every && plan.sweeps.empty())
    text += wrapped(fmt::format("A sweep every {} balances its cost against what is silent.",
                                time_text(*plan.sweep_every)),
                    0, columns);
  for (const std::string& each : plan.differs)
    text += wrapped("Forms and simulation differ: " + each + ".", 2, columns, 2);
  return text;
}

std::string silent_text(const Plan& plan) {
  std::string text =
      "How often to sweep: these rates have no silent failures, so no sweep pays; that is what was counted, "
      "not "
      "what is there.";
  if (plan.if_silent.empty()) return text;
  std::string_view before = " Were there silent ones besides, in number";
  for (const SilentRow& each : plan.if_silent) {
    text +=
        fmt::format("{} {:g} %{}: every {}", before, each.share * 100,
                    before == ";" ? "" : " of the failures of NICs and cables", time_text(each.sweep_every));
    before = ";";
  }
  return text + ". Standing agents find them without sweeps.";
}

std::string sweeps_rows(const Plan& plan, std::size_t columns) {
  if (plan.sweeps.empty()) return wrapped(silent_text(plan), 0, columns);
  TextTable table({{"sweeps"}, {"effective", true}, {"cost", true}, {"undetected in all", true}});
  for (const SweepRow& each : plan.sweeps)
    table.add({each.policy, fmt::format("{:.2f} %", each.effective * 100),
               fmt::format("{:.2f} %", each.cost * 100), time_text(each.undetected)});
  return wrapped(
             fmt::format("How often to sweep: {}. A sweep takes {}, agents name what is silent after {}.",
                         best_sweep(plan), time_text(plan.job.sweeps.cost), time_text(plan.job.sweeps.delay)),
             0, columns) +
         table.text(columns, 2);
}

std::string gains_text(const char* title, const std::vector<Gain>& gains, std::size_t most,
                       std::size_t columns) {
  TextTable table({{title}, {"gain of the time", true}, {"95 %", true}, {""}});
  for (std::size_t i = 0; i < std::min(most, gains.size()); ++i)
    table.add({gains[i].what, fmt::format("{:+.3f} %", gains[i].gain * 100),
               fmt::format("{:+.3f} to {:+.3f}", gains[i].low * 100, gains[i].high * 100),
               gains[i].low == 0 && gains[i].high == 0 ? "changes nothing here"
               : gains[i].low < 0 && gains[i].high > 0 ? "may be none"
                                                       : ""});
  return table.text(columns, 2);
}

/// Looking for what is silent is in no row of what fails less.
std::string sweeps_gain_text(const Plan& plan, std::size_t columns) {
  const auto now = std::ranges::find(plan.sweeps, sweeps_text(plan.job.sweeps), &SweepRow::policy);
  const auto best = std::ranges::max_element(plan.sweeps, {}, &SweepRow::effective);
  if (now == plan.sweeps.end() || best == now || plan.improvements.empty()) return {};
  const double gain = best->effective - now->effective;
  if (gain <= plan.improvements.front().gain) return {};
  return wrapped(fmt::format("More than any of these gains what finds silent failures: {} instead of {}, "
                             "{:+.3f} % of the time.",
                             best->policy, now->policy, gain * 100),
                 0, columns);
}

std::string parts_text(const Plan& plan, std::size_t columns) {
  TextTable blast({{"what fails"}, {"hosts", true}, {"links left"}});
  const std::size_t rows = std::min(plan.blast.size(), kMaxBlast);
  for (const BlastRow& each : std::span(plan.blast).first(rows))
    blast.add({each.what, std::to_string(each.hosts),
               each.slowdown > 1 ? fmt::format("{:.1f} % of a bundle", 100 / each.slowdown) : ""});
  if (rows < plan.blast.size())
    blast.add({fmt::format("and {} of no more hosts (-o json)", plan.blast.size() - rows), "", ""});
  TextTable shelf(
      {{fmt::format("on the shelf (.99, {})", time_text(plan.lead_time))}, {"mean", true}, {"parts", true}});
  for (const ShelfRow& each : plan.shelf)
    shelf.add({each.what, fmt::format("{:.1f}", each.mean), std::to_string(each.parts)});
  return blast.text(columns, 2) + "\n" + shelf.text(columns, 2);
}

}  // namespace

std::string time_text(Hours time) {
  const double hours = time.count();
  if (hours >= 48) return fmt::format("{:.3g} d", hours / 24);
  if (hours >= 1) return fmt::format("{:.3g} h", hours);
  if (hours >= 1.0 / 60) return fmt::format("{:.3g} min", hours * 60);
  return fmt::format("{:.3g} s", hours * 3600);
}

std::string plan_sentence(const Plan& plan) {
  std::vector<std::string_view> borrowed, edited;
  for (const auto& each : plan.causes)
    if (each.borrowed || each.edited)
      (each.borrowed ? borrowed : edited).push_back(files::plural(files::kPartClasses[each.cause]));
  std::string origin = plan.is_own ? fmt::format("Rates of {}", plan.origin)
                                   : fmt::format("Rates are {}, not this site's", plan.origin);
  if (!borrowed.empty())
    origin += fmt::format(", but those of {} are not this site's", fmt::join(borrowed, ", "));
  if (!edited.empty()) origin += fmt::format(", but those of {} are the file's own", fmt::join(edited, ", "));
  const double mean = plan.interruptions.mean;
  const auto interruptions =
      mean < 9.95 ? fmt::format("{:.1f}", mean) : grouped(static_cast<std::uint64_t>(std::llround(mean)));
  return fmt::format(
      "{} GPU{} on {} host{} for {}: {} interruptions ({} to {}), {} of the time effective ({} to {}), {} "
      "({}). {}; {}.",
      grouped(plan.gpus), plan.gpus == 1 ? "" : "s", grouped(plan.job.hosts), plan.job.hosts == 1 ? "" : "s",
      time_text(plan.length), interruptions, grouped(plan.interruptions.low),
      grouped(plan.interruptions.high), percent(plan.effective.mean), percent(plan.effective.low),
      percent(plan.effective.high), spares_text(plan), kept_text(plan), origin,
      plan.guesses.size() == 1 ? "1 input is a guess"
                               : fmt::format("{} inputs are guesses", plan.guesses.size()));
}

std::string best_sweep(const Plan& plan) {
  if (plan.sweeps.empty()) return {};
  const auto best = std::ranges::max_element(plan.sweeps, {}, &SweepRow::effective);
  std::string text = best->policy;
  const SweepRow* alone = nullptr;  // where nobody wants agents
  for (const SweepRow& each : plan.sweeps)
    if (each.policy != agents_text() && (alone == nullptr || each.effective > alone->effective))
      alone = &each;
  if (text == agents_text() && alone != nullptr) text += ", or without them " + alone->policy;
  return text;
}

std::string plan_table(const Plan& plan, std::size_t columns) {
  std::string text = wrapped(plan_sentence(plan), 0, columns) + "\n";
  text += causes_text(plan, columns) + "\n" + spent_text(plan, columns) + "\n" + steps_text(plan, columns);
  text +=
      where_text(plan, columns) + "\n" + offenders_text(plan, columns) + closed_text(plan, columns) + "\n";
  text += sweeps_rows(plan, columns) + "\n" + parts_text(plan, columns) + "\n";
  text += gains_text("10 % less of", plan.improvements, kMaxImprovements, columns);
  text += sweeps_gain_text(plan, columns);
  if (!plan.what_ifs.empty())
    text += "\n" + gains_text("what if", plan.what_ifs, plan.what_ifs.size(), columns) +
            wrapped(fmt::format(
                        "Each keeps {}: how many a change needs is told where it is an option of the plan.",
                        counted(plan.job.spares, "spare host")),
                    0, columns);
  if (plan.unknown_parts > 0)
    text +=
        "\n" + wrapped(fmt::format("Of the parts that the rates know by name {} are not of this fabric: they "
                                   "change nothing.",
                                   plan.unknown_parts),
                       0, columns);
  if (!plan.guesses.empty())
    text += "\n" + wrapped(fmt::format("Guesses: {}.", fmt::join(plan.guesses, "; ")), 0, columns, 2);
  return text;
}

}  // namespace weft::reliability
