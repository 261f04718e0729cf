#include "balancer/reliability/history.hpp"

#include <algorithm>
#include <unordered_map>

#include "balancer/reliability/ageing.hpp"
#include "balancer/reliability/draw.hpp"

namespace weft::reliability {
namespace {

std::uint32_t cause_of(PartClass part) { return static_cast<std::uint32_t>(part); }

Failure failure_at(Hours at, std::uint32_t cause, std::uint64_t key) {
  return {.at = at, .repair = {}, .cause = cause, .part = 0, .effect = Effect::stops, .thin = 0, .key = key};
}

/// What is drawn with a failure of a class, from a stream of its own.
void fill(Failure& failure, const files::ClassRates& rates) {
  Stream stream({failure.key});
  failure.thin = static_cast<float>(stream.uniform());
  const double effect = stream.uniform();
  failure.effect = effect < rates.stops                 ? Effect::stops
                   : effect < rates.stops + rates.slows ? Effect::slows
                                                        : Effect::silent;
  failure.repair = draw_repair(stream, rates.repair);
}

/// `unknown` grows by the names that no part of this class has.
std::vector<double> weights_of(const Plant& plant, const files::ClassRates& rates, std::size_t& unknown) {
  if (rates.known.empty()) return {};
  std::unordered_map<std::string, double> ratios;
  for (const files::KnownPart& part : rates.known) ratios[part.name] = part.ratio;
  std::vector<double> sums(plant.count(rates.part));
  double sum = 0;
  for (Index i = 0; i < sums.size(); ++i) {
    const auto found = ratios.extract(plant.name_of(rates.part, i));  // a copy of the fabric has other parts
    sums[i] = sum += found.empty() ? 1.0 : found.mapped();
  }
  unknown += ratios.size();
  // The rate of the class is that of its parts on average.
  for (double& each : sums) each *= sum > 0 ? static_cast<double>(sums.size()) / sum : 1;
  return sums;
}

/// The part in whose interval of the summed weights this lies.
Index picked(const std::vector<double>& sums, double at) {
  const auto found = std::ranges::upper_bound(sums, at) - sums.begin();
  return static_cast<Index>(std::min<std::ptrdiff_t>(found, std::ssize(sums) - 1));
}

/// Parts of a class that fail more often than the others, in one history.
struct DrawnOffenders {
  std::vector<Index> parts;  // ascending
  double ratio = 1;
  double usual = 1;  // of the others, over the mean of the class

