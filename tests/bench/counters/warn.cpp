#include <array>
#include <cmath>
#include <numbers>
#include <optional>
#include <random>
#include <vector>

#include "collectors/counters/corrected_trend.hpp"
#include "tests/bench/counters/pieces.hpp"
#include "topology/base/splitmix.hpp"
#include "topology/base/statistics.hpp"

namespace weft::bench::counters {
namespace {

using std::chrono::hours;
using weft::counters::ErrorRate;

constexpr int kWarnedPorts = 4096, kWarnDays = 45, kWarnHours = 24 * kWarnDays;
constexpr int kLookEvery = 6;                                  // hours
constexpr double kWarnLimit = -5;                              // of the comparator: a rate of 1e-5
constexpr std::array kModuleLevels{-10.0, -8.5, -7.0, -5.75};  // log10, of four types of modules

enum class Fate { healthy, slow, after_step, without_sign };

/// Rates of each hour until it fails.
struct WarnedPort {
  Fate fate = Fate::healthy;
  double fails = kWarnHours;
  std::vector<ErrorRate> rates;
};

class DrawnPorts {
 public:
  explicit DrawnPorts(std::uint64_t seed) : random_(seed) {}

  WarnedPort port() {
    WarnedPort port;
    const double level = kModuleLevels[static_cast<std::size_t>(4 * uniform())] + 0.35 * normal();
    if (uniform() < 0.015) {
      const double which = uniform();
      port.fate = which < 0.5 ? Fate::slow : which < 0.75 ? Fate::after_step : Fate::without_sign;
      port.fails = 24 * (10 + 35 * uniform());
    }
    const double gap = weft::counters::kLossAt - level;
    const double lasts = 24 * (port.fate == Fate::slow ? 4 + 10 * uniform() : 1.5 + 3.5 * uniform());
    const double bends = 1 + uniform(), jumps = 0.3 + 0.3 * uniform();
    const double cycle = 0.12 * std::exp(0.4 * normal()), peak = 15 + normal(), drift = 0.01 * normal() / 24;
    double wander = 0, steps = 0;
    bool anew = false;
    for (int hour = 0; hour < std::min(kWarnHours, static_cast<int>(port.fails)); ++hour) {
      wander += -wander / 24 + 0.05 * std::sqrt(2.0 / 24) * normal();
      if (uniform() < 0.01 / 24) steps += 0.5 * normal(), anew = uniform() < 0.5;
      double rate = level + steps + wander + drift * hour + 0.03 * normal() +
                    cycle * std::cos(2 * std::numbers::pi * (hour - peak) / 24);
      const double done = 1 - (port.fails - hour) / lasts;  // of its way to loss
      if (done > 0 && port.fate == Fate::slow) rate += gap * std::pow(done, bends);
      if (done > 0 && port.fate == Fate::after_step) rate += gap * (jumps + (1 - jumps) * done);
      if (uniform() < 0.01) continue;  // not read
      port.rates.push_back({hours(480'000 + hour), std::min(rate, -0.5), anew});
      anew = false;
    }
    return port;
  }

 private:
  double uniform() { return std::uniform_real_distribution(0.0, 1.0)(random_); }
  double normal() { return std::normal_distribution()(random_); }
  SplitMix64 random_;
};

/// When it warns first: of `wanted`, hours since the begin.
template <class Warns>
std::optional<double> first_warning(const WarnedPort& port, Warns warns) {
  for (std::size_t i = kLookEvery; i <= port.rates.size(); i += kLookEvery)
    if (warns(std::span(port.rates).first(i)))
      return std::chrono::duration<double, std::ratio<3600>>(port.rates[i - 1].at - hours(480'000)).count();
  return std::nullopt;
}

struct WarningScore {
  double all[4] = {}, warned[4] = {};
  std::vector<double> leads;
  double forecasts = 0, held = 0;  // of ranges
  void add(const WarnedPort& port, std::optional<double> warning) {
    const auto fate = static_cast<std::size_t>(port.fate);
    ++all[fate];
    if (!warning || *warning >= port.fails) return;
    ++warned[fate];
    if (port.fate != Fate::healthy && port.fate != Fate::without_sign)
      leads.push_back((port.fails - *warning) / 24);
  }
  double share(Fate fate) const {
    return warned[static_cast<std::size_t>(fate)] / std::max(all[static_cast<std::size_t>(fate)], 1.0);
  }
  void tell(Figures& figures, const std::string& name, bool is_ours) {
    const double right = warned[1] + warned[2], named = right + warned[0] + warned[3];
    const auto target = [&](const char* text) { return is_ours ? text : ""; };
    figures.add(name + "_precision", named > 0 ? right / named : 1, target("at least 0.90"));
    figures.add(name + "_slow", share(Fate::slow), target("at least 0.97"));
    figures.add(name + "_step", share(Fate::after_step), target("at least 0.70"));
    figures.add(name + "_false", 1000 * share(Fate::healthy) * 30 / kWarnDays, target("at most 1.0"));
    figures.add(is_ours ? "lead_days" : name + "_lead_days", leads.empty() ? 0 : median(leads),
                target("at least 1.5"));
  }
};

}  // namespace

void measure_warnings(Figures& figures) {
  WarningScore ours, limit;
  std::optional<weft::counters::CorrectedTrend> last;
  for (const std::uint64_t seed : {81U, 82U}) {
    DrawnPorts draw(seed);
    for (int i = 0; i < kWarnedPorts; ++i) {
      const WarnedPort port = draw.port();
      const auto warning = first_warning(port, [&](std::span<const ErrorRate> rates) {
        last = weft::counters::corrected_trend(rates);
        return last && last->degrading;
      });
      ours.add(port, warning);
      if (warning && *warning < port.fails && (port.fate == Fate::slow || port.fate == Fate::after_step)) {
        const double left = (port.fails - *warning) / 24;
        ++ours.forecasts;
        ours.held += left >= last->loss->low && left <= last->loss->high.value_or(left);
      }
      limit.add(port, first_warning(port, [](std::span<const ErrorRate> rates) {
                  return std::ranges::any_of(rates.last(kLookEvery), [](const ErrorRate& rate) {
                    return rate.log10_rate > kWarnLimit;
                  });
                }));
    }
  }
  ours.tell(figures, "warn", true);
  figures.add("warn_forecasts_held", ours.held / std::max(ours.forecasts, 1.0));
  limit.tell(figures, "limit", false);
}

}  // namespace weft::bench::counters
