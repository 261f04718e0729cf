#include "collectors/compare/probe_cells.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "topology/files/json_view.hpp"

namespace weft::compare {
namespace {

/// In place of no packet, or no NIC, at all: nothing has no ratio.
constexpr double kHalf = 0.5;
/// Of a path that passes nothing the packets that say so: of one that loses half of them that many are lost
/// by chance once in a million.
constexpr std::uint64_t kMinSilent = 20;

/// Of a share of these packets that arrived: the variance of its logarithm (binomial; none lost scatters as
/// one lost does).
double variance_of_count(double arrived, double sent) {
  const double lost = std::max((1 - arrived) * sent, 1.0);
  return lost / (arrived * sent * sent);
}

Value share_value(double arrived, double sent) {
  return {.number = arrived, .grain = 0, .counted = variance_of_count(arrived, sent)};
}

constexpr const char* kArrived = "probes that arrived";
constexpr const char* kWorstPath = "path with the most loss";

Cell cell_of(std::vector<std::string> work, Metric metric) { return {std::move(work), Bytes(0), metric}; }

}  // namespace

std::vector<double> arrived_of(const MeasuredRun& run) {
  std::vector<double> shares;
  shares.reserve(run.probed.size());
  for (const ProbedPath& path : run.probed) {
    const auto sent = static_cast<double>(path.sent);
    shares.push_back(std::max(static_cast<double>(path.sent - path.lost), kHalf) / sent);
  }
  return shares;
}

std::map<Cell, Value> arrived_cells(const MeasuredRun& run, const std::vector<double>& arrived) {
  struct Sum {
    double sent = 0, arrived = 0;
  };
  std::map<std::size_t, Sum> by_hops;
  std::optional<Value> least;
  const auto smallest = std::ranges::min_element(run.probed, {}, &ProbedPath::size);
  for (std::size_t i = 0; i < run.probed.size(); ++i) {
    const ProbedPath& path = run.probed[i];
    if (path.size != smallest->size) continue;  // a limit of the size is another matter than a loss
    const auto sent = static_cast<double>(path.sent);
    if (path.hops > 0) by_hops[path.hops].sent += sent, by_hops[path.hops].arrived += arrived[i] * sent;
    const bool is_silent = path.lost == path.sent && path.sent >= kMinSilent;  // a sweep soon sends no more
    if ((path.sent >= kMinForP99 || is_silent) && (!least || arrived[i] < least->number))
      least = share_value(arrived[i], sent);
  }
  std::map<Cell, Value> cells;
  for (const auto& [hops, sum] : by_hops)
    cells[cell_of({kArrived, fmt::format("{} hops", hops)}, Metric::arrived)] =
        share_value(sum.arrived / sum.sent, sum.sent);
  if (least) cells[cell_of({kArrived, kWorstPath}, Metric::arrived)] = *least;
  return cells;
}

std::map<Cell, Value> probe_cells(const MeasuredRun& run) {
  auto cells = arrived_cells(run, arrived_of(run));
  const auto share = [](double part, std::size_t all) { return part / static_cast<double>(all); };
  if (run.nics_asked > 0)
    cells[cell_of({"NICs that were reached"}, Metric::arrived)] = {
        share(std::max(static_cast<double>(run.nics_reached), kHalf), run.nics_asked)};
  if (run.ways_mapped > 0)
    cells[cell_of({"ways between two NICs"}, Metric::ways)] = {
        share(static_cast<double>(run.ways_mapped), run.pairs_mapped)};
  return cells;
}

std::vector<std::string> drop_distances_of_one_side(std::vector<Run>& a, std::vector<Run>& b) {
  const auto distances = [](const std::vector<Run>& runs) {
    std::set<Cell> cells;
    for (const Run& run : runs)
      for (const auto& [cell, value] : run.cells)
        if (cell.work.size() == 2 && cell.work[0] == kArrived && cell.work[1] != kWorstPath)
          cells.insert(cell);
    return cells;
  };
  const auto of_a = distances(a), of_b = distances(b);
  std::vector<std::string> remarks;
  const auto drop = [&](char side, const std::set<Cell>& own, const std::set<Cell>& other,
                        std::vector<Run>& runs) {
    for (const Cell& cell : own) {
      if (other.contains(cell)) continue;
      for (Run& run : runs) run.cells.erase(cell);
      remarks.push_back(
          fmt::format("probes over {} were sent in {} alone, and are not compared", cell.work[1], side));
    }
  };
  drop('A', of_a, of_b, a);
  drop('B', of_b, of_a, b);
  return remarks;
}

namespace {

struct Carrier {
  const char* no_trips;  // why its round trips are not compared
  const char* no_data;
};

Carrier carrier_of(ProbesAlone side) {
  constexpr const char* kOtherSize =
      "its probes are management datagrams, of another size than those of RoCE";
  switch (side) {
    case ProbesAlone::infiniband_lab:
      return {"ibsim has no delays of its own", "ibsim carries management datagrams and no data"};
    case ProbesAlone::simulated_infiniband:
      return {kOtherSize, "simulated InfiniBand carries management datagrams and no data"};
    case ProbesAlone::live_infiniband:
    case ProbesAlone::no:
      break;
  }
  return {kOtherSize, "its sweep sends management datagrams and no data"};
}

}  // namespace

std::vector<std::string> impossible_things(ProbesAlone a, ProbesAlone b) {
  const bool of_a = a != ProbesAlone::no, of_b = b != ProbesAlone::no;
  if (!of_a && !of_b) return {};
  const bool both = of_a && of_b;
  const ProbesAlone alone = of_a ? a : b;
  const char* sides = both ? "A and B" : of_a ? "A" : "B";
  const auto rest = both ? std::string() : fmt::format(", so none of {} are compared", of_a ? "B" : "A");
  const Carrier carrier = carrier_of(alone);
  std::vector<std::string> lines{
      fmt::format("{}: round trips and what hosts add: {}{}", sides, carrier.no_trips, rest),
      fmt::format("{}: transfers, rates and collisions: {}{}", sides, carrier.no_data, rest),
      fmt::format("{}: queueing, pauses and marks of congestion: nothing can be loaded there", sides)};
  if (!both)
    lines.push_back(fmt::format(
        "{}: ways between two NICs: only labels that were traced are known there, and not all of a table",
        of_a ? "B" : "A"));
  if (alone == ProbesAlone::live_infiniband)
    lines.push_back(fmt::format(
        "{}: by queue pairs (--each engine=verbs, on both sides) round trips are compared, and loads may be",
        sides));
  return lines;
}

Result<void> read_ways(std::string_view path_map, MeasuredRun& run) {
  const std::string what = run.name + ": path map";
  WEFT_TRY(const auto json, files::parse_json(path_map, what));
  const files::JsonView root(json, what);
  WEFT_TRY(const files::JsonView pairs, root.need("pairs"));
  WEFT_TRY(run.pairs_mapped, pairs.size());
  run.ways_mapped = 0;
  for (std::size_t i = 0; i < run.pairs_mapped; ++i) {
    const files::JsonView pair = pairs.at(i);
    WEFT_TRY(const files::JsonView paths, pair.need("paths"));
    WEFT_TRY(const auto count, paths.size());
    run.ways_mapped += count;
  }
  return {};
}

}  // namespace weft::compare
