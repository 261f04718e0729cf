#include "collectors/compare/pause_times.hpp"

#include <algorithm>

#include "topology/findings/pause_times.hpp"

namespace weft::compare {

Result<std::optional<PausedNic>> read_pauses(const files::JsonView& load) {
  WEFT_TRY(const files::JsonView window, load.need("seconds"));
  WEFT_TRY(const double seconds, window.number());
  if (!(seconds > 0 && seconds < 1e9)) return window.error("expected seconds, from above 0 to 1e9");
  WEFT_TRY(const files::JsonView times, load.need("paused"));
  PausedNic paused;
  bool is_timed = false;
  for (const PauseTimeCounter& known : kPauseTimes) {
    const auto counter = times.find(known.name);
    if (!counter) continue;
    WEFT_TRY(const auto micros, counter->count<std::uint64_t>());
    double& longest = known.of_peer ? paused.receiving : paused.sending;
    longest = std::max(longest, std::min(static_cast<double>(micros) / 1e6 / seconds, 1.0));
    is_timed = true;
  }
  return is_timed ? std::optional(paused) : std::nullopt;
}

}  // namespace weft::compare
