#include "collectors/counters/corrected_trend.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <functional>
#include <map>
#include <numbers>
#include <set>
#include <tuple>

#include "topology/base/instant.hpp"
#include "topology/base/outside_text.hpp"
#include "topology/base/statistics.hpp"
#include "topology/base/text.hpp"
#include "topology/base/text_table.hpp"

namespace weft::counters {
namespace {

using std::chrono::hours;

constexpr double kBitsOnWire = 5440;  // of a codeword: RS(544,514), symbols of ten bits (IEEE 802.3, 91.5.2)
constexpr Nanoseconds kPast = hours(14 * 24);
constexpr Nanoseconds kDay = hours(24);
constexpr std::size_t kMinOfCycle = 36;  // rates in the middle of a day of rates, for the daily cycle
/// From `bench counters --only warn`, by other seeds than those that it measures with.
constexpr double kMinRise = 0.5;       // decades over the time that is looked at
constexpr double kMaxDays = 7;         // to loss: what is further is drift
constexpr double kSure = 5.0;          // standard deviations of the slope
constexpr double kMinNoise = 0.01;     // decades, of the mean of a block
constexpr double kAt90 = 1.645;        // standard deviations
constexpr double kBent = 0.3;          // of a slope: rates seldom rise on a straight line
constexpr double kMaxForecast = 365;   // days
constexpr std::size_t kMaxAbove = 10;  // that are named
constexpr std::string_view kLimitOfRs544 = "ieee_rs544";

double days(Nanoseconds time) { return std::chrono::duration<double, std::ratio<86'400>>(time).count(); }

/// A time over which a rise is looked for, in pieces: each is one value, so that no rate decides alone.
struct Look {
  Nanoseconds block;
  std::size_t blocks;
  bool needs_cycle;  // shorter than some days, a daily cycle looks like a rise
};
constexpr std::array kLooks{Look{hours(4), 6, true}, Look{hours(6), 12, false}};

/// a cos + b sin of the time of day.
struct Cycle {
  double a = 0, b = 0;
  bool is_known = false;
  static double angle(Nanoseconds at) { return 2 * std::numbers::pi * (days(at) - std::floor(days(at))); }
  double at(Nanoseconds time) const { return a * std::cos(angle(time)) + b * std::sin(angle(time)); }
};

/// Least squares on what is left of each rate beside the mean of the day about it, in which a cycle is zero.
Cycle cycle_of(std::span<const ErrorRate> rates) {
  double cc = 0, ss = 0, cs = 0, yc = 0, ys = 0, sum = 0;
  std::size_t used = 0, first = 0, last = 0, stretch = 0;
  for (std::size_t i = 0; i < rates.size(); ++i) {
    if (rates[i].anew) stretch = i;
    const auto begin = rates[i].at - kDay / 2, end = rates[i].at + kDay / 2;
    for (; last < rates.size() && rates[last].at <= end; ++last) sum += rates[last].log10_rate;
    for (; rates[first].at <= begin; ++first) sum -= rates[first].log10_rate;
    const bool whole = first >= stretch && last < rates.size() && first > 0 &&
                       std::none_of(rates.begin() + static_cast<std::ptrdiff_t>(i) + 1,
                                    rates.begin() + static_cast<std::ptrdiff_t>(last),
                                    [](const ErrorRate& rate) { return rate.anew; });
    if (!whole || last - first < 4) continue;
    const double y = rates[i].log10_rate - sum / static_cast<double>(last - first);
    const double c = std::cos(Cycle::angle(rates[i].at)), s = std::sin(Cycle::angle(rates[i].at));
    cc += c * c, ss += s * s, cs += c * s, yc += y * c, ys += y * s;
    ++used;
  }
  const double det = cc * ss - cs * cs;
  if (used < kMinOfCycle || det < 1e-3 * cc * ss) return {};
  return {(yc * ss - ys * cs) / det, (ys * cc - yc * cs) / det, true};
}

/// Medians of the pieces of a look that ends with the last rate, the oldest first; empty: one has no rate.
std::vector<double> blocks_of(std::span<const ErrorRate> rates, const Look& look, const Cycle& cycle) {
  std::vector<std::vector<double>> values(look.blocks);
  for (const ErrorRate& rate : rates) {
    const auto back = static_cast<std::size_t>((rates.back().at - rate.at) / look.block);
    if (back < look.blocks) values[look.blocks - 1 - back].push_back(rate.log10_rate - cycle.at(rate.at));
  }
  std::vector<double> middles;
  for (auto& each : values) {
    if (each.empty()) return {};
    middles.push_back(median(each));
  }
  return middles;
}

struct Rise {
  double a_day = 0, deviation = 0;  // without its largest step
};

/// The mean of the steps from piece to piece without the two neighbours that make the largest: a step of the
/// level is no rise. Their deviation is that of the others about their mean.
Rise rise_of(const std::vector<double>& blocks, Nanoseconds block) {
  std::vector<double> steps;
  for (std::size_t i = 1; i < blocks.size(); ++i) steps.push_back(blocks[i] - blocks[i - 1]);
  std::size_t largest = 0;
  for (std::size_t i = 1; i + 1 < steps.size(); ++i)
    if (std::abs(steps[i] + steps[i + 1]) > std::abs(steps[largest] + steps[largest + 1])) largest = i;
  steps.erase(steps.begin() + static_cast<std::ptrdiff_t>(largest),
              steps.begin() + static_cast<std::ptrdiff_t>(largest) + 2);
  double mean = 0, square = 0;
  for (const double step : steps) mean += step / static_cast<double>(steps.size());
  // Noise of a piece stands in two steps, with either sign: the line through all is surer than that.
  for (const double step : steps) square += (step - mean) * (step - mean) / 2;
  const double noise = std::max(std::sqrt(square / static_cast<double>(steps.size() - 1)), kMinNoise);
  const auto n = static_cast<double>(blocks.size());
  return {mean / days(block), noise * std::sqrt(12.0 / (n * n * n)) / days(block)};
}

bool spans_a_day(const SeriesHistory& series) {
  using enum PortCounter;
  const bool is_corrected = series.key.counter == fec_corrected || series.key.counter == fec_bits;
  return is_corrected && !series.windows.empty() &&
         series.windows.back().to - series.windows.front().from >= kDay;
}

/// Of the last day, from the bin of codewords without an error on; up to the first that is not told.
std::vector<std::uint64_t> bins_of(std::span<const SeriesHistory> of_port) {
  std::vector<std::uint64_t> bins;
  for (std::uint8_t k = 0; k <= kRepairable; ++k) {
    const auto found = std::ranges::find(of_port, CounterKey{PortCounter::fec_bin, k}, &SeriesHistory::key);
    if (found == of_port.end() || found->windows.empty()) break;
    const Nanoseconds end = found->windows.back().to;
    const auto grown = growth(*found, end - kDay, end);
    bins.push_back(grown ? grown->grew : 0);
  }
  return bins;
}

std::uint64_t lost_in_last_day(std::span<const SeriesHistory> of_port) {
  std::uint64_t lost = 0;
  for (const SeriesHistory& series : of_port) {
    if (series.key.counter != PortCounter::fec_uncorrectable || series.windows.empty()) continue;
    const Nanoseconds end = series.windows.back().to;
    if (const auto grown = growth(series, end - kDay, end)) lost += grown->grew;
  }
  return lost;
}

}  // namespace

std::optional<CorrectedTrend> corrected_trend(std::span<const ErrorRate> rates, double loss_at) {
  if (rates.empty()) return std::nullopt;
  const auto begin = std::ranges::lower_bound(rates, rates.back().at - kPast, {}, &ErrorRate::at);
  const auto past = rates.subspan(static_cast<std::size_t>(begin - rates.begin()));
  const Cycle cycle = cycle_of(past);
  std::size_t stretch = past.size() - 1;
  while (stretch > 0 && !past[stretch].anew) --stretch;
  const auto level = past.subspan(stretch);
  std::optional<CorrectedTrend> found;
  for (const Look& look : kLooks) {
    if (look.needs_cycle && !cycle.is_known) continue;
    const auto blocks = blocks_of(level, look, cycle);
    if (blocks.empty()) continue;
    const Rise rise = rise_of(blocks, look.block);
    const Nanoseconds time = look.block * static_cast<std::int64_t>(look.blocks);
    CorrectedTrend trend{.now = blocks.back(),
                         .usual = blocks.front(),
                         .a_day = rise.a_day,
                         .since = rates.back().at - time,
                         .at = rates.back().at};
    std::vector<double> before;
    for (const ErrorRate& rate : level)
      if (rate.at < trend.since) before.push_back(rate.log10_rate - cycle.at(rate.at));
    if (!before.empty()) trend.usual = median(before);
    const double gap = loss_at - trend.now, sure = kAt90 * std::hypot(rise.deviation, kBent * rise.a_day);
    if (rise.a_day > sure && gap < kMaxForecast * rise.a_day) {
      const auto until = [&](double slope) { return std::max(gap, 0.0) / slope; };
      trend.loss = {.days = until(rise.a_day), .low = until(rise.a_day + sure)};
      if (until(rise.a_day - sure) < kMaxForecast) trend.loss->high = until(rise.a_day - sure);
    }
    trend.degrading = rise.a_day * days(time) > kMinRise && rise.a_day > kSure * rise.deviation &&
                      trend.loss && trend.loss->days < kMaxDays;
    if (!found || trend.degrading || !found->degrading) found = trend;  // the longer look is surer
  }
  return found;
}

std::vector<ErrorRate> error_rates(std::span<const SeriesHistory> of_port, std::optional<Bandwidth> rate) {
  const auto find = [&](CounterKey key) {
    const auto at = std::ranges::find(of_port, key, &SeriesHistory::key);
    return at == of_port.end() || at->windows.empty() ? nullptr : &*at;
  };
  std::vector<const SeriesHistory*> bits;
  for (const SeriesHistory& one : of_port)
    if (one.key.counter == PortCounter::fec_bits && !one.windows.empty()) bits.push_back(&one);
  // A sum beside its lanes counts them once more.
  if (const auto* sum = find({PortCounter::fec_bits})) bits = {sum};
  const auto* const codewords = find({PortCounter::fec_codewords});
  const auto* const corrected = find({PortCounter::fec_corrected});
  const auto* const lead = bits.empty() ? corrected : bits.front();
  std::vector<ErrorRate> rates;
  if (lead == nullptr) return rates;
  Nanoseconds end = lead->windows.front().from;
  for (const CounterWindow& window : lead->windows) {
    double all = rate ? *most_a_second(PortCounter::fec_codewords, *rate) *
                            std::chrono::duration<double>(window.to - window.from).count()
                      : 0;
    if (codewords != nullptr) {
      const auto grown = growth(*codewords, window.from, window.to);
      all = grown ? static_cast<double>(grown->grew) : 0;
    }
    double errors = 0;
    for (const auto* one : bits)
      if (const auto grown = growth(*one, window.from, window.to)) errors += static_cast<double>(grown->grew);
    const double share = bits.empty() ? -std::log1p(-static_cast<double>(window.grew) / all) : errors / all;
    // A step without a window is one over which something happened: the link trained, counting began anew.
    const bool anew = window.from > end;
    end = window.to;
    if (!(all > 0) || !std::isfinite(share) || share <= 0) continue;
    rates.push_back({window.to, std::log10(share / kBitsOnWire), anew});
  }
  return rates;
}

PortTrends port_trends(const Fabric& fabric, CounterTable& table) {
  PortTrends found;
  std::map<std::tuple<double, Tier, std::string>, std::vector<double>> levels;
  const auto group = [&](PortId port, const std::string& kind) {
    const auto link = fabric.port(port).link;
    return std::tuple(link ? fabric.link(*link).rate.bits_per_second() : 0.0,
                      fabric.node(fabric.port(port).node).tier, kind);
  };
  // By whom it is measured, the closest first: its module part with the FEC in use, its part, all.
  const auto kinds_of = [&](PortId port) {
    const auto module = table.modules.find(port);
    const auto fec = table.fec_modes.find(port);
    const std::string part = module == table.modules.end() ? "" : module->second.state.part;
    std::vector<std::string> kinds;
    if (fec != table.fec_modes.end() && !fec->second.mode.empty())
      kinds.push_back(part + " " + fec->second.mode);
    if (!part.empty()) kinds.push_back(part);
    kinds.emplace_back();
    return kinds;
  };
  std::set<PortId> told, peers;
  each_history(fabric, table, [&](std::span<const SeriesHistory> of_port) {
    const PortId port = of_port.front().port;
    const std::uint32_t source = of_port.front().source;
    if (std::ranges::any_of(of_port, spans_a_day)) told.insert(port);
    if (const auto lost = lost_in_last_day(of_port); lost > 0) found.losses.push_back({port, source, lost});
    const auto link = fabric.port(port).link;
    const auto trend =
        corrected_trend(error_rates(of_port, link ? std::optional(fabric.link(*link).rate) : std::nullopt));
    if (!trend) return;
    told.insert(port);
    found.trends.push_back({port, source, *trend, 0, fec_tail(bins_of(of_port))});
    if (!peers.insert(port).second) return;  // of another source
    for (const auto& kind : kinds_of(port)) levels[group(port, kind)].push_back(trend->now);
  });
  found.told = told.size();
  std::map<std::tuple<double, Tier, std::string>, double> usual;
  for (auto& [of, rates] : levels)
    if (std::get<std::string>(of).empty() || rates.size() >= kMinPeers) usual[of] = median(rates);
  for (PortTrend& one : found.trends)
    for (const auto& kind : kinds_of(one.port))
      if (const auto alike = usual.find(group(one.port, kind)); alike != usual.end()) {
        one.beside_peers = one.trend.now - alike->second;
        break;
      }
  std::ranges::stable_sort(found.trends, {}, [](const PortTrend& one) {
    return std::tuple(!one.trend.degrading, one.trend.degrading ? one.trend.loss->days : 0.0, -one.trend.now);
  });
  std::ranges::stable_sort(found.losses, std::greater{}, &PortLoss::lost);
  return found;
}

namespace {

/// A port of which two sources tell has a row for each.
template <class Rows>
std::size_t ports_of(const Rows& rows) {
  std::set<PortId> ports;
  for (const auto& row : rows) ports.insert(row.port);
  return ports.size();
}

std::string losses_text(const Fabric& fabric, const CounterTable& table, const std::vector<PortLoss>& losses,
                        std::size_t width) {
  TextTable rows({{"port"}, {"codewords lost in a day", true}, {"source"}});
  for (const auto& [port, source, lost] : losses)
    rows.add({fabric.name_of(port), std::to_string(lost), table.source_name(source)});
  return rows.text(width) + "\n" +
         wrapped(fmt::format("{} {} frames already: `weft sweep --counters` judges their links.",
                             ports_of(losses), ports_of(losses) == 1 ? "port loses" : "ports lose"),
                 0, width, 2);
}

std::string limit_text(const Fabric& fabric, const std::vector<PortTrend>& above, double limit,
                       std::size_t width) {
  std::vector<std::string> names;
  for (const PortTrend& one : std::span(above).first(std::min(kMaxAbove, above.size())))
    names.push_back(fmt::format("{} ({:.1e})", fabric.name_of(one.port), std::pow(10, one.trend.now)));
  return wrapped(
      fmt::format("above the limit of {:.1e}, which is no warning by itself: {} of the ports: {}{}",
                  std::pow(10, limit), ports_of(above), fmt::join(names, ", "),
                  above.size() > kMaxAbove ? ", ..." : ""),
      0, width, 2);
}

}  // namespace

Result<double> error_limit(std::string_view text) {
  if (text == kLimitOfRs544) return kLossAt;
  double rate = 0;
  const auto [end, bad] = std::from_chars(text.data(), text.data() + text.size(), rate);
  if (bad == std::errc() && end == text.data() + text.size() && rate > 0 && rate < 1) return std::log10(rate);
  return fail(ErrorKind::usage, "expected ieee_rs544 or a bit error rate as 1e-5, found '{}'",
              outside_text(text));
}

std::vector<PortTrend> above_limit(const PortTrends& found, double limit) {
  std::vector<PortTrend> above;
  for (const PortTrend& one : found.trends)
    if (one.trend.now > limit) above.push_back(one);
  std::ranges::stable_sort(above, std::greater{}, [](const PortTrend& one) { return one.trend.now; });
  return above;
}

std::string trends_text(const Fabric& fabric, const CounterTable& table, const PortTrends& found,
                        std::size_t width, double limit) {
  TextTable rows({{"port"},
                  {"rate", true},
                  {"a day", true},
                  {"usual", true},
                  {"peers", true},
                  {"days to loss", true},
                  {"rises since"},
                  {"source"}});
  const auto first_well =
      std::ranges::find_if(found.trends, [](const PortTrend& one) { return !one.trend.degrading; });
  const std::span<const PortTrend> degrading(found.trends.begin(), first_well);
  std::string tails;
  for (const auto& [port, source, trend, beside_peers, tail] : degrading) {
    const auto& loss = *trend.loss;
    rows.add({fabric.name_of(port), fmt::format("{:.1e}", std::pow(10, trend.now)),
              fmt::format("{:+.2f}", trend.a_day), fmt::format("{:+.1f}", trend.now - trend.usual),
              fmt::format("{:+.1f}", beside_peers),
              fmt::format("{:.1f} ({:.1f} to {})", loss.days, loss.low,
                          loss.high ? fmt::format("{:.1f}", *loss.high) : "never"),
              instant_text(std::chrono::floor<std::chrono::minutes>(trend.since)),
              table.source_name(source)});
    if (tail) tails += wrapped(fabric.name_of(port) + ": " + tail_text(*tail), 0, width, 2);
  }
  auto text = wrapped(fmt::format("{} of {} ports are degrading: their corrected errors rise towards loss",
                                  ports_of(degrading), found.told),
                      0, width, 2);
  if (!degrading.empty())
    text += "\n" + rows.text(width) + "\n" +
            wrapped(
                "rate: of bits, before correction. a day, usual, peers: decades by which it rises, above its "
                "own usual and above the median of its tier and rate (and module, where its part is told).",
                0, width, 2);
  text += tails;
  if (const auto above = above_limit(found, limit); !above.empty())
    text += "\n" + limit_text(fabric, above, limit, width);
  if (!found.losses.empty()) text += "\n" + losses_text(fabric, table, found.losses, width);
  return text;
}

}  // namespace weft::counters
