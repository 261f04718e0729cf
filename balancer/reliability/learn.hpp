// Rates from what a watcher saw, and what came held against what a plan forecast. Only time in which the
// fabric was watched is exposure; a repair that is not over counts for the time that it took so far; a class
// without an event keeps an upper bound, never 0.
#pragma once

#include <array>
#include <map>
#include <string>
#include <vector>

#include "balancer/reliability/closed_form.hpp"
#include "balancer/reliability/history.hpp"
#include "topology/files/incident_json.hpp"

namespace weft::reliability {

/// What a store kept of a span of time.
struct Seen {
  std::vector<files::EventReport> incidents;  // the last event of each
  Nanoseconds from{}, until{};
  Hours watched{};  // of that span
};

struct ClassCount {
  std::uint64_t events = 0, failed = 0;        // failed: of a verdict that stops a job
  std::uint64_t repaired = 0;                  // that are over,
  Hours out{};                                 // time of all, so far
  std::map<std::string, std::uint64_t> parts;  // events by name
};

struct Counted {
  std::array<ClassCount, files::kPartClasses.size()> classes;
  /// Left out: of names that the fabric has no more, of several places of which one is true, that end before
  /// they begin.
  std::uint64_t unknown = 0, ambiguous = 0, odd = 0;
};
/// Incidents that were sure, not muted, and began within the span.
Counted count_failures(const Fabric& fabric, const Seen& seen);

/// Classes that a watcher sees are those of `seen`; GPUs, NICs and software it does not, and they stay as
/// published and are called guesses. Error (absent): nothing was watched.
Result<files::Rates> learn_rates(const Fabric& fabric, const Seen& seen);

/// A plan's forecast of one class, as kept in its document.
struct KeptForecast {
  std::size_t cause = 0;
  CountSource failures;
};
struct KeptPlan {
  std::string fabric;
  std::map<PartClass, std::uint64_t> parts;  // of classes that a watcher sees
  UtcTime made_at{};
  Hours length{};
  std::vector<KeptForecast> causes;
};
/// Of `weft.plan/1`. Error (invalid_input) names `what` and the place.
Result<KeptPlan> parse_kept_plan(std::string_view text, std::string_view what);

struct CheckRow {
  std::size_t cause = 0;
  CountForecast forecast;  // of the time that was watched
  std::uint64_t came = 0;
  bool inside = false;
};
/// Error (usage): the plan is of another fabric, or of this one with another number of parts.
Result<void> check_is_of(const KeptPlan& plan, const Fabric& fabric);

/// Classes that a watcher sees. `seen` begins where the plan was made; check_is_of() came before.
std::vector<CheckRow> check_plan(const KeptPlan& plan, const Fabric& fabric, const Seen& seen);

}  // namespace weft::reliability
