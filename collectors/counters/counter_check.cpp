#include "collectors/counters/counter_check.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <span>

#include "topology/base/text.hpp"
#include "topology/base/text_table.hpp"

namespace weft::counters {
namespace {

constexpr std::size_t kMaxNamed = 10;
constexpr std::size_t kMaxTroubles = 20;
/// Codewords come at the rate of the line alone; a count that is another multiple has another unit, or is of
/// a lane or of another port.
constexpr double kOffRate = 0.1;

void add(StepsLeftOut& sum, const StepsLeftOut& one) {
  sum.restarted += one.restarted;
  sum.went_back += one.went_back;
  sum.stood_still += one.stood_still;
  sum.saturated += one.saturated;
  sum.contradicted += one.contradicted;
  sum.too_long += one.too_long;
  sum.impossible += one.impossible;
  sum.training += one.training;
}

/// What is odd in one series; empty: nothing.
std::string trouble(const Fabric& fabric, const CounterTable& table, const SeriesHistory& one) {
  const auto where = fmt::format("{} of {} ({})", to_string(one.key), fabric.name_of(one.port),
                                 table.source_name(one.source));
  const auto link = fabric.port(one.port).link;
  if (!link) return fmt::format("{}: the fabric file has no cable there", where);
  const Bandwidth rate = fabric.link(*link).rate;
  if (one.left_out.impossible > 0)
    return fmt::format("{} grew by more than {} carries: another unit, or another port", where,
                       to_string(rate));
  if (one.left_out.contradicted > 0)
    return fmt::format("{}: its values contradict its times, or each other", where);
  if (one.key.counter != PortCounter::fec_codewords || one.windows.empty()) return "";
  const auto grown = growth(one, one.windows.front().from, one.windows.back().to);
  const double seconds = std::chrono::duration<double>(grown->watched).count();
  const double share = static_cast<double>(grown->grew) / seconds / *most_a_second(one.key.counter, rate);
  if (share > 0 && std::abs(share - 1) > kOffRate)
    return fmt::format("{} grows {:.3g} times as fast as {} makes codewords: another unit, or another rate",
                       where, share, to_string(rate));
  return "";
}

/// Two sources that count the same differ by this factor and this much where one is wrong: they read at other
/// moments, so that small counts of short times differ anyway.
constexpr double kContradicts = 2;
constexpr std::uint64_t kMinApart = 100;
constexpr double kMinCommon = 0.9;  // of the time of both that each watched

/// What one source says of a counter of a port, and another says otherwise; empty: they agree, or cannot be
/// held against each other.
std::string contradiction(const Fabric& fabric, const CounterTable& table, const SeriesHistory& a,
                          const SeriesHistory& b) {
  if (a.key != b.key || a.windows.empty() || b.windows.empty()) return "";
  const Nanoseconds from = std::max(a.windows.front().from, b.windows.front().from);
  const Nanoseconds to = std::min(a.windows.back().to, b.windows.back().to);
  const auto of_a = growth(a, from, to), of_b = growth(b, from, to);
  const auto watched = [&](const Growth& one) {
    return std::chrono::duration<double>(one.watched) >=
           kMinCommon * std::chrono::duration<double>(to - from);
  };
  if (!of_a || !of_b || !watched(*of_a) || !watched(*of_b)) return "";
  const auto [less, more] = std::minmax(of_a->grew, of_b->grew);
  if (more - less < kMinApart || static_cast<double>(more) < kContradicts * static_cast<double>(less))
    return "";
  return fmt::format("{} of {} grew by {} as {} tells, by {} as {} tells: one of them is wrong",
                     to_string(a.key), fabric.name_of(a.port), of_a->grew, table.source_name(a.source),
                     of_b->grew, table.source_name(b.source));
}

/// Errors that grow, and nothing of the port that says of how many: they weigh nothing.
bool lacks_its_share(const SeriesHistory& one, std::span<const SeriesHistory> of_port) {
  if (one.key.counter != PortCounter::fcs_errors || one.windows.empty()) return false;
  if (growth(one, one.windows.front().from, one.windows.back().to)->grew == 0) return false;
  return std::ranges::none_of(of_port, [](const SeriesHistory& other) {
    return other.key.counter == PortCounter::frames_in && !other.windows.empty();
  });
}

std::string remarks_text(std::string_view title, const Remarks& remarks, std::size_t width) {
  if (remarks.count == 0) return "";
  auto text = fmt::format("\n{}: {}\n", title, remarks.count);
  for (const auto& one : remarks.first) text += wrapped(one, 2, width, 2);
  if (remarks.count > remarks.first.size())
    text += fmt::format("  and {} more\n", remarks.count - remarks.first.size());
  return text;
}

std::string left_out_text(const StepsLeftOut& left, std::size_t width) {
  std::vector<std::string> parts;
  const auto say = [&](std::uint64_t count, std::string_view why) {
    if (count > 0) parts.push_back(fmt::format("{} {}", count, why));
  };
  say(left.restarted, "after a restart of the counter");
  say(left.went_back, "whose value went back");
  say(left.stood_still, "while the source stood still");
  say(left.saturated, "at the largest value");
  say(left.contradicted, "that contradict each other");
  say(left.too_long, "too long for a counter of 32 bits");
  say(left.impossible, "above the rate of the link");
  say(left.training, "of errors beside a link event");
  if (parts.empty()) return "";
  return "\n" + wrapped(fmt::format("steps without a count: {}", fmt::join(parts, ", ")), 0, width, 2);
}

}  // namespace

CounterCheck check_counters(const Fabric& fabric, CounterTable& table) {
  CounterCheck check;
  std::vector<bool> told(fabric.port_count(), false);
  std::vector<std::set<std::uint32_t>> exporters(fabric.port_count());
  std::vector<SeriesHistory> before;  // of other sources of the port
  std::vector<std::map<PortCounter, std::size_t>> ports(table.source_count());
  std::vector<std::size_t> all(table.source_count()), with_window(table.source_count());
  const auto remark = [&](std::string text) {
    if (!text.empty() && check.troubles.size() < kMaxTroubles) check.troubles.push_back(std::move(text));
  };
  each_history(fabric, table, [&](std::span<const SeriesHistory> of_port) {
    const auto& [port, source] = std::pair(of_port.front().port, of_port.front().source);
    told[port.value()] = true;
    ++all[source];
    if (!before.empty() && before.front().port != port) before.clear();
    for (const SeriesHistory& one : of_port) {
      exporters[port.value()].insert(one.exporter);
      for (const SeriesHistory& other : before) remark(contradiction(fabric, table, other, one));
    }
    before.insert(before.end(), of_port.begin(), of_port.end());
    with_window[source] +=
        std::ranges::any_of(of_port, [](const SeriesHistory& one) { return !one.windows.empty(); });
    std::set<PortCounter> counters;
    for (const SeriesHistory& one : of_port) {
      if (counters.insert(one.key.counter).second) ++ports[source][one.key.counter];
      add(check.left_out, one.left_out);
      remark(trouble(fabric, table, one));
      if (lacks_its_share(one, of_port))
        remark(fmt::format("fcs_errors of {} ({}) grow, and no frames_in says of how many: not used",
                           fabric.name_of(one.port), table.source_name(one.source)));
    }
  });
  for (std::uint32_t source = 0; source < table.source_count(); ++source)
    check.sources.push_back({.source = table.source_name(source),
                             .ports = {ports[source].begin(), ports[source].end()},
                             .ports_in_all = all[source],
                             .with_window = with_window[source]});
  for (std::uint32_t p = 0; p < fabric.port_count(); ++p) {
    if (!fabric.port(PortId(p)).link) continue;
    ++check.ports;
    check.of_one_exporter += exporters[p].size() == 1 && *exporters[p].begin() != 0 ? 1 : 0;
    if (!told[p] && !fabric.is_host(fabric.port(PortId(p)).node)) check.without.push_back(PortId(p));
  }
  return check;
}

std::string check_text(const Fabric& fabric, const CounterTable& table, const CounterCheck& check,
                       std::size_t width) {
  TextTable sources({{"source"}, {"counter"}, {"ports", true}, {"proves"}});
  std::string text;
  for (const SourceCheck& one : check.sources) {
    text += wrapped(fmt::format("{}: counters of {} of {} ports, of {} with readings to compare", one.source,
                                one.ports_in_all, check.ports, one.with_window),
                    0, width, 2);
    for (const auto& [counter, ports] : one.ports)
      sources.add({one.source, std::string(to_string(counter)), std::to_string(ports),
                   std::string(facts(counter).proves)});
  }
  text += "\n" + sources.text(width);
  if (!check.without.empty()) {
    std::vector<std::string> names;
    for (const PortId port : std::span(check.without).first(std::min(kMaxNamed, check.without.size())))
      names.push_back(fabric.name_of(port));
    text +=
        "\n" + wrapped(fmt::format("ports of switches without a counter: {}: {}{}", check.without.size(),
                                   fmt::join(names, ", "), check.without.size() > kMaxNamed ? ", ..." : ""),
                       0, width, 2);
  }
  if (check.of_one_exporter > 0)
    text += "\n" +
            wrapped(fmt::format("ports of which one exporter alone tells: {}: that names none of their links "
                                "without probes or a second one",
                                check.of_one_exporter),
                    0, width, 2);
  text += left_out_text(check.left_out, width);
  for (const auto& one : check.troubles) text += "\n" + wrapped(one, 0, width, 2);
  text += remarks_text("series without a port of the fabric", table.unplaced, width);
  text += remarks_text("two series for one counter of a port", table.doubled, width);
  text += remarks_text("values that cannot be", table.refused, width);
  return text;
}

bool all_is_well(const CounterTable& table, const CounterCheck& check) {
  return check.without.empty() && check.troubles.empty() &&
         table.unplaced.count + table.doubled.count + table.refused.count == 0;
}

}  // namespace weft::counters
