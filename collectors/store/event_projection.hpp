// The part of a store's database that is made of the event stream alone: events, incidents, offences. Lines
// that cannot be read are kept as they came, so that a later weft can make something of them.
#pragma once

#include <optional>
#include <span>

#include "collectors/store/database.hpp"
#include "probes/watch/seams.hpp"
#include "topology/files/incident_json.hpp"

namespace weft::store {

struct Applied {
  std::size_t events = 0;      // new ones
  std::size_t unreadable = 0;  // of these, kept as they came alone
};

/// The stream's sequence of the last event that is in it; 0: none.
Result<std::uint64_t> last_sequence(Database& database);
/// The highest number of an incident that it has, or holds against a cable; 0: none.
Result<std::uint64_t> last_incident(Database& database);

/// Events in the order of the stream; those up to last_sequence() change nothing, unless the stream was made
/// anew, and counts from 1 again. All of them, or none.
Result<Applied> apply_events(Database& database, std::span<const watch::StoredEvent> events);

/// The fabric was watched at that time: what is open then was bad until then.
Result<void> note_watched(Database& database, Nanoseconds at);

/// Which incidents: those seen at some time in [from, until); of one link or node where it is named.
struct IncidentQuery {
  Nanoseconds from{};
  Nanoseconds until = Nanoseconds::max();
  std::optional<std::string> place = std::nullopt;
  bool suspicions = true;  // also those that never opened
};
/// How many rows incidents() reads for it, at most: before they are read.
Result<std::uint64_t> count_incidents(Database& database, Nanoseconds from, Nanoseconds until);
/// The last event of each, the latest first; of one that is open it is bad and was seen until note_watched()
/// said so last.
Result<std::vector<files::EventReport>> incidents(Database& database, const IncidentQuery& query);
/// What stands against cables (of one, where it is named), by link and cause, the most often seen first; with
/// open incidents as in incidents().
Result<std::vector<files::OffenceReport>> offences(Database& database, const IncidentQuery& query);

/// Forgets events, and incidents that are over, from before that time. Offences stay.
Result<void> forget_events(Database& database, Nanoseconds before);

}  // namespace weft::store
