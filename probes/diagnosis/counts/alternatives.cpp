#include "probes/diagnosis/counts/alternatives.hpp"

#include <algorithm>

namespace weft {
namespace {

class Named {
 public:
  Named(const Fabric& fabric, const CountProblem& problem, std::span<const Suspicion> suspicions, double from,
        std::span<const std::uint32_t> in_question)
      : fabric_(fabric) {
    for (const Suspicion& one : suspicions)
      if (one.probability >= from && std::ranges::find(in_question, one.suspect) == in_question.end())
        suspects_.push_back(&problem.suspects[one.suspect]);
  }

  /// Of a node all that it has, beside what is named whether or not the node is at fault.
  std::vector<ChannelId> channels_of(const Suspect& suspect) const {
    if (!suspect.channels.empty()) return suspect.channels;
    std::vector<ChannelId> channels;
    for (const NodeId node : suspect.nodes)
      for (const PortId port : fabric_.ports_of(node))
        if (const auto out = fabric_.channel_from(port))
          for (const ChannelId channel : {*out, Fabric::reverse(*out)})
            if (!has(channel)) channels.push_back(channel);
    return channels;
  }
  /// Then part of what crosses the channel is lost by the node.
  bool ends_of(ChannelId channel) const {
    return std::ranges::any_of(suspects_, [&](const Suspect* one) {
      return one->channels.empty() && std::ranges::any_of(one->nodes, [&](NodeId node) {
               return fabric_.source_node(channel) == node || fabric_.target_node(channel) == node;
             });
    });
  }

 private:
  bool has(ChannelId channel) const {
    return std::ranges::any_of(suspects_, [&](const Suspect* one) {
      return one->channels.size() == 1 && one->channels.front() == channel;
    });
  }

  const Fabric& fabric_;
  std::vector<const Suspect*> suspects_;
};

}  // namespace

std::vector<std::vector<ChannelId>> channels_of_alternatives(
    const Fabric& fabric, const CountProblem& problem, std::span<const Suspicion> suspicions,
    const std::vector<std::vector<std::uint32_t>>& alternatives, double named_from) {
  const Named named(fabric, problem, suspicions, named_from, alternatives.front());
  const bool of_a_node = problem.suspects[alternatives.front().front()].channels.empty();
  std::vector<std::vector<ChannelId>> all;
  for (const auto& alternative : alternatives) {
    std::vector<ChannelId> channels;
    for (const std::uint32_t s : alternative) {
      const Suspect& suspect = problem.suspects[s];
      if (suspect.channels.size() > 1) return {};
      if (!of_a_node && !suspect.channels.empty() && named.ends_of(suspect.channels.front())) return {};
      const auto its = named.channels_of(suspect);
      channels.insert(channels.end(), its.begin(), its.end());
    }
    std::ranges::sort(channels);
    channels.erase(std::unique(channels.begin(), channels.end()), channels.end());
    if (std::ranges::find(all, channels) == all.end()) all.push_back(std::move(channels));
  }
  return all;
}

std::optional<NodeId> switch_around(const Fabric& fabric,
                                    const std::vector<std::vector<ChannelId>>& alternatives) {
  const ChannelId first = alternatives.front().front();
  for (const NodeId node : {fabric.source_node(first), fabric.target_node(first)}) {
    const auto touches = [&](ChannelId channel) {
      return fabric.source_node(channel) == node || fabric.target_node(channel) == node;
    };
    if (!fabric.is_host(node) && std::ranges::all_of(alternatives, [&](const auto& alternative) {
          return std::ranges::all_of(alternative, touches);
        }))
      return node;
  }
  return std::nullopt;
}

}  // namespace weft