  bool has(Index part) const { return std::ranges::binary_search(parts, part); }
  double weight(Index part) const { return usual * (has(part) ? ratio : 1); }
};

/// Where rates tell how many there are and not which, they are others in each history.
DrawnOffenders drawn_offenders(const files::ClassRates& rates, std::uint64_t parts, Stream stream) {
  DrawnOffenders drawn;
  if (!rates.offenders || !rates.known.empty() || rates.offenders->ratio <= 1) return drawn;
  drawn.ratio = rates.offenders->ratio;
  for (Index part = 0; part < parts; ++part)
    if (stream.uniform() < rates.offenders->share) drawn.parts.push_back(part);
  const auto bad = static_cast<double>(drawn.parts.size()), all = static_cast<double>(parts);
  drawn.usual = all / (all + bad * (drawn.ratio - 1));
  return drawn;
}

/// One of so many parts, by its weight.
Index picked(const DrawnOffenders& offenders, std::uint64_t parts, Stream& stream) {
  if (offenders.parts.empty()) return static_cast<Index>(stream.below(parts));
  const auto bad = static_cast<double>(offenders.parts.size());
  if (bad == static_cast<double>(parts) ||
      stream.uniform() < bad * offenders.ratio * offenders.usual / static_cast<double>(parts))
    return offenders.parts[stream.below(offenders.parts.size())];
  for (;;)
    if (const auto part = static_cast<Index>(stream.below(parts)); !offenders.has(part)) return part;
}

constexpr std::uint64_t kOffenderStream = 0x0FFE2DE2;  // apart from all others of a class

}  // namespace

std::string_view cause_name(std::size_t cause) {
  return cause == kDomainCause ? "domain" : to_string(files::kPartClasses[cause]);
}

HistorySource::HistorySource(const Plant& plant, const files::Rates& rates)
    : plant_(plant), rates_(rates), weights_(kCauses) {
  for (const files::ClassRates& each : rates.classes)
    weights_[cause_of(each.part)] = weights_of(plant, each, unknown_parts_);
}

double HistorySource::weight(std::size_t cause, Index part) const {
  const auto& sums = weights_[cause];
  if (sums.empty()) return 1;
  return part == 0 ? sums[0] : sums[part] - sums[part - 1];
}

double HistorySource::expected_of(std::size_t cause, Hours length) const {
  double failures = 0;
  if (cause == kDomainCause) {
    for (const Domain& domain : plant_.domains)
      failures += files::events_counted(domain.events) / domain.exposure.count() * length.count();
    return failures;
  }
  const auto* rates = rates_.find(files::kPartClasses[cause]);
  if (rates == nullptr) return 0;
  const auto& weights = weights_[cause];
  const double parts = weights.empty() ? static_cast<double>(plant_.count(rates->part)) : weights.back();
  return parts > 0 ? failures_a_part(*rates, length) * parts : 0;
}

double HistorySource::expected_failures(Hours length) const {
  double failures = 0;
  for (std::size_t cause = 0; cause < kCauses; ++cause) failures += expected_of(cause, length);
  return failures;
}

std::uint64_t HistorySource::ageing_parts() const {
  std::uint64_t parts = 0;
  for (const files::ClassRates& each : rates_.classes)
    if (ages(each)) parts += plant_.count(each.part);
  return parts;
}

double HistorySource::slow_to(std::size_t cause) const {
  if (cause == kDomainCause) return 1;
  const auto* rates = rates_.find(files::kPartClasses[cause]);
  return rates == nullptr ? 1 : rates->slow_to;
}

void HistorySource::draw_class(History& history, const files::ClassRates& rates, std::uint64_t number,
                               const HistoryOptions& options) const {
  const auto parts = plant_.count(rates.part);
  if (parts == 0) return;
  const std::uint32_t cause = cause_of(rates.part);
  Stream stream({options.seed, number, cause});
  const double counted = files::events_counted(rates.events);
  const double factor = options.open_rates ? stream.gamma(counted) / counted : 1;
  if (ages(rates)) return draw_ageing(history, rates, factor, number, options);
  const auto offenders =
      drawn_offenders(rates, parts, Stream({options.seed, number, cause, kOffenderStream}));
  const auto& weights = weights_[cause];
  const double all = weights.empty() ? static_cast<double>(parts) : weights.back();
  const Hours mean(1 / (files::rate_of(rates) * factor * all));
  for (Hours at = mean * stream.exponential(); at < history.length; at += mean * stream.exponential()) {
    Failure& failure = history.failures.emplace_back(failure_at(at, cause, stream.bits()));
    if (weights.empty())
      failure.part = picked(offenders, parts, stream);
    else
      failure.part = picked(weights, stream.uniform() * all);
    fill(failure, rates);
  }
}

void HistorySource::draw_ageing(History& history, const files::ClassRates& rates, double factor,
                                std::uint64_t number, const HistoryOptions& options) const {
  const double shape = rates.ageing->shape;
  const std::uint32_t cause = cause_of(rates.part);
  const auto offenders = drawn_offenders(rates, plant_.count(rates.part),
                                         Stream({options.seed, number, cause, kOffenderStream}));
  for (Index part = 0; part < plant_.count(rates.part); ++part) {
    Stream stream({options.seed, number, cause, part});
    const double heavy = weight(cause, part) * offenders.weight(part);
    if (heavy <= 0) continue;
    const Hours scale = weibull_scale(rates, factor * heavy);
    Hours age = rates.ageing->age, at{};
    while ((at += weibull_wait(age, shape, scale, stream.exponential())) < history.length) {
      Failure& failure = history.failures.emplace_back(failure_at(at, cause, stream.bits()));
      failure.part = part;
      fill(failure, rates);
      at += failure.repair, age = Hours(0);
    }
  }
}

void HistorySource::draw_domain(History& history, Index domain, std::uint64_t number,
                                const HistoryOptions& options) const {
  const Domain& what = plant_.domains[domain];
  Stream stream({options.seed, number, kDomainCause, domain});
  const double counted = files::events_counted(what.events);
  const double factor = options.open_rates ? stream.gamma(counted) / counted : 1;
  const Hours mean = what.exposure / (counted * factor);
  for (Hours at = mean * stream.exponential(); at < history.length; at += mean * stream.exponential()) {
    Failure& failure = history.failures.emplace_back(failure_at(at, kDomainCause, stream.bits()));
    failure.part = domain;
    failure.repair = what.repair;
    failure.thin = static_cast<float>(stream.uniform());
  }
}

History HistorySource::draw(std::uint64_t number, const HistoryOptions& options) const {
  History history{.length = options.length, .failures = {}};
  for (const files::ClassRates& each : rates_.classes) draw_class(history, each, number, options);
  for (Index d = 0; d < plant_.domains.size(); ++d) draw_domain(history, d, number, options);
  std::ranges::sort(history.failures, {}, [](const Failure& each) { return std::pair(each.at, each.key); });
  return history;
}

}  // namespace weft::reliability
