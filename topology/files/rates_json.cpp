#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "topology/files/json_fields.hpp"
#include "topology/files/json_text.hpp"
#include "topology/files/rates.hpp"
#include "topology/files/time_span.hpp"

namespace weft::files {
namespace {

constexpr std::string_view kSchema = "weft.rates/1";
constexpr double kMaxEvents = 1e9;
constexpr std::uint64_t kMaxParts = 100'000'000;
constexpr Hours kMaxTime{100 * 365.25 * 24};
constexpr double kMaxSigma = 4;                    // a log-normal whose mean is e^8 times its median
constexpr double kMinShape = 0.2, kMaxShape = 20;  // beyond, a Weibull law is no law of parts
constexpr double kMaxRatio = 10'000;
constexpr std::size_t kMaxMixture = 16;
constexpr std::size_t kMaxKnown = 200'000;
constexpr double kShareSlack = 1e-6;
constexpr std::size_t kMaxText = 500;

constexpr std::array<std::string_view, kPartClasses.size()> kNames{
    "gpu", "host", "nic", "host_cable", "switch_cable", "leaf", "spine", "core", "software"};
constexpr std::array<std::string_view, kPartClasses.size()> kPlurals{
    "GPUs",          "hosts",          "NICs",          "host cables", "switch cables",
    "leaf switches", "spine switches", "core switches", "software"};
constexpr std::array<std::string_view, 3> kLaws{"fixed", "exponential", "log_normal"};

Result<double> bounded(const JsonView& view, double least, double most) {
  WEFT_TRY(const auto number, view.number());
  if (!(number >= least && number <= most))
    return view.error("expected {} to {}, found {}", least, most, view.shown());
  return number;
}

auto within(double least, double most) {
  return [=](const JsonView& view) { return bounded(view, least, most); };
}

/// "54d": with a unit always. `zero`: 0s is a time.
Result<Hours> time_text(const JsonView& view, bool zero) {
  const auto text = view.text();
  if (!text) return view.error("expected a time with its unit, as \"54d\" or \"4h\", found {}", view.shown());
  if (zero && *text == "0s") return Hours(0);
  const auto span = parse_span(*text);
  if (!span) return view.error("{}", span.error().message);
  if (Hours(*span) > kMaxTime) return view.error("expected 100 years at most, found {}", *text);
  return Hours(*span);
}

Result<std::string> short_text(const JsonView& view) {
  WEFT_TRY(const auto text, view.text());
  if (text.size() > kMaxText) return view.error("expected {} characters at most", kMaxText);
  return std::string(text);
}

std::optional<RepairLaw> parse_law(std::string_view text) {
  const auto at = std::ranges::find(kLaws, text);
  if (at == kLaws.end()) return std::nullopt;
  return static_cast<RepairLaw>(at - kLaws.begin());
}

Result<RepairTime> read_repair(const JsonView& view) {
  RepairTime repair;
  WEFT_TRY_VOID(need_member(view, "law", repair.law, as_word(parse_law, "fixed, exponential or log_normal")));
  WEFT_TRY_VOID(need_member(view, "mean", repair.mean, [&](const JsonView& each) {
    return time_text(each, repair.law == RepairLaw::fixed);
  }));
  if (repair.law == RepairLaw::log_normal)
    WEFT_TRY_VOID(need_member(view, "sigma", repair.sigma, within(0, kMaxSigma)));
  WEFT_TRY_VOID(read_member(view, "share", repair.share, as_share));
  return repair;
}

Result<std::vector<RepairTime>> read_mixture(const JsonView& view) {
  WEFT_TRY(auto repair, read_array<RepairTime>(view, read_repair));
  if (repair.empty() || repair.size() > kMaxMixture)
    return view.error("expected 1 to {} laws, found {}", kMaxMixture, repair.size());
  double shares = 0;
  for (const RepairTime& each : repair) shares += each.share;
  if (std::abs(shares - 1) > kShareSlack)
    return view.error("the shares add up to {:.6g}, expected 1", shares);
  return repair;
}

Result<Ageing> read_ageing(const JsonView& view) {
  Ageing ageing;
  WEFT_TRY_VOID(need_member(view, "shape", ageing.shape, within(kMinShape, kMaxShape)));
  const auto age = [](const JsonView& each) { return time_text(each, true); };
  WEFT_TRY_VOID(need_member(view, "age", ageing.age, age));
  WEFT_TRY_VOID(read_member(view, "counted_from", ageing.counted_from, age));
  return ageing;
}

Result<Offenders> read_offenders(const JsonView& view) {
  Offenders offenders;
  WEFT_TRY_VOID(need_member(view, "share", offenders.share, as_share));
  WEFT_TRY_VOID(need_member(view, "ratio", offenders.ratio, within(1, kMaxRatio)));
  return offenders;
}

Result<KnownPart> read_known(const JsonView& view) {
  KnownPart part;
  WEFT_TRY_VOID(need_member(view, "name", part.name, short_text));
  WEFT_TRY_VOID(need_member(view, "events", part.events, as_count));
  WEFT_TRY_VOID(need_member(view, "ratio", part.ratio, within(0, kMaxRatio)));
  WEFT_TRY_VOID(need_member(view, "offender", part.offender, as_share));
  return part;
}

/// The members that say how often.
Result<void> read_exposure(const JsonView& view, ClassRates& rates) {
  WEFT_TRY_VOID(need_member(view, "events", rates.events, within(0, kMaxEvents)));
  const auto exposure = view.find("exposure");
  if (!exposure)
    return view.error(
        "'exposure' is missing: a rate is events within an exposure, as {{\"parts\": 16384, \"time\": "
        "\"54d\"}}");
  WEFT_TRY_VOID(need_member(*exposure, "parts", rates.parts, as_count));
  if (rates.parts == 0 || rates.parts > kMaxParts)
    return exposure->error("parts: expected 1 to {}, found {}", kMaxParts, rates.parts);
  return need_member(*exposure, "time", rates.time,
                     [](const JsonView& each) { return time_text(each, false); });
}

/// The members that say what it does.
Result<void> read_effect(const JsonView& view, ClassRates& rates) {
  WEFT_TRY_VOID(read_member(view, "stops", rates.stops, as_share));
  WEFT_TRY_VOID(read_member(view, "slows", rates.slows, as_share));
  WEFT_TRY_VOID(read_member(view, "silent", rates.silent, as_share));
  const double shares = rates.stops + rates.slows + rates.silent;
  if (std::abs(shares - 1) > kShareSlack)
    return view.error("stops, slows and silent add up to {:.6g}, expected 1", shares);
  return read_member(view, "slow_to", rates.slow_to, within(0.001, 1));
}

Result<ClassRates> read_class(const JsonView& view) {
  constexpr std::array<std::string_view, 12> kMembers{"class",  "events",    "exposure", "stops",
                                                      "slows",  "silent",    "slow_to",  "repair",
                                                      "ageing", "offenders", "known",    "source"};
  WEFT_TRY_VOID(view.check_spelling(kMembers));
  ClassRates rates;
  WEFT_TRY_VOID(need_member(view, "class", rates.part,
                            as_word(parse_part_class, fmt::format("one of {}", fmt::join(kNames, ", ")))));
  WEFT_TRY_VOID(read_exposure(view, rates));
  WEFT_TRY_VOID(read_effect(view, rates));
  WEFT_TRY_VOID(need_member(view, "repair", rates.repair, read_mixture));
  WEFT_TRY_VOID(read_member(view, "ageing", rates.ageing, read_ageing));
  WEFT_TRY_VOID(read_member(view, "offenders", rates.offenders, read_offenders));
  WEFT_TRY_VOID(read_member(view, "known", rates.known,
                            [](const JsonView& each) { return read_array<KnownPart>(each, read_known); }));
  if (rates.known.size() > kMaxKnown) return view.error("known: expected {} parts at most", kMaxKnown);
  WEFT_TRY_VOID(read_member(view, "source", rates.source, short_text));
  WEFT_TRY_VOID(read_member(view, "guesses", rates.guesses, read_texts));
  return rates;
}

std::string span_text(Hours time) {
  if (time == Hours(0)) return "0s";
  return fmt::format("{}h", std::round(time.count() * 1e6) / 1e6);
}

DocumentTree class_tree(const ClassRates& rates) {
  DocumentTree tree;
  tree["class"] = to_string(rates.part);
  tree["events"] = rates.events;
  tree["exposure"] = {{"parts", rates.parts}, {"time", span_text(rates.time)}};
  tree["stops"] = rates.stops;
  tree["slows"] = rates.slows;
  tree["silent"] = rates.silent;
  if (rates.stops < 1) tree["slow_to"] = rates.slow_to;
  tree["repair"] = DocumentTree::array();
  for (const RepairTime& each : rates.repair) {
    DocumentTree repair{{"law", to_string(each.law)}, {"mean", span_text(each.mean)}};
    if (each.law == RepairLaw::log_normal) repair["sigma"] = each.sigma;
    repair["share"] = each.share;
    tree["repair"].push_back(std::move(repair));
  }
  if (rates.ageing) tree["ageing"] = {{"shape", rates.ageing->shape}, {"age", span_text(rates.ageing->age)}};
  if (rates.ageing && rates.ageing->counted_from)
    tree["ageing"]["counted_from"] = span_text(*rates.ageing->counted_from);
  if (rates.offenders)
    tree["offenders"] = {{"share", rates.offenders->share}, {"ratio", rates.offenders->ratio}};
  for (const KnownPart& part : rates.known)
    tree["known"].push_back(
        {{"name", part.name}, {"events", part.events}, {"ratio", part.ratio}, {"offender", part.offender}});
  tree["source"] = rates.source;
  tree["guesses"] = rates.guesses;
  return tree;
}

}  // namespace

std::string_view to_string(PartClass part) { return kNames[static_cast<std::size_t>(part)]; }
std::string_view plural(PartClass part) { return kPlurals[static_cast<std::size_t>(part)]; }
std::string_view to_string(RepairLaw law) { return kLaws[static_cast<std::size_t>(law)]; }

std::optional<PartClass> parse_part_class(std::string_view text) {
  const auto at = std::ranges::find(kNames, text);
  if (at == kNames.end()) return std::nullopt;
  return kPartClasses[static_cast<std::size_t>(at - kNames.begin())];
}

const ClassRates* Rates::find(PartClass part) const {
  const auto found = std::ranges::find(classes, part, &ClassRates::part);
  return found == classes.end() ? nullptr : &*found;
}

double events_counted(double events) { return events > 0 ? events : 0.5; }

double rate_of(const ClassRates& rates) { return events_counted(rates.events) / rates.exposure().count(); }

Hours mean_repair(const std::vector<RepairTime>& repair) {
  Hours mean{};
  for (const RepairTime& each : repair) mean += each.mean * each.share;
  return mean;
}

Result<Rates> parse_rates(std::string_view text, std::string_view what) {
  if (text.size() > static_cast<std::size_t>(kMaxRatesFile.count()))
    return fail(ErrorKind::invalid_input, "{}: expected {} bytes at most", what, kMaxRatesFile.count());
  WEFT_TRY(const auto json, parse_json(text, what));
  const JsonView root(json, what);
  WEFT_TRY_VOID(check_schema(root, kSchema));
  Rates rates;
  WEFT_TRY_VOID(need_member(root, "origin", rates.origin, short_text));
  WEFT_TRY_VOID(read_member(root, "is_own", rates.is_own, as_boolean));
  WEFT_TRY_VOID(need_member(root, "classes", rates.classes,
                            [](const JsonView& each) { return read_array<ClassRates>(each, read_class); }));
  std::set<PartClass> seen;
  for (const ClassRates& each : rates.classes)
    if (!seen.insert(each.part).second) return root.error("class {} stands twice", to_string(each.part));
  if (rates.classes.empty()) return root.error("classes: expected one at least");
  return rates;
}

std::string rates_text(const Rates& rates, const DocumentStamp& stamp) {
  DocumentTree tree = stamped_tree(kSchema, stamp);
  tree["origin"] = rates.origin;
  tree["is_own"] = rates.is_own;
  tree["classes"] = DocumentTree::array();
  for (const ClassRates& each : rates.classes) tree["classes"].push_back(class_tree(each));
  return document_text(tree) + "\n";
}

}  // namespace weft::files
