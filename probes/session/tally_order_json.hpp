// When packets went and in which order they were lost, beside the rows of an answer: agents of other versions
// neither tell nor read it. Part of messages_json; throws json_fields::BadField.
#pragma once

#include "probes/session/json_fields.hpp"
#include "probes/session/messages.hpp"

namespace weft::json_fields {

/// Null where there is nothing to tell.
Json more_of(const PingTally& tally);
Json more_of(const ReceivedTally& tally);
Json more_of(const FlowTally& tally);
/// Refuses what contradicts the row.
void read_more(const Json& more, PingTally& tally);
void read_more(const Json& more, ReceivedTally& tally);
void read_more(const Json& more, FlowTally& tally);

/// What is told beside the rows: for each an object, or null where there is nothing to tell.
template <class Tally>
Json with_more(Json answer, const std::vector<Tally>& tallies) {
  Json more = rows(tallies, [](const Tally& tally) { return more_of(tally); });
  for (const Json& each : more)
    if (!each.is_null()) {
      answer["more"] = std::move(more);
      break;
    }
  return answer;
}

/// Adds what is told beside each row. Agents of other versions tell nothing.
template <class Tally>
std::vector<Tally> and_more(const Json& answer, std::vector<Tally> tallies) {
  if (!answer.contains("more")) return tallies;
  const Json& more = answer["more"];
  if (!more.is_array() || more.size() != tallies.size()) throw BadField("'more' does not fit the rows");
  for (std::size_t i = 0; i < tallies.size(); ++i)
    if (!more[i].is_null()) read_more(more[i], tallies[i]);
  return tallies;
}

}  // namespace weft::json_fields
