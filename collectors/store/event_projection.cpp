#include "collectors/store/event_projection.hpp"

#include <fmt/format.h>

namespace weft::store {
namespace {

using files::EventReport;
using files::IncidentReport;

constexpr std::string_view kLastSequence = "last_sequence";
constexpr std::string_view kWatched = "watched_until";

SqlValue number(std::uint64_t value) { return static_cast<std::int64_t>(value); }
SqlValue time(Nanoseconds value) { return value.count(); }
SqlValue word(std::string_view value) { return std::string(value); }

/// An incident that has been sure at some time, of one cable and of nothing else.
bool is_offence(const IncidentReport& incident) {
  return incident.opened && incident.nodes.empty() && incident.alternatives.empty() &&
         incident.links.size() == 1;
}

Result<void> put_incident(Database& database, const EventReport& event, std::uint64_t sequence,
                          const std::string& line) {
  const IncidentReport& incident = event.incident;
  WEFT_TRY_VOID(database.execute(
      "INSERT OR REPLACE INTO incidents(id, sequence, first_seen, last_seen, state, opened, line) "
      "VALUES(?,?,?,?,?,?,?)",
      {number(incident.id.value()), number(sequence), time(incident.first_seen), time(incident.last_seen),
       word(to_string(incident.state)), incident.opened ? time(*incident.opened) : SqlValue(), line}));
  WEFT_TRY_VOID(
      database.execute("DELETE FROM incident_places WHERE incident=?", {number(incident.id.value())}));
  for (const auto* places : {&incident.links, &incident.nodes})
    for (const std::string& place : *places)
      WEFT_TRY_VOID(database.execute("INSERT OR IGNORE INTO incident_places(incident, place) VALUES(?,?)",
                                     {number(incident.id.value()), place}));
  return {};
}

/// As the incident is now: another place, or a switch that explains it, takes an earlier blame back.
Result<void> put_offence(Database& database, const IncidentReport& incident) {
  WEFT_TRY_VOID(database.execute("DELETE FROM offences WHERE incident=?", {number(incident.id.value())}));
  if (!is_offence(incident)) return {};
  const std::string evidence = incident.evidence.empty() ? std::string() : incident.evidence.front();
  return database.execute(
      "INSERT INTO offences(link, incident, cause, first_seen, last_seen, bad, times, evidence) "
      "VALUES(?,?,?,?,?,?,?,?)",
      {incident.links.front(), number(incident.id.value()), word(to_string(incident.cause)),
       time(incident.first_seen), time(incident.last_seen), time(incident.bad),
       std::int64_t{1} + incident.flaps, evidence});
}

Result<bool> apply(Database& database, const watch::StoredEvent& stored) {
  const auto event = files::parse_event(stored.text, "event");
  WEFT_TRY_VOID(database.execute(
      "INSERT INTO events(sequence, incident, at, line) VALUES(?,?,?,?)",
      {number(stored.sequence), number(stored.incident), event ? time(event->at) : time({}), stored.text}));
  if (!event || event->incident.id.value() != stored.incident) return false;
  WEFT_TRY_VOID(put_incident(database, *event, stored.sequence, stored.text));
  WEFT_TRY_VOID(put_offence(database, event->incident));
  return true;
}

/// It has a sequence that was read already: whether it is of a stream that was made anew. Of an event that is
/// forgotten the time tells: nothing here is younger than what was read last.
Result<bool> is_of_a_new_stream(Database& database, const watch::StoredEvent& event) {
  std::optional<std::string> known;
  WEFT_TRY_VOID(database.query("SELECT line FROM events WHERE sequence=?", {number(event.sequence)},
                               [&](const Row& row) -> Result<void> {
                                 known = row.text(0);
                                 return {};
                               }));
  if (known) return *known != event.text;
  WEFT_TRY(const auto newest, database.number("SELECT max(at) FROM events", {}));
  const auto report = files::parse_event(event.text, "event");
  return report && report->at > Nanoseconds(newest);
}

/// What was read keeps its order, below all that the new stream will count.
Result<void> begin_a_new_stream(Database& database) {
  WEFT_TRY(const auto first, database.number("SELECT min(sequence) FROM events", {}));
  WEFT_TRY(const auto last, database.number("SELECT max(sequence) FROM events", {}));
  return database.execute("UPDATE events SET sequence = sequence - ?", {SqlValue(last - first + 1)});
}

Result<std::vector<EventReport>> read_lines(Database& database, std::string_view query,
                                            const SqlValues& values) {
  std::vector<EventReport> events;
  WEFT_TRY_VOID(database.query(query, values, [&](const Row& row) -> Result<void> {
    WEFT_TRY(auto event, files::parse_event(row.text(0), database.path().string()));
    events.push_back(std::move(event));
    return {};
  }));
  return events;
}

/// "a--b" also where it is written "b--a".
std::string other_way(const std::string& place) {
  const auto at = place.find("--");
  return at == std::string::npos ? place : place.substr(at + 2) + "--" + place.substr(0, at);
}

/// A link, written either way; or a node, and then its cables too, also those of a bundle
/// (leaf1/3--spine2/1): no name has "--" or "/" within.
std::string is_at(std::string_view column) {
  const auto parts = fmt::format("'--' || replace({}, '/', '--') || '--'", column);
  return fmt::format("(instr({0}, replace(?, '/', '--')) OR instr({0}, replace(?, '/', '--')))", parts);
}
void add_place(SqlValues& values, const std::string& place) {
  values.emplace_back("--" + place + "--");
  values.emplace_back("--" + other_way(place) + "--");
}

Result<Nanoseconds> watched_until(Database& database) {
  WEFT_TRY(const auto until, database.number("SELECT value FROM facts WHERE name=?", {word(kWatched)}));
  return Nanoseconds(until);
}

}  // namespace

Result<std::uint64_t> last_sequence(Database& database) {
  WEFT_TRY(const auto last, database.number("SELECT value FROM facts WHERE name=?", {word(kLastSequence)}));
  return static_cast<std::uint64_t>(last);
}

Result<std::uint64_t> last_incident(Database& database) {
  WEFT_TRY(const auto last, database.number("SELECT max(ifnull((SELECT max(id) FROM incidents), 0), "
                                            "ifnull((SELECT max(incident) FROM offences), 0))",
                                            {}));
  return static_cast<std::uint64_t>(last);
}

Result<void> note_watched(Database& database, Nanoseconds at) {
  return database.execute("INSERT OR REPLACE INTO facts(name, value) VALUES(?,?)",
                          {word(kWatched), time(at)});
}

Result<Applied> apply_events(Database& database, std::span<const watch::StoredEvent> events) {
  Applied applied;
  const auto done = database.in_transaction([&]() -> Result<void> {
    WEFT_TRY(const auto before, last_sequence(database));
    std::uint64_t last = before;
    for (const auto& event : events) {
      if (event.sequence <= last) {
        WEFT_TRY(const bool anew, is_of_a_new_stream(database, event));
        if (!anew) continue;
        WEFT_TRY_VOID(begin_a_new_stream(database));
      }
      WEFT_TRY(const bool readable, apply(database, event));
      ++applied.events;
      if (!readable) ++applied.unreadable;
      last = event.sequence;
    }
    if (last == before) return {};
    return database.execute("INSERT OR REPLACE INTO facts(name, value) VALUES(?,?)",
                            {word(kLastSequence), number(last)});
  });
  if (!done) return pass_on(done);
  return applied;
}

Result<std::uint64_t> count_incidents(Database& database, Nanoseconds from, Nanoseconds until) {
  WEFT_TRY(
      const auto count,
      database.number("SELECT count(*) FROM incidents WHERE first_seen < ? AND (last_seen >= ? OR state IN "
                      "('open','recovering'))",
                      {time(until), time(from)}));
  return static_cast<std::uint64_t>(count);
}

Result<std::vector<EventReport>> incidents(Database& database, const IncidentQuery& query) {
  std::string text =
      "SELECT line FROM incidents WHERE first_seen < ? AND (last_seen >= ? OR state IN "
      "('open','recovering'))";
  SqlValues values{time(query.until), time(query.from)};
  if (query.place) {
    text += " AND id IN (SELECT incident FROM incident_places WHERE " + is_at("place") + ")";
    add_place(values, *query.place);
  }
  if (!query.suspicions) text += " AND opened IS NOT NULL";
  WEFT_TRY(const auto watched, watched_until(database));
  WEFT_TRY(auto events, read_lines(database, text + " ORDER BY last_seen DESC, id DESC", values));
  for (EventReport& event : events) {
    IncidentReport& incident = event.incident;
    if (incident.state != IncidentState::open || incident.last_seen >= watched) continue;
    incident.bad += watched - incident.last_seen;
    incident.last_seen = watched;
  }
  return events;
}

Result<std::vector<files::OffenceReport>> offences(Database& database, const IncidentQuery& query) {
  // Of a group SQLite takes the other columns from the row that has the max(): the evidence is the last
  // one's.
  WEFT_TRY(const auto watched, watched_until(database));
  std::string text =
      "SELECT link, cause, min(first_seen), max(last_seen + more), sum(bad + more), sum(times), evidence "
      "FROM "
      "(SELECT offences.*, iif(state = 'open', max(? - offences.last_seen, 0), 0) AS more FROM offences "
      "LEFT JOIN incidents ON incidents.id = incident) WHERE first_seen < ? AND last_seen + more >= ?";
  SqlValues values{time(watched), time(query.until), time(query.from)};
  if (query.place) {
    text += " AND " + is_at("link");
    add_place(values, *query.place);
  }
  std::vector<files::OffenceReport> found;
  text += " GROUP BY link, cause ORDER BY sum(times) DESC, sum(bad + more) DESC, link, cause";
  WEFT_TRY_VOID(database.query(text, values, [&](const Row& row) -> Result<void> {
    const auto cause = parse_cause(row.text(1));
    if (!cause)
      return fail(ErrorKind::invalid_input, "{}: an offence of the cause '{}'", database.path().string(),
                  row.text(1));
    found.push_back({.link = row.text(0),
                     .cause = *cause,
                     .first_seen = Nanoseconds(row.integer(2)),
                     .last_seen = Nanoseconds(row.integer(3)),
                     .bad = Nanoseconds(row.integer(4)),
                     .times = static_cast<std::uint64_t>(row.integer(5)),
                     .evidence = row.text(6)});
    return {};
  }));
  return found;
}

Result<void> forget_events(Database& database, Nanoseconds before) {
  return database.in_transaction([&]() -> Result<void> {
    const SqlValues at{time(before)};
    WEFT_TRY_VOID(database.execute("DELETE FROM events WHERE at < ?", at));
    WEFT_TRY_VOID(database.execute(
        "DELETE FROM incidents WHERE last_seen < ? AND state IN ('closed','dismissed')", at));
    return database.execute("DELETE FROM incident_places WHERE incident NOT IN (SELECT id FROM incidents)");
  });
}

}  // namespace weft::store
