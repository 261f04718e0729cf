#include "collectors/report/audit_table.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "collectors/report/path_table.hpp"
#include "topology/base/text.hpp"

namespace weft::report {
namespace {

constexpr std::size_t kMaxReasons = 10;
constexpr std::size_t kReasonIndent = 4;

const char* plural(std::size_t count) { return count == 1 ? "" : "s"; }

/// Every path behind what `count` says of it.
template <class Count>
std::string path_lines(const Fabric& fabric, const PathTable& table, const QpSpread& spread,
                       std::size_t columns, Count count) {
  constexpr std::size_t kDeeper = 18;  // behind the counts
  std::string text;
  for (const auto& [set, queue_pairs] : spread.paths) {
    const auto paths = table.paths(set);
    if (paths.size() > 1) text += fmt::format("one of {} paths:\n", paths.size());
    for (const PathId path : paths)
      text += wrapped(fmt::format("{} {}", count(set, queue_pairs), path_chain(fabric, table.channels(path))),
                      2, columns, kDeeper);
  }
  return text;
}

std::size_t busiest(const QpSpread& spread) {
  return std::ranges::max_element(spread.paths, {}, [](const auto& user) { return user.second; })->second;
}

double evenly(const Audit& audit) {
  return static_cast<double>(audit.queue_pairs) / static_cast<double>(audit.spread.paths.size());
}

std::string paths_part(const Fabric& fabric, const PathTable& table, const Audit& audit,
                       std::size_t columns) {
  const auto count = [](PathSetId, std::size_t queue_pairs) {
    return fmt::format("{:>4} queue pair{}", queue_pairs, queue_pairs == 1 ? " " : "s");
  };
  return path_lines(fabric, table, audit.spread, columns, count) +
         fmt::format("the busiest path carries {}; spread evenly it would be {:.1f}\n", busiest(audit.spread),
                     evenly(audit));
}

std::string moved_paths_part(const Fabric& fabric, const PathTable& table, const Audit& audit,
                             std::size_t columns) {
  const auto counts = [&](PathSetId set, std::size_t before) {
    const auto after = audit.move->after.paths.find(set);
    return fmt::format("{:>6}  {:>5} ", before, after == audit.move->after.paths.end() ? 0 : after->second);
  };
  return "  BEFORE  AFTER  PATH\n" + path_lines(fabric, table, audit.spread, columns, counts) +
         fmt::format("the busiest path carries {}, before {}; spread evenly it would be {:.1f}\n",
                     busiest(audit.move->after), busiest(audit.spread), evenly(audit));
}

std::string move_lines(const LiveMove& move, std::size_t queue_pairs, std::size_t columns) {
  auto text = fmt::format("{} of {} moved to another port while they lived, {} to another path\n", move.moved,
                          queue_pairs, move.to_another_path);
  for (const auto& [manner, count] : move.manners)
    text += wrapped(fmt::format("{} {}", count, manner), kReasonIndent, columns);
  std::size_t told = 0;
  for (const auto& [why, count] : move.failures)
    if (told++ < kMaxReasons)
      text += wrapped(fmt::format("{} did not: {}", count, why), kReasonIndent, columns);
  if (told > kMaxReasons) text += fmt::format("    and {} more reasons\n", told - kMaxReasons);
  return text;
}

}  // namespace

std::string audit_table(const Fabric& fabric, const PathTable& table, const Audit& audit,
                        std::size_t columns) {
  if (audit.queue_pairs == 0) return "no queue pair told which port it uses\n";
  const std::size_t ports = audit.spread.ports.size();
  auto text = fmt::format("{} queue pair{} with default settings use {} port{}\n", audit.queue_pairs,
                          plural(audit.queue_pairs), ports, plural(ports));
  if (audit.move) text += move_lines(*audit.move, audit.queue_pairs, columns);
  if (audit.spread.paths.empty()) return text;
  return text + (audit.move ? moved_paths_part : paths_part)(fabric, table, audit, columns);
}

}  // namespace weft::report
