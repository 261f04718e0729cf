#include "collectors/report/history_report.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "collectors/report/words.hpp"
#include "topology/base/instant.hpp"
#include "topology/base/outside_text.hpp"
#include "topology/base/readable.hpp"
#include "topology/base/text.hpp"
#include "topology/base/text_table.hpp"
#include "topology/files/json_text.hpp"
#include "topology/files/row_text.hpp"

namespace weft::report {
namespace {

using files::DocumentTree;

constexpr std::size_t kStepsShown = 12;
constexpr std::size_t kIncidentsShown = 50;
constexpr std::size_t kOffencesShown = 20;
constexpr std::size_t kOutcomesShown = 20;
constexpr std::size_t kPortsShown = 20;
/// A watcher closes an incident when enough clean probes crossed: so long a fault that is mended may still be
/// seen.
constexpr Nanoseconds kStillSeen = std::chrono::minutes(10);

/// To the second.
std::string when(Nanoseconds time) { return instant_text(std::chrono::floor<std::chrono::seconds>(time)); }

double minutes(Nanoseconds time) {
  return std::round(std::chrono::duration<double, std::ratio<60>>(time).count() * 10) / 10;
}

std::string lasted(Nanoseconds time) { return readable(std::chrono::round<std::chrono::seconds>(time)); }

std::string state_of(const files::IncidentReport& incident) {
  std::string text(to_string(incident.state));
  if (incident.flaps > 0) text += fmt::format(", came back {}x", incident.flaps);
  if (incident.muted_by) text += ", muted";
  return text;
}

std::string left_out(std::size_t all, std::size_t shown, std::string_view what) {
  if (all <= shown) return {};
  return fmt::format("  and {} more {}: -o json has all\n", all - shown, what);
}

std::string incident_table(const WatchHistory& history, std::size_t columns) {
  TextTable table({{"first seen"}, {"for", true}, {"state"}, {"cause"}, {"where"}});
  for (std::size_t i = 0; i < std::min(history.incidents.size(), kIncidentsShown); ++i) {
    const auto& incident = history.incidents[i].incident;
    table.add({when(incident.first_seen), lasted(incident.bad), state_of(incident),
               std::string(to_string(incident.cause)), place_text(incident)});
  }
  return "incidents, the latest first\n" + table.text(columns, 2) +
         left_out(history.incidents.size(), kIncidentsShown, "incidents");
}

/// 0 where rates do not know it: it failed no more often than others.
double offender_of(const WatchHistory& history, const std::string& link) {
  const auto found = history.offenders->find(link);
  return found == history.offenders->end() ? 0 : found->second;
}

std::string offence_table(const WatchHistory& history, std::size_t columns) {
  std::vector<TextColumn> heads{{"times", true}, {"minutes", true}, {"last seen"}, {"cause"}, {"cable"}};
  if (history.offenders) heads.push_back({"offender", true});
  TextTable table(std::move(heads));
  for (std::size_t i = 0; i < std::min(history.offences.size(), kOffencesShown); ++i) {
    const auto& offence = history.offences[i];
    std::vector<std::string> row{fmt::format("{}", offence.times),
                                 fmt::format("{:.1f}", minutes(offence.bad)), when(offence.last_seen),
                                 std::string(to_string(offence.cause)), offence.link};
    if (history.offenders) row.push_back(fmt::format("{:.2f}", offender_of(history, offence.link)));
    table.add(std::move(row));
  }
  return "cables at fault, the most often first\n" + table.text(columns, 2) +
         left_out(history.offences.size(), kOffencesShown, "cables");
}

std::string share(std::uint64_t lost, std::uint64_t sent) {
  if (sent == 0) return "";
  return fmt::format("{:.3g}%", 100.0 * static_cast<double>(lost) / static_cast<double>(sent));
}

std::string channel_table(const ChannelSteps& channel, std::size_t columns) {
  TextTable table({{"from"}, {"for", true}, {"probes", true}, {"lost", true}, {"loss", true}, {"verdict"}});
  for (const HistoryStep& step : thinned(channel.steps, kStepsShown))
    table.add({when(step.begin), lasted(step.length), fmt::format("{}", step.sent),
               fmt::format("{}", step.lost), share(step.lost, step.sent),
               std::string(to_string(step.verdict))});
  return channel.channel + '\n' + table.text(columns, 2);
}

std::string hours_or_days(Nanoseconds time) {
  const auto hours = std::chrono::floor<std::chrono::hours>(time).count();
  if (hours == 0) return "less than an hour";
  return hours < 48 ? fmt::format("{} h", hours) : fmt::format("{} days", hours / 24);
}

std::string outcome_text(const RepairOutcome& outcome) {
  const std::string what =
      outcome.module ? fmt::format("another module at {} since {} ({}, before {})", outcome.module->port,
                                   when(outcome.at), outside_text(outcome.module->after),
                                   outside_text(outcome.module->before))
                     : fmt::format("muted ({}), and not seen so since {}", outside_text(outcome.reason),
                                   when(outcome.at));
  const std::string since = outcome.since > 0 ? fmt::format("{} since: it did not hold", outcome.since)
                            : outcome.watched == Nanoseconds()
                                ? std::string("nothing was watched since")
                                : fmt::format("none in {} of watching since", hours_or_days(outcome.watched));
  return fmt::format("{}: {}; {} before, {}{}", outcome.link, what, counted(outcome.before, "incident", ' '),
                     outcome.meanwhile > 0
                         ? fmt::format("{} before or after (nothing was read between), ", outcome.meanwhile)
                         : "",
                     since);
}

std::string outcomes_text(const std::vector<RepairOutcome>& outcomes, std::size_t columns) {
  std::string text = "what was done, and whether it held\n";
  for (std::size_t i = 0; i < std::min(outcomes.size(), kOutcomesShown); ++i)
    text += wrapped(outcome_text(outcomes[i]), 2, columns, 2);
  return text + left_out(outcomes.size(), kOutcomesShown, "repairs");
}

std::string ports_text(const std::vector<WarnedPort>& ports, std::size_t columns) {
  std::string text = "ports by their counters\n";
  for (std::size_t i = 0; i < std::min(ports.size(), kPortsShown); ++i)
    text += wrapped(fmt::format("{}{}: {} ({}, read {})", ports[i].degrading ? "degrading: " : "",
                                ports[i].port, ports[i].text, ports[i].source, when(ports[i].at)),
                    2, columns, 2);
  return text + left_out(ports.size(), kPortsShown, "ports");
}

DocumentTree tree_of(const WarnedPort& one) {
  return {{"port", one.port},
          {"degrading", one.degrading},
          {"text", one.text},
          {"source", one.source},
          {"at", instant_text(one.at)}};
}

DocumentTree tree_of(const RepairOutcome& outcome) {
  DocumentTree tree;
  tree["link"] = outcome.link;
  tree["at"] = instant_text(outcome.at);
  if (outcome.module) {
    tree["port"] = outcome.module->port;
    tree["serial_before"] = outcome.module->before;
    tree["serial_after"] = outcome.module->after;
  } else {
    tree["muted"] = outcome.reason;
  }
  tree["incidents_before"] = outcome.before;
  if (outcome.module) tree["incidents_meanwhile"] = outcome.meanwhile;
  tree["incidents_since"] = outcome.since;
  tree["watched_hours"] = std::chrono::floor<std::chrono::hours>(outcome.watched).count();
  return tree;
}

DocumentTree tree_of(const files::OffenceReport& offence) {
  DocumentTree tree;
  tree["link"] = offence.link;
  tree["cause"] = to_string(offence.cause);
  tree["first_seen"] = instant_text(offence.first_seen);
  tree["last_seen"] = instant_text(offence.last_seen);
  tree["minutes"] = minutes(offence.bad);
  tree["times"] = offence.times;
  tree["evidence"] = offence.evidence;
  return tree;
}

DocumentTree tree_of(const ChannelSteps& channel) {
  DocumentTree tree;
  tree["channel"] = channel.channel;
  tree["steps"] = DocumentTree::array();
  for (const HistoryStep& step : channel.steps) {
    DocumentTree one;
    one["begin"] = instant_text(step.begin);
    one["seconds"] = std::chrono::duration_cast<std::chrono::seconds>(step.length).count();
    one["sent"] = step.sent;
    one["lost"] = step.lost;
    one["verdict"] = to_string(step.verdict);
    tree["steps"].push_back(std::move(one));
  }
  return tree;
}

}  // namespace

std::vector<HistoryStep> thinned(const std::vector<HistoryStep>& steps, std::size_t most) {
  const std::size_t each = (steps.size() + most - 1) / std::max<std::size_t>(most, 1);
  std::vector<HistoryStep> thin;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (i % each == 0) {
      thin.push_back(steps[i]);
      continue;
    }
    HistoryStep& into = thin.back();
    into.length = steps[i].begin + steps[i].length - into.begin;
    into.sent += steps[i].sent, into.lost += steps[i].lost;
    if (into.verdict == Verdict::unknown)
      into.verdict = steps[i].verdict;
    else if (steps[i].verdict != Verdict::unknown)
      into.verdict = std::max(into.verdict, steps[i].verdict);
  }
  return thin;
}

