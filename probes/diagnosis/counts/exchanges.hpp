// What else may explain the same losses as what a search found.
#pragma once

#include <map>
#include <optional>
#include <set>

#include "probes/diagnosis/counts/count_climb.hpp"

namespace weft::diagnosis {

struct Exchanges {
  std::vector<std::vector<Exchange>> groups;  // of none of which two go together
  /// Suspects without which, and with nothing in their place, all is less probable by so many nats, the
  /// other hazards at their best then.
  std::map<std::uint32_t, double> spared;
  /// Where time was over before all was asked: the suspects of which it sufficed.
  std::optional<std::set<std::uint32_t>> challenged;
};

/// Each fault in turn is put out of the question, then both directions of each cable, and the search goes on
/// without: where that ends better, the climb stays there; where it ends about as well, what was found is no
/// more than one explanation. Switches give way to their cables first. Without `by_challenge` only what
/// switches show is told.
Exchanges find_exchanges(CountClimb& climb, bool by_challenge);

}  // namespace weft::diagnosis
