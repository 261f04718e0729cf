// A history: all failures that may come to a plant within some time, drawn once, so that every plan that is
// tried meets the same ones. What a failure does (stops, slows, silent), how long its repair takes and which
// members of a domain it hits is drawn with it. A plan that makes a class fail less often passes over those
// of its failures whose `thin` lies above: nothing else moves.
#pragma once

#include <vector>

#include "balancer/reliability/plant.hpp"

namespace weft::reliability {

enum class Effect : std::uint8_t { stops, slows, silent };

/// Causes of failures: the classes of parts in their order, then domains.
inline constexpr std::size_t kCauses = files::kPartClasses.size() + 1;
inline constexpr std::size_t kDomainCause = files::kPartClasses.size();
std::string_view cause_name(std::size_t cause);

struct Failure {
  Hours at{};
  Hours repair{};
  std::uint32_t cause = 0;
  Index part = 0;  // within its class; of a domain, its number
  Effect effect = Effect::stops;
  float thin = 0;         // 0 to 1
  std::uint64_t key = 0;  // of the stream of what else it needs
};

struct History {
  Hours length{};
  std::vector<Failure> failures;  // ascending in time
};

struct HistoryOptions {
  std::uint64_t seed = 1;
  Hours length{};
  /// Rates are drawn from what their events leave open (a gamma distribution of events and exposure);
  /// otherwise each is as counted.
  bool open_rates = true;
};

/// The parts of a plant with their rates, made once.
class HistorySource {
 public:
  /// `plant` and `rates` must outlive it.
  HistorySource(const Plant& plant, const files::Rates& rates);

  /// That of this number. A plant of which nothing can fail gives an empty one. At most 20 million failures:
  /// check expected_failures() before.
  History draw(std::uint64_t number, const HistoryOptions& options) const;
  double expected_failures(Hours length) const;
  double expected_of(std::size_t cause, Hours length) const;
  /// Its rate over the mean of its class; the offenders that rates know have more than 1.
  double weight(std::size_t cause, Index part) const;
  /// Parts that rates know by a name that this plant does not have.
  std::size_t unknown_parts() const { return unknown_parts_; }
  /// Parts of classes whose rate changes with their age.
  std::uint64_t ageing_parts() const;
  const Plant& plant() const { return plant_; }
  const files::Rates& rates() const { return rates_; }
  double slow_to(std::size_t cause) const;

 private:
  void draw_class(History& history, const files::ClassRates& rates, std::uint64_t number,
                  const HistoryOptions& options) const;
  void draw_ageing(History& history, const files::ClassRates& rates, double factor, std::uint64_t number,
                   const HistoryOptions& options) const;
  void draw_domain(History& history, Index domain, std::uint64_t number, const HistoryOptions& options) const;

  const Plant& plant_;
  const files::Rates& rates_;
  /// By class: the relative rate of each part, summed up; empty: all alike.
  std::vector<std::vector<double>> weights_;
  std::size_t unknown_parts_ = 0;
};

}  // namespace weft::reliability
