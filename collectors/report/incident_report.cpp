#include "collectors/report/incident_report.hpp"

#include <fmt/format.h>

#include "collectors/report/findings.hpp"
#include "topology/base/readable.hpp"
#include "topology/base/text.hpp"
#include "topology/base/utc.hpp"
#include "topology/files/diagnosis_document.hpp"

namespace weft::report {
namespace {

constexpr std::size_t kIndent = 4;

/// As a diagnosis of this incident alone has it.
Entry entry_of(const Fabric& fabric, Incident incident) {
  incident.state = IncidentState::open;
  const auto document = files::diagnosis_document(fabric, diagnosis_of({&incident, 1}), {}, {});
  const auto entries = entries_of(document);
  return entries.empty() ? Entry{} : entries.front();
}

std::string_view words_for(IncidentChange change) {
  switch (change) {
    case IncidentChange::came_back:
      return "came back";
    case IncidentChange::recovering:
      return "is recovering";
    default:
      return to_string(change);
  }
}

bool tells_all(IncidentChange change) {
  return change == IncidentChange::opened || change == IncidentChange::changed ||
         change == IncidentChange::came_back;
}

bool names_verdict(IncidentChange change) { return tells_all(change) || change == IncidentChange::suspected; }

std::string headline(const IncidentEvent& event, const Entry& entry) {
  const Incident& incident = event.incident;
  auto text =
      fmt::format("{} incident {} {}: {}: {}",
                  to_string(UtcTime(std::chrono::duration_cast<std::chrono::seconds>(event.at))),
                  incident.id.value(), words_for(event.change), entry.what, to_string(incident.cause));
  if (!entry.estimate.empty()) text += " " + entry.estimate;
  if (names_verdict(event.change)) text += fmt::format(", {}", to_string(incident.verdict));
  if (names_verdict(event.change) && !entry.confidence.empty())
    text += fmt::format(", confidence {}", entry.confidence);
  if (event.change == IncidentChange::closed && incident.opened)
    text += fmt::format(", after {}", readable(event.at - *incident.opened, kNoBreak));
  if (incident.flaps > 0) text += fmt::format(", came back {} times", incident.flaps);
  if (incident.muted_by) text += fmt::format(" [muted: {}]", *incident.muted_by);
  return text;
}

}  // namespace

std::string place_text(const Fabric& fabric, const Incident& incident) {
  return entry_of(fabric, incident).what;
}

std::string event_lines(const Fabric& fabric, const IncidentEvent& event, std::size_t columns) {
  const Entry entry = entry_of(fabric, event.incident);
  std::string lines = wrapped(headline(event, entry), 0, columns, kIndent);
  if (!tells_all(event.change)) return lines;
  const auto add = [&](const std::string& text) { lines += wrapped(text, kIndent, columns, 2); };
  if (!entry.ports.empty()) add(entry.ports);
  for (const std::string& line : entry.lines) add(line);
  for (const std::string& line : entry.evidence) add(line);
  if (const auto todo = what_to_do(entry.trouble); !todo.empty()) add("do: " + todo);
  return lines;
}

}  // namespace weft::report
