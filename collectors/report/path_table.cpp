#include "collectors/report/path_table.hpp"

#include <fmt/format.h>

#include <cmath>
#include <map>
#include <set>

#include "probes/plan/trace_plan.hpp"
#include "topology/base/text.hpp"
#include "topology/base/text_table.hpp"
#include "topology/model/fabric.hpp"

namespace weft::report {
namespace {

constexpr std::size_t kMaxNamed = 10;

constexpr std::size_t kIndent = 2;
constexpr std::size_t kDeeper = 4;

std::string labels_text(const std::vector<PathLabel>& labels) {
  std::string text = fmt::format("{} label{}:", labels.size(), labels.size() == 1 ? "" : "s");
  for (std::size_t i = 0; i < std::min(labels.size(), kMaxNamed); ++i)
    text += fmt::format(" {}", labels[i].value());
  return text + (labels.size() > kMaxNamed ? " ..." : "");
}

std::string pair_table(const Fabric& fabric, const PathTable& table, const plan::PairRoutes& pair,
                       std::uint32_t tried, std::size_t columns) {
  std::map<PathSetId, std::vector<PathLabel>> reached;
  std::map<PathSetId, std::vector<PathLabel>> lost;
  for (const plan::Route& route : pair.routes)
    (route.reached ? reached : lost)[route.paths].push_back(route.label);
  std::string text = wrapped(
      fmt::format("{} to {}: {} path{} seen with {} labels", fabric.name_of_nic(pair.src),
                  fabric.name_of_nic(pair.dst), reached.size(), reached.size() == 1 ? "" : "s", tried),
      0, columns);
  const auto add = [&](const auto& ways, std::string_view note) {
    for (const auto& [ways_id, labels] : ways) {
      const auto paths = table.paths(ways_id);
      if (paths.size() > 1)
        text += wrapped(fmt::format("one of {} paths (sprayed, or hops that were silent):", paths.size()), 0,
                        columns);
      for (const PathId path : paths)
        text += wrapped(fmt::format("{}{}", path_chain(fabric, table.channels(path)), note), kIndent, columns,
                        kDeeper);
      text += wrapped(labels_text(labels), kIndent + kDeeper, columns);
    }
  };
  add(reached, "");
  add(lost, "  (the peer did not answer)");
  return text;
}

}  // namespace

std::string path_chain(const Fabric& fabric, std::span<const ChannelId> path) {
  std::string text;
  for (const ChannelId channel : path) {
    const std::string name = fabric.name_of(channel);
    const auto arrow = name.find("->");
    if (text.empty()) text = name.substr(0, arrow);
    text += name.substr(arrow);
  }
  return text;
}

std::string path_table(const Fabric& fabric, const plan::PathLearner& learner, std::uint32_t tried,
                       std::size_t columns) {
  if (learner.pairs().empty()) return fmt::format("no answers to {} labels\n", tried);
  std::string text;
  for (const plan::PairRoutes& pair : learner.pairs())
    text += pair_table(fabric, learner.table(), pair, tried, columns);
  return text;
}

namespace {

std::string hash_text(const plan::HashLearner& hash) {
  if (hash.given_up())
    return fmt::format("no structure found in {} labels{}; nothing is predicted", hash.flows(),
                       hash.taken_back() ? ": what was predicted is taken back" : "");
  if (!hash.is_checked()) return fmt::format("not learned, {} labels so far", hash.flows());
  std::string text =
      fmt::format("{}learned from {} labels", hash.is_table() ? "a table, " : "", hash.flows());
  if (hash.members_seen() < hash.members())
    text += fmt::format("; these labels reach {} of its {} next hops", hash.members_seen(), hash.members());
  return text;
}

/// Never rounded up to certainty.
std::string percent_text(double share) {
  return share > 0.9999 ? "more than 99.99%" : fmt::format("{:.2f}%", std::floor(share * 1e4) / 1e2);
}

std::vector<std::string> names_of(const Fabric& fabric, std::span<const ChannelId> channels) {
  std::vector<std::string> names;
  for (const ChannelId channel : channels) names.push_back(fabric.name_of(channel));
  return names;
}

/// Where all labels together reach fewer paths than there are: later switches see flows that earlier ones
/// have sorted by the same bits.
std::string polarisation_text(const Fabric& fabric, plan::LabelMap& map, const plan::NicPair& pair) {
  std::set<std::vector<ChannelId>> reached;
  for (const PathLabel label : plan::spread_labels(plan::kRoceLabels))
    reached.insert(map.path_of(pair, label).channels);
  routing::ShortestPathCache ways(fabric);
  const std::uint32_t paths = plan::equal_paths(fabric, ways, pair);
  if (reached.size() >= paths) return {};
  return fmt::format(
      "polarised: all labels together reach {} of {} paths; the switches of two tiers hash too much alike",
      reached.size(), paths);
}

}  // namespace

std::string label_map_table(const Fabric& fabric, plan::LabelMap& map, const plan::NicPair& pair,
                            std::size_t columns) {
  const auto tally = map.tally(pair);
  std::string text =
      fmt::format("{} of {} labels seen, {} predicted", tally.seen, plan::kRoceLabels, tally.predicted);
  if (tally.predicted > 0) text += fmt::format(" (confidence {})", percent_text(tally.confidence));
  text = wrapped(text + fmt::format(", {} open", tally.open), 0, columns);
  for (const plan::GroupState& group : map.groups())
    text += wrapped(fmt::format("{}, {} next hops: {}", fabric.name_of(group.at), group.next_hops.size(),
                                hash_text(*group.hash)),
                    kIndent, columns, kDeeper);
  if (const auto polarised = tally.open == 0 ? polarisation_text(fabric, map, pair) : std::string();
      !polarised.empty())
    text += wrapped(polarised, 0, columns);
  if (tally.predicted > 0)
    text += wrapped("predicted: trace a label before anything rests on it", 0, columns);
  return text;
}

namespace {

std::string end_text(const plan::PathSearch::State& state) {
  switch (state.end) {
    case plan::SearchEnd::searching:
      return "cut short";
    case plan::SearchEnd::all_seen:
      return "";
    case plan::SearchEnd::enough_asked:
      return state.odd > 0 ? "answers contradict the fabric file" : "the others are not taken";
    case plan::SearchEnd::silent:
      return "nobody answers";
    case plan::SearchEnd::no_way:
      return "no way in the fabric file";
  }
  return "";
}

}  // namespace

std::string search_table(const Fabric& fabric, const plan::PathLearner& learner,
                         const std::vector<plan::PathSearch::State>& states, SearchCost cost,
                         std::size_t columns) {
  std::string text;
  std::size_t complete = 0;
  TextTable table({{"from"}, {"to"}, {"paths"}, {"labels", true}, {""}});
  for (const auto& state : states) {
    const bool is_complete = state.end == plan::SearchEnd::all_seen;
    complete += is_complete ? 1 : 0;
    std::string note = end_text(state);
    if (state.sprayed > 0) note += fmt::format("{}a label went several ways", note.empty() ? "" : "; ");
    table.add({fabric.name_of_nic(state.pair.src), fabric.name_of_nic(state.pair.dst),
               fmt::format("{} of {}", state.paths_seen, state.ways.paths), fmt::format("{}", state.labels),
               note});
  }
  if (states.size() == 1)
    text += path_table(fabric, learner, static_cast<std::uint32_t>(states[0].labels), columns);
  text += table.text(columns);
  return text + wrapped(fmt::format("{} of {} pairs: every path seen; {} probes in {:.2f} s", complete,
                                    states.size(), cost.probes, cost.took.count()),
                        0, columns);
}

files::RowSet path_rows(const Fabric& fabric, const plan::PathLearner& learner, plan::LabelMap* map) {
  files::RowSet set{.columns = {"src", "dst", "label", "reached", "alternatives", "path"}, .rows = {}};
  if (map) set.columns.insert(set.columns.end(), {"state", "confidence"});
  for (const plan::PairRoutes& pair : learner.pairs()) {
    for (const plan::Route& route : pair.routes) {
      const auto paths = learner.table().paths(route.paths);
      for (const PathId path : paths) {
        set.rows.push_back({fabric.name_of_nic(pair.src), fabric.name_of_nic(pair.dst),
                            std::int64_t{route.label.value()}, std::string(route.reached ? "yes" : "no"),
                            static_cast<std::int64_t>(paths.size()),
                            names_of(fabric, learner.table().channels(path))});
        if (map) set.rows.back().insert(set.rows.back().end(), {std::string("seen"), 1.0});
      }
    }
    if (!map) continue;
    for (const PathLabel label : plan::spread_labels(plan::kRoceLabels))
      if (const auto told = map->path_of({pair.src, pair.dst}, label);
          told.state == plan::LabelState::predicted)
        set.rows.push_back({fabric.name_of_nic(pair.src), fabric.name_of_nic(pair.dst),
                            std::int64_t{label.value()}, std::string("no"), std::int64_t{1},
                            names_of(fabric, told.channels), std::string("predicted"), told.confidence});
  }
  return set;
}

}  // namespace weft::report
