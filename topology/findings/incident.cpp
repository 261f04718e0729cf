#include "topology/findings/incident.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace weft {
namespace {

// In the order of the enumerators.
constexpr std::array<std::string_view, 5> kStates{"suspected", "open", "recovering", "closed", "dismissed"};
constexpr std::array<std::string_view, 7> kChanges{"suspected", "opened", "changed",  "recovering",
                                                   "came_back", "closed", "dismissed"};

template <class Enum, std::size_t N>
std::optional<Enum> parse(const std::array<std::string_view, N>& words, std::string_view text) {
  const auto found = std::ranges::find(words, text);
  if (found == words.end()) return std::nullopt;
  return static_cast<Enum>(found - words.begin());
}

}  // namespace

std::string_view to_string(IncidentState state) { return kStates.at(static_cast<std::size_t>(state)); }
std::string_view to_string(IncidentChange change) { return kChanges.at(static_cast<std::size_t>(change)); }
std::optional<IncidentState> parse_incident_state(std::string_view text) {
  return parse<IncidentState>(kStates, text);
}
std::optional<IncidentChange> parse_incident_change(std::string_view text) {
  return parse<IncidentChange>(kChanges, text);
}

}  // namespace weft
