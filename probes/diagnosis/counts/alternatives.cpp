#include "probes/diagnosis/counts/alternatives.hpp"

#include <algorithm>
#include <functional>

#include "probes/diagnosis/counts/count_state.hpp"
#include "topology/model/fabric.hpp"

namespace weft::diagnosis {
namespace {

constexpr std::size_t kMaxMeanings = 4;  // of one alternative
constexpr double kSureSign = 9.0;        // nats: a prior of one in 200, the most of any, becomes 40 to 1

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
      for (const ChannelId channel : fabric_.channels_at(node)) all.push_back(channel);
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

/// Of more than can be listed, those by which all classes are harmed at one switch.
std::vector<std::vector<ChannelId>> meanings_at_one_switch(const Fabric& fabric, const CountProblem& problem,
                                                           const Named& named,
                                                           const std::vector<std::uint32_t>& alternative) {
  std::vector<std::vector<ChannelId>> all;
  for (std::uint32_t n = 0; n < fabric.node_count(); ++n) {
    std::vector<ChannelId> chosen;
    const auto touches = [&](ChannelId channel) {
      return fabric.source_node(channel) == NodeId(n) || fabric.target_node(channel) == NodeId(n);
    };
    const bool is_one = std::ranges::all_of(alternative, [&](std::uint32_t s) {
      auto its = named.channels_of(problem.suspects[s]);
      const bool is_class = problem.suspects[s].channels.size() > 1;
      if (is_class) std::erase_if(its, std::not_fn(touches));
      chosen.insert(chosen.end(), its.begin(), its.end());
      return !is_class || its.size() == 1;
    });
    if (is_one) all.push_back(std::move(chosen));
  }
  return all.size() > kMaxMeanings ? std::vector<std::vector<ChannelId>>{} : all;
}

/// What is known to pass something is not what is dead, nor are the nodes at its ends.
void drop_passing(const Fabric& fabric, std::span<const ChannelEvidence> signs, Found& found) {
  const auto any_sign = [&](auto fits) {
    return std::ranges::any_of(
        signs, [&](const ChannelEvidence& sign) { return speaks_against_dead(sign) && fits(sign.channel); });
  };
  const auto passes = [&](ChannelId channel) { return any_sign([=](ChannelId c) { return c == channel; }); };
  if (std::ranges::all_of(found.channels, passes)) return;
  std::erase_if(found.channels, passes);
  std::erase_if(found.nodes, [&](NodeId node) {
    return any_sign(
        [&](ChannelId c) { return fabric.source_node(c) == node || fabric.target_node(c) == node; });
  });
}

/// A switch that is dead as a whole explains both directions too, but then all its neighbours would have
/// stopped sending to it.
void prefer_dead_cable(std::span<const ChannelEvidence> signs, Found& found) {
  const auto is_dead = [&](ChannelId channel) {
    double nats = 0;
    for (const ChannelEvidence& sign : signs)
      if (sign.channel == Fabric::reverse(channel) && sign.cause == Cause::down) nats += sign.log_ratio;
    return nats > kSureSign;
  };
  if (std::ranges::none_of(found.channels, is_dead)) return;
  std::erase_if(found.channels, std::not_fn(is_dead));
  found.nodes.clear();
}

}  // namespace

ChannelAlternatives channels_of_alternatives(const Fabric& fabric, const CountProblem& problem,
                                             std::span<const Suspicion> suspicions,
                                             const std::vector<std::vector<std::uint32_t>>& alternatives,
                                             double named_from) {
  const Named named(fabric, problem, suspicions, named_from, alternatives.front());
  const bool of_a_node = problem.suspects[alternatives.front().front()].channels.empty();
  ChannelAlternatives all;
  for (const auto& alternative : alternatives) {
    for (const std::uint32_t s : alternative) {
      const auto& channels = problem.suspects[s].channels;
      if (!of_a_node && !channels.empty() && named.ends_of(channels.front())) return {};
    }
    auto meant = meanings(problem, named, alternative);
    if (meant.empty()) {
      meant = meanings_at_one_switch(fabric, problem, named, alternative);
      all.more = true;
    }
    if (meant.empty()) return {};
    for (auto channels : meant) {
      std::ranges::sort(channels);
      channels.erase(std::unique(channels.begin(), channels.end()), channels.end());
      if (std::ranges::find(all.channels, channels) == all.channels.end())
        all.channels.push_back(std::move(channels));
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

void narrow_dead(const Fabric& fabric, std::span<const ChannelEvidence> signs, Found& found) {
  drop_passing(fabric, signs, found);
  prefer_dead_cable(signs, found);
  if (found.channels.size() != 1) return;
  const NodeId node = fabric.target_node(found.channels.front());
  if (fabric.is_host(node) || std::ranges::find(found.nodes, node) == found.nodes.end()) return;
  std::vector<ChannelId> whole = fabric.channels_at(node);
  std::ranges::sort(whole);
  found.alternatives = {found.channels, std::move(whole)};
  found.nodes.clear();
  found.evidence.emplace_back("the whole switch would look alike, or all that leaves it");
}

std::optional<NodeId> switch_around(const Fabric& fabric,
                                    const std::vector<std::vector<ChannelId>>& alternatives) {
  const ChannelId first = alternatives.front().front();
  for (const NodeId node : {fabric.source_node(first), fabric.target_node(first)}) {
    const auto is_at = [&](ChannelId channel) {
      return fabric.source_node(channel) == node || fabric.target_node(channel) == node;
    };
    const auto is_of_several_cables = [&](const std::vector<ChannelId>& alternative) {
      return std::ranges::all_of(alternative, is_at) &&
             std::ranges::any_of(alternative, [&](ChannelId channel) {
               return Fabric::link_of(channel) != Fabric::link_of(alternative.front());
             });
    };
    const auto is_whole = [&](const std::vector<ChannelId>& alternative) {
      return alternative.size() == fabric.channels_at(node).size();
    };
    if (!fabric.is_host(node) && std::ranges::all_of(alternatives, is_of_several_cables) &&
        std::ranges::any_of(alternatives, is_whole))
      return node;
  }
  return std::nullopt;
}

}  // namespace weft::diagnosis
