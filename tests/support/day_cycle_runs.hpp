// Runs of two sides over days on a fabric that is slower each noon.
#pragma once

#include <cmath>
#include <random>
#include <vector>

#include "collectors/compare/run.hpp"
#include "topology/base/splitmix.hpp"

namespace weft {

struct DayRuns {
  double dip = 0.02;                                 // less bandwidth at noon than at midnight
  double ratio = 1;                                  // B/A
  double noise = 0.035;                              // of one run
  double per_degree = 0;                             // and what each degree takes
  double first_hour_of_b = 11, last_hour_of_b = 13;  // of each day; A runs around the clock
  int days_of_a = 14, days_of_b = 3;
  int runs_a_day = 12;

  struct Sides {
    std::vector<compare::Run> a, b;
  };
  /// A fabric's history: B are the days behind those of A.
  Sides draw(SplitMix64& random) const {
    std::normal_distribution<double> standard(0, 1);
    Sides sides;
    const auto add = [&](std::vector<compare::Run>& runs, double day, double hour, double factor) {
      constexpr double kBegin = 20'000 * 24.0;                       // hours since 1970: midnight
      const double noon = (1 - std::cos(2 * M_PI * hour / 24)) / 2;  // 1 at noon
      const double degrees = 40 + 5 * std::sin(day * 1.7) + standard(random);
      compare::Run run{.name = "run", .cells = {}, .mtus = {}, .remarks = {}};
      const double log =
          std::log(factor) + std::log1p(-dip) * noon + noise * standard(random) - per_degree * degrees;
      run.cells[{{"work"}, Bytes(1024), compare::Metric::bandwidth}] = {1e9 * std::exp(log), 0};
      run.moment =
          compare::Moment{std::chrono::nanoseconds(std::llround((kBegin + day * 24 + hour) * 3.6e12)),
                          per_degree != 0 ? std::optional(degrees) : std::nullopt};
      runs.push_back(std::move(run));
    };
    for (int day = 0; day < days_of_a + days_of_b; ++day)
      for (int i = 0; i < runs_a_day; ++i) {
        const double share = (i + 0.5) / runs_a_day;
        const bool is_b = day >= days_of_a;
        const double hour = is_b ? first_hour_of_b + share * (last_hour_of_b - first_hour_of_b) : 24 * share;
        add(is_b ? sides.b : sides.a, day, hour, is_b ? ratio : 1);
      }
    return sides;
  }
};

}  // namespace weft
