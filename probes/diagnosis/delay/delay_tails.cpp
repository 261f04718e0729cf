#include "probes/diagnosis/delay/delay_tails.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "probes/diagnosis/concentration.hpp"
#include "topology/base/statistics.hpp"
#include "topology/model/fabric.hpp"

namespace weft::diagnosis {
namespace {

constexpr double kMaxByItself =
    0.01;  // of all rows: tails beyond what is tolerated, for hosts are late now and then
constexpr double kMaybe = 0.6;  // that it is the cable, not other traffic on it

Found found_of(const Concentration& tail, std::vector<double> beyond) {
  Found found{.channels = tail.channels, .cause = Cause::delay, .probability = kMaybe};
  const double most = *std::ranges::max_element(beyond);
  const double usual = median(beyond);
  found.estimate = Estimate{usual * 1e-6, 0.0, most * 1e-6};
  found.evidence.push_back(fmt::format(
      "in {} of {} rows of round trips over it the slowest take {} longer than others of their length, "
      "the middle ones do not: a delay that comes and goes, or queues of other traffic",
      tail.odd.size(), tail.crossed, in_words(usual)));
  return found;
}

}  // namespace

std::string in_words(double micros) {
  if (micros >= 1000) return fmt::format("{:.2f} ms", micros / 1000);
  return fmt::format("{:.0f} us", micros);
}

void report_tails(const Fabric& fabric, const DelayRows& rows, const std::vector<double>& left,
                  double ceiling, Report& report) {
  std::vector<Traversal> traversals;
  for (std::size_t i = 0; i < rows.rows().size(); ++i) {
    const DelayRow& row = rows.rows()[i];
    const bool is_late_itself = rows.is_late(row, left[i]);
    traversals.push_back({rows.channels_of(i), !is_late_itself && left[i] + row.within > ceiling});
  }
  AccountLine& account = report.account().late;
  for (const Concentration& tail : concentrations(fabric, std::move(traversals), kMaxByItself)) {
    account.all += tail.odd.size();
    const bool is_known =
        std::ranges::any_of(tail.channels, [&](ChannelId channel) { return report.speaks_of(channel); });
    if (tail.of_one_host || is_known) {
      (is_known ? account.found : account.tolerated) += tail.odd.size();
      continue;
    }
    account.open += tail.odd.size();
    std::vector<double> beyond;
    for (const std::uint32_t i : tail.odd) beyond.push_back(left[i] + rows.rows()[i].within);
    report.add(found_of(tail, std::move(beyond)));
  }
}

}  // namespace weft::diagnosis