std::vector<RepairOutcome> repair_outcomes(const std::vector<files::EventReport>& events,
                                           const std::vector<ModuleChange>& modules) {
  std::map<std::string, std::vector<const files::IncidentReport*>> of_cable;
  for (const auto& event : events)
    if (event.incident.links.size() == 1 && event.incident.opened)
      of_cable[event.incident.links.front()].push_back(&event.incident);
  std::vector<RepairOutcome> all;
  const auto add = [&](RepairOutcome outcome, Nanoseconds from) {
    for (const files::IncidentReport* incident : of_cable.at(outcome.link)) {
      // What was muted is the work itself, also where the mute came later than the incident: when, is not
      // known.
      if (incident->muted_by && !outcome.module) continue;
      const bool came_back = incident->last_seen > outcome.at + kStillSeen;
      (came_back ? outcome.since : incident->first_seen <= from ? outcome.before : outcome.meanwhile) += 1;
    }
    all.push_back(std::move(outcome));
  };
  for (const ModuleChange& change : modules) {
    // A cable whose modules are a part of it tells of one change at both ends.
    const auto is_known = [&](const RepairOutcome& other) {
      return other.link == change.link && other.module->before == change.before &&
             other.module->after == change.after;
    };
    if (of_cable.contains(change.link) && std::ranges::none_of(all, is_known))
      add({.link = change.link, .at = change.at, .module = change}, change.from);
  }
  for (const auto& [link, incidents] : of_cable) {
    const files::IncidentReport* last = nullptr;  // that was muted
    for (const files::IncidentReport* incident : incidents)
      if (incident->muted_by && (last == nullptr || incident->last_seen > last->last_seen)) last = incident;
    if (last != nullptr)
      add({.link = link, .at = last->last_seen, .reason = *last->muted_by}, last->last_seen);
  }
  std::ranges::stable_sort(all, std::ranges::greater(), &RepairOutcome::at);
  return all;
}

