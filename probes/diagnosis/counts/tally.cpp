#include "probes/diagnosis/counts/tally.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "topology/model/fabric.hpp"

namespace weft::diagnosis {
namespace {

/// The given suspects by channel and by node, so that each path looks itself up.
class Marks {
 public:
  Marks(const Fabric& fabric, const CountProblem& problem, std::span<const std::uint32_t> suspects)
      : fabric_(fabric), problem_(problem), suspects_(suspects) {
    by_channel_.resize(fabric.channel_count());
    for (std::uint32_t i = 0; i < suspects.size(); ++i) {
      const Suspect& suspect = problem.suspects[suspects[i]];
      for (const ChannelId channel : suspect.channels) by_channel_[channel.value()].push_back(i);
      if (suspect.channels.empty())
        for (const NodeId node : suspect.nodes) mark_node(node, i);
    }
  }

  void collect(const Observation& observation, PathSetId set, const PathTable& paths,
               std::vector<std::uint32_t>& out) const {
    for (const PathId path : paths.paths(set))
      for (const ChannelId channel : paths.channels(path))
        for (const std::uint32_t i : by_channel_[channel.value()]) {
          const auto& from_size = problem_.suspects[suspects_[i]].from_size;
          if (!from_size || observation.size >= *from_size) out.push_back(i);
        }
  }

 private:
  void mark_node(NodeId node, std::uint32_t i) {
    for (const ChannelId channel : fabric_.channels_at(node)) by_channel_[channel.value()].push_back(i);
  }

  const Fabric& fabric_;
  const CountProblem& problem_;
  std::span<const std::uint32_t> suspects_;
  std::vector<std::vector<std::uint32_t>> by_channel_;
};

}  // namespace

Tally tally(const Fabric& fabric, const Observations& observations, const Counting& counting,
            const CountProblem& problem, std::span<const std::uint32_t> suspects) {
  Tally result;
  result.of.resize(suspects.size());
  if (suspects.empty()) return result;
  const Marks marks(fabric, problem, suspects);
  std::vector<std::unordered_set<std::uint32_t>> sets(suspects.size());
  std::unordered_set<std::uint32_t> rest_sets;
  std::vector<std::uint32_t> crossed;
  for (std::size_t at = 0; at < observations.probes.size(); ++at) {
    if (counting.leaves_out(at)) continue;
    const Observation& observation = observations.probes[at];
    const Counts counts = counts_of(observation, counting.what);
    crossed.clear();
    marks.collect(observation, observation.path, observations.paths, crossed);
    if (observation.back) marks.collect(observation, *observation.back, observations.paths, crossed);
    std::ranges::sort(crossed);
    crossed.erase(std::unique(crossed.begin(), crossed.end()), crossed.end());
    for (const std::uint32_t i : crossed) {
      result.of[i].lost += counts.k;
      result.of[i].sent += counts.n;
      sets[i].insert(observation.path.value());
    }
    if (!crossed.empty()) continue;
    result.rest.lost += counts.k;
    result.rest.sent += counts.n;
  }
  for (std::size_t i = 0; i < sets.size(); ++i) result.of[i].paths = sets[i].size();
  return result;
}

std::optional<NodeId> edge_of_lone_host(const Fabric& fabric, const CountProblem& problem, ChannelId cable) {
  const NodeId from = fabric.source_node(cable), to = fabric.target_node(cable);
  if (fabric.is_host(from) == fabric.is_host(to)) return std::nullopt;
  const NodeId edge = fabric.is_host(from) ? to : from;
  const auto is_other_cable = [&](ChannelId channel) {
    return Fabric::link_of(channel) != Fabric::link_of(cable) && !fabric.between_switches(channel) &&
           (fabric.source_node(channel) == edge || fabric.target_node(channel) == edge);
  };
  const bool lone = std::ranges::none_of(problem.suspects, [&](const Suspect& suspect) {
    return suspect.is_channel() && std::ranges::any_of(suspect.channels, is_other_cable);
  });
  return lone ? std::optional(edge) : std::nullopt;
}

std::string grouped(std::uint64_t number) {
  std::string text = std::to_string(number);
  for (auto at = static_cast<std::ptrdiff_t>(text.size()) - 3; at > 0; at -= 3) text.insert(at, ",");
  return text;
}

std::string share_text(std::uint64_t part, std::uint64_t whole) {
  return fmt::format("{} of {}", grouped(part), grouped(whole));
}

}  // namespace weft::diagnosis
