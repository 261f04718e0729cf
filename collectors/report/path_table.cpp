#include "collectors/report/path_table.hpp"

#include <fmt/format.h>

#include <map>

#include "topology/base/text.hpp"
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

files::RowSet path_rows(const Fabric& fabric, const plan::PathLearner& learner) {
  files::RowSet set{.columns = {"src", "dst", "label", "reached", "alternatives", "path"}, .rows = {}};
  for (const plan::PairRoutes& pair : learner.pairs())
    for (const plan::Route& route : pair.routes) {
      const auto paths = learner.table().paths(route.paths);
      for (const PathId path : paths) {
        std::vector<std::string> channels;
        for (const ChannelId channel : learner.table().channels(path))
          channels.push_back(fabric.name_of(channel));
        set.rows.push_back({fabric.name_of_nic(pair.src), fabric.name_of_nic(pair.dst),
                            std::int64_t{route.label.value()}, std::string(route.reached ? "yes" : "no"),
                            static_cast<std::int64_t>(paths.size()), std::move(channels)});
      }
    }
  return set;
}

}  // namespace weft::report
