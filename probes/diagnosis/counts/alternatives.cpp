#include "probes/diagnosis/counts/alternatives.hpp"

#include <algorithm>

namespace weft::diagnosis {
namespace {

constexpr std::size_t kMaxMeanings = 4;  // of one alternative

class Named {
 public:
  Named(const Fabric& fabric, const CountProblem& problem, std::span<const Suspicion> suspicions, double from,
        std::span<const std::uint32_t> in_question)
      : fabric_(fabric) {
    for (const Suspicion& one : suspicions)
      if (one.probability >= from && std::ranges::find(in_question, one.suspect) == in_question.end())
        suspects_.push_back(&problem.suspects[one.suspect]);
  }

  /// Of a node all that it has, beside what is named whether or not the node is at fault; all of it where
  /// nothing is left.
  std::vector<ChannelId> channels_of(const Suspect& suspect) const {
    if (!suspect.channels.empty()) return suspect.channels;
    std::vector<ChannelId> all;
    for (const NodeId node : suspect.nodes)
      for (const PortId port : fabric_.ports_of(node))
        if (const auto out = fabric_.channel_from(port)) all.insert(all.end(), {*out, Fabric::reverse(*out)});
    auto channels = all;
    std::erase_if(channels, [this](ChannelId channel) { return has(channel); });
    return channels.empty() ? all : channels;
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

/// One for each channel that a class may mean; of two classes that are each other's reverse, one for each
/// cable. Empty: too many.
std::vector<std::vector<ChannelId>> meanings(const CountProblem& problem, const Named& named,
                                             const std::vector<std::uint32_t>& alternative) {
  std::vector<std::vector<ChannelId>> all{{}};
  for (const std::uint32_t s : alternative) {
    const Suspect& suspect = problem.suspects[s];
    std::vector<std::vector<ChannelId>> options;
    if (suspect.channels.size() > kMaxMeanings) return {};
    if (suspect.channels.size() > 1)
      for (const ChannelId channel : suspect.channels) options.push_back({channel});
    else
      options.push_back(named.channels_of(suspect));
    const auto may_join = [&](const std::vector<ChannelId>& chosen, const std::vector<ChannelId>& option) {
      return options.size() == 1 || std::ranges::all_of(chosen, [&](ChannelId c) {
               const ChannelId other = Fabric::reverse(c);
               return option.front() == other ||
                      std::ranges::find(suspect.channels, other) == suspect.channels.end();
             });
    };
    std::vector<std::vector<ChannelId>> longer;
    for (const auto& chosen : all)
      for (const auto& option : options)
        if (may_join(chosen, option)) {
          longer.push_back(chosen);
          longer.back().insert(longer.back().end(), option.begin(), option.end());
        }
    all = std::move(longer);
    if (all.size() > kMaxMeanings) return {};
  }
  return all;
}

}  // namespace

std::vector<std::vector<ChannelId>> channels_of_alternatives(
    const Fabric& fabric, const CountProblem& problem, std::span<const Suspicion> suspicions,
    const std::vector<std::vector<std::uint32_t>>& alternatives, double named_from) {
  const Named named(fabric, problem, suspicions, named_from, alternatives.front());
  const bool of_a_node = problem.suspects[alternatives.front().front()].channels.empty();
  std::vector<std::vector<ChannelId>> all;
  for (const auto& alternative : alternatives) {
    for (const std::uint32_t s : alternative) {
      const auto& channels = problem.suspects[s].channels;
      if (!of_a_node && !channels.empty() && named.ends_of(channels.front())) return {};
    }
    const auto meant = meanings(problem, named, alternative);
    if (meant.empty()) return {};
    for (auto channels : meant) {
      std::ranges::sort(channels);
      channels.erase(std::unique(channels.begin(), channels.end()), channels.end());
      if (std::ranges::find(all, channels) == all.end()) all.push_back(std::move(channels));
    }
  }
  return all;
}

std::string_view why_open(const CountProblem& problem,
                          const std::vector<std::vector<std::uint32_t>>& alternatives) {
  const auto has_node = [&](const std::vector<std::uint32_t>& suspects) {
    return std::ranges::any_of(suspects, [&](auto s) { return problem.suspects[s].channels.empty(); });
  };
  if (has_node(alternatives.front()))
    return "cables of it, each with a loss of its own, fit as well as the whole switch";
  if (std::ranges::any_of(alternatives, has_node))
    return "the whole switch would look alike, or all that comes in to it";
  return "the same loss on the other channels would look alike";
}

void set_beside_switch(const Fabric& fabric, Found& found) {
  if (found.channels.size() != 1) return;
  const NodeId node = fabric.target_node(found.channels.front());
  if (fabric.is_host(node) || std::ranges::find(found.nodes, node) == found.nodes.end()) return;
  std::vector<ChannelId> whole;
  for (const PortId port : fabric.ports_of(node))
    if (const auto channel = fabric.channel_from(port))
      whole.insert(whole.end(), {*channel, Fabric::reverse(*channel)});
  std::ranges::sort(whole);
  found.alternatives = {found.channels, std::move(whole)};
  found.nodes = {node};
  found.evidence.emplace_back("the whole switch would look alike, or all that leaves it");
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

}  // namespace weft::diagnosis