std::string history_table(const WatchHistory& history, std::size_t columns) {
  std::string text =
      wrapped(fmt::format("{}{}, from {} to {}: {}, {} at fault", history.fabric,
                          history.place ? ", " + *history.place : "", when(history.from), when(history.until),
                          counted(history.incidents.size(), "incident", ' '),
                          counted(history.offences.size(), "cable", ' ')),
              0, columns);
  if (!history.incidents.empty()) text += '\n' + incident_table(history, columns);
  if (!history.offences.empty()) text += '\n' + offence_table(history, columns);
  if (!history.repairs.empty()) text += '\n' + outcomes_text(history.repairs, columns);
  if (!history.ports.empty()) text += '\n' + ports_text(history.ports, columns);
  if (history.place)
    for (const auto& offence : history.offences)
      if (!offence.evidence.empty())
        text += wrapped(fmt::format("{}: {}", to_string(offence.cause), offence.evidence), 2, columns, 2);
  for (const ChannelSteps& channel : history.channels)
    if (!channel.steps.empty()) text += '\n' + channel_table(channel, columns);
  return text;
}

std::string history_json(const WatchHistory& history, const files::DocumentStamp& stamp) {
  DocumentTree tree = files::stamped_tree("weft.report/1", stamp);
  tree["fabric"] = history.fabric;
  tree["from"] = instant_text(history.from);
  tree["until"] = instant_text(history.until);
  if (history.place) tree["place"] = *history.place;
  tree["incidents"] = DocumentTree::array();
  for (const auto& event : history.incidents)
    tree["incidents"].push_back(DocumentTree::parse(event_line(event)));
  tree["offences"] = DocumentTree::array();
  for (const auto& offence : history.offences) {
    tree["offences"].push_back(tree_of(offence));
    if (history.offenders) tree["offences"].back()["offender"] = offender_of(history, offence.link);
  }
  tree["repairs"] = DocumentTree::array();
  for (const RepairOutcome& outcome : history.repairs) tree["repairs"].push_back(tree_of(outcome));
  tree["ports"] = DocumentTree::array();
  for (const WarnedPort& one : history.ports) tree["ports"].push_back(tree_of(one));
  tree["history"] = DocumentTree::array();
  for (const auto& channel : history.channels) tree["history"].push_back(tree_of(channel));
  return files::document_text(tree);
}

std::string offences_csv(const WatchHistory& history) {
  files::RowSet set{.columns = {"link", "cause", "first_seen", "last_seen", "minutes", "times", "evidence"},
                    .rows = {}};
  if (history.offenders) set.columns.emplace_back("offender");
  for (const auto& offence : history.offences) {
    set.rows.push_back({offence.link, std::string(to_string(offence.cause)), when(offence.first_seen),
                        when(offence.last_seen), minutes(offence.bad),
                        static_cast<std::int64_t>(offence.times), offence.evidence});
    if (history.offenders) set.rows.back().emplace_back(offender_of(history, offence.link));
  }
  return files::csv_text(set);
}

}  // namespace weft::report
