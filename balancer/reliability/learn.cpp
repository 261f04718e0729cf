#include "balancer/reliability/learn.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "balancer/reliability/offenders.hpp"
#include "balancer/reliability/plant.hpp"
#include "topology/files/json_fields.hpp"

namespace weft::reliability {
namespace {

constexpr std::array kSeenClasses{PartClass::host, PartClass::host_cable, PartClass::switch_cable,
                                  PartClass::leaf, PartClass::spine,      PartClass::core};
constexpr double kTold = 0.01;  // a part is listed where it is an offender with this probability, or failed

Hours hours_of(Nanoseconds time) { return std::chrono::duration_cast<Hours>(time); }

/// A part of this fabric by the name that it has now: a link may be named from either end.
struct NamedPart {
  PartClass part;
  std::string name;
};

std::optional<NamedPart> part_of(const Fabric& fabric, const files::IncidentReport& incident) {
  if (!incident.nodes.empty()) {
    const auto node = fabric.find_node(incident.nodes.front());
    if (!node) return std::nullopt;
    return NamedPart{class_of(fabric, *node), fabric.name_of(*node)};
  }
  if (incident.links.empty()) return std::nullopt;
  const auto link = fabric.find_link(incident.links.front());
  if (!link) return std::nullopt;
  return NamedPart{class_of(fabric, *link), fabric.name_of(*link)};
}

void count(ClassCount& into, const std::string& part, const files::IncidentReport& incident,
           Nanoseconds until) {
  ++into.events;
  if (incident.verdict == Verdict::failed) ++into.failed;
  const Nanoseconds end = std::min(incident.closed.value_or(until), until);
  into.out += hours_of(end - incident.first_seen);
  if (incident.closed && *incident.closed <= until) ++into.repaired;
  ++into.parts[part];
}

/// Parts that failed, with what their counts say of their rates.
void note_offenders(files::ClassRates& rates, const ClassCount& counted) {
  std::vector<PartHistory> parts;
  for (const auto& [name, events] : counted.parts) parts.push_back({events, rates.time});
  parts.resize(std::max<std::size_t>(rates.parts, parts.size()), {0, rates.time});
  const auto fit = fit_offenders(parts);
  if (fit.offenders.share <= 0) return;
  rates.offenders = fit.offenders;
  const double usual = posterior_of(fit, {0, rates.time}).rate;
  for (const auto& [name, events] : counted.parts) {
    const auto known = posterior_of(fit, {events, rates.time});
    if (known.offender >= kTold) rates.known.push_back({name, events, known.rate / usual, known.offender});
  }
}

files::ClassRates learnt(const Plant& plant, PartClass part, const ClassCount& counted, Hours watched) {
  const files::Rates published = files::published_rates();
  files::ClassRates rates = *published.find(part);
  rates.events = static_cast<double>(counted.events);
  rates.parts = plant.count(part);
  rates.time = watched;
  rates.guesses.clear();
  rates.source = counted.events > 0 ? fmt::format("{} incidents of a watcher", counted.events)
                                    : "no incident of a watcher: half a one is reckoned with";
  if (counted.events > 0) {
    rates.stops = static_cast<double>(counted.failed) / static_cast<double>(counted.events);
    rates.slows = 1 - rates.stops;
    // How much, and whether anybody but a watcher would have found it, no incident says.
    if (rates.slows > 0) rates.guesses.insert(rates.guesses.end(), {"slow_to", "silent"});
  }
  // Exponential: the time that all were out over the repairs that ended, also of those that did not.
  if (counted.repaired > 0 && counted.out > Hours(0))
    rates.repair = {
        {files::RepairLaw::exponential, counted.out / static_cast<double>(counted.repaired), 0, 1}};
  else
    rates.guesses.emplace_back("repair");
  note_offenders(rates, counted);
  return rates;
}

Result<double> amount_or_none(const files::JsonView& view) {
  constexpr double kMaxNumber = 1e9;
  WEFT_TRY(const double number, view.number());
  if (!(number >= 0 && number <= kMaxNumber))
    return view.error("expected a number from 0 to {}, found {}", kMaxNumber, view.shown());
  return number;
}

Result<double> amount(const files::JsonView& view) {
  WEFT_TRY(const double number, amount_or_none(view));
  if (number == 0) return view.error("expected a number above 0, found {}", view.shown());
  return number;
}

Result<KeptForecast> read_forecast(const files::JsonView& view) {
  KeptForecast cause;
  std::string name;
  WEFT_TRY_VOID(files::need_member(view, "cause", name, files::as_text));
  while (cause.cause < kCauses && cause_name(cause.cause) != name) ++cause.cause;
  if (cause.cause == kCauses) return view.error("cause: '{}' is not known", name);
  WEFT_TRY_VOID(files::need_member(view, "events", cause.failures.events, amount));
  WEFT_TRY_VOID(files::need_member(view, "times", cause.failures.share, amount_or_none));  // of new parts
  return cause;
}

}  // namespace

Counted count_failures(const Fabric& fabric, const Seen& seen) {
  Counted counted;
  for (const files::EventReport& each : seen.incidents) {
    const auto& incident = each.incident;
    if (!incident.opened || incident.muted_by || incident.state == IncidentState::dismissed) continue;
    if (incident.first_seen < seen.from || incident.first_seen >= seen.until) continue;
    if (incident.closed && *incident.closed < incident.first_seen) {
      ++counted.odd;
    } else if (!incident.alternatives.empty()) {
      ++counted.ambiguous;
    } else if (const auto which = part_of(fabric, incident)) {
      count(counted.classes[static_cast<std::size_t>(which->part)], which->name, incident, seen.until);
    } else {
      ++counted.unknown;
    }
  }
  return counted;
}

Result<files::Rates> learn_rates(const Fabric& fabric, const Seen& seen) {
  if (seen.watched <= Hours(0))
    return fail(ErrorKind::absent,
                "the store has nothing of that time: without exposure there are no rates; a longer --since?");
  const Counted counted = count_failures(fabric, seen);
  const Plant plant = make_plant(fabric, {}, 1);
  files::Rates rates{.origin = fabric.name(), .is_own = true, .classes = {}};
  for (files::ClassRates each : files::published_rates().classes) {
    if (std::ranges::find(kSeenClasses, each.part) == kSeenClasses.end()) {
      each.guesses = {"events", "repair"};  // of another site
      rates.classes.push_back(std::move(each));
    } else if (plant.count(each.part) > 0) {
      rates.classes.push_back(
          learnt(plant, each.part, counted.classes[static_cast<std::size_t>(each.part)], seen.watched));
    }
  }
  return rates;
}

Result<KeptPlan> parse_kept_plan(std::string_view text, std::string_view what) {
  WEFT_TRY(const auto json, files::parse_json(text, what));
  const files::JsonView root(json, what);
  WEFT_TRY_VOID(files::check_schema(root, "weft.plan/1"));
  KeptPlan plan;
  WEFT_TRY_VOID(files::need_member(root, "fabric", plan.fabric, files::as_text));
  WEFT_TRY(const auto parts, root.need("parts"));
  for (const PartClass part : kSeenClasses)
    WEFT_TRY_VOID(files::need_member(parts, to_string(part), plan.parts[part], files::as_count));
  WEFT_TRY_VOID(files::need_member(root, "generated_at", plan.made_at, files::as_time));
  WEFT_TRY(const auto job, root.need("job"));
  double days = 0;
  WEFT_TRY_VOID(files::need_member(job, "days", days, amount));
  plan.length = Hours(days * 24);
  WEFT_TRY_VOID(files::need_member(root, "causes", plan.causes, [](const files::JsonView& all) {
    return files::read_array<KeptForecast>(all, read_forecast);
  }));
  return plan;
}

Result<void> check_is_of(const KeptPlan& plan, const Fabric& fabric) {
  if (plan.fabric != fabric.name())
    return fail(ErrorKind::usage, "the plan is of the fabric {}, and what was watched is {}", plan.fabric,
                fabric.name());
  const Plant plant = make_plant(fabric, {}, 1);
  for (const auto& [part, count] : plan.parts)
    if (plant.count(part) != count)
      return fail(ErrorKind::usage,
                  "the plan is of {} {}, and {} has {}: it was made for this fabric at another time, or with "
                  "--scale; a plan of the fabric as it was watched can be checked",
                  count, plural(part), fabric.name(), plant.count(part));
  return {};
}

std::vector<CheckRow> check_plan(const KeptPlan& plan, const Fabric& fabric, const Seen& seen) {
  const Counted counted = count_failures(fabric, seen);
  std::vector<CheckRow> rows;
  for (const KeptForecast& each : plan.causes) {
    if (each.cause == kDomainCause) continue;
    const PartClass part = files::kPartClasses[each.cause];
    if (std::ranges::find(kSeenClasses, part) == kSeenClasses.end()) continue;
    CountSource source = each.failures;
    source.share *= seen.watched / plan.length;
    CheckRow row{.cause = each.cause, .forecast = forecast_count({source})};
    row.came = counted.classes[each.cause].events;
    row.inside = row.came >= row.forecast.low && row.came <= row.forecast.high;
    rows.push_back(row);
  }
  return rows;
}

}  // namespace weft::reliability
