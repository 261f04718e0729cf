#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "probes/diagnosis/counts/count_state.hpp"
#include "topology/model/fabric.hpp"

namespace weft::diagnosis {
namespace {

// Prior numbers of faults in a whole fabric. What matters is their order: a large fabric has a few faulty
// channels, a small one seldom any; host cables are short and mostly copper; more rarely a switch or a host
// harms all that crosses it, or a channel harms large packets only. Tuned once, for calibration, on seeds
// apart from those of the benchmark (docs/diagnosis.md).
constexpr double kBurstsToSingles = 0.5;
constexpr double kSingles = 1 / (1 + kBurstsToSingles);  // a fault is one of the two
constexpr double kFaultyBetweenSwitches = 1.1 * kSingles;
constexpr double kFaultyAtHosts = 0.5 * kSingles;
constexpr double kFaultyNodes = 0.3;
constexpr double kMaxOfAll = 0.005;
constexpr double kSizesToChannels = 0.1;
constexpr double kNever = -1e6;
constexpr double kMinKnown = 2;  // bad cables: so few tell nothing of the others; from drawn faults

double a_share(double expected, double of) { return std::min(expected / std::max(of, 1.0), kMaxOfAll); }

/// A switch with two neighbours is told from its cables by nothing.
bool has_many_neighbours(const Fabric& fabric, NodeId node) {
  std::set<NodeId> neighbours;
  for (const ChannelId channel : fabric.channels_from(node)) neighbours.insert(fabric.target_node(channel));
  return neighbours.size() > 2;
}

constexpr std::uint32_t kNone = ~0u;

/// Of what harms packets of one size and more (or of every size), by channel and by node.
struct Places {
  std::vector<std::uint32_t> channel;
  std::vector<std::uint32_t> node;
};

std::map<std::optional<Bytes>, Places> places_of(const Fabric& fabric, const CountProblem& problem) {
  std::map<std::optional<Bytes>, Places> all;
  for (std::uint32_t s = 0; s < problem.suspects.size(); ++s) {
    const Suspect& suspect = problem.suspects[s];
    Places& places = all[suspect.from_size];
    places.channel.resize(fabric.channel_count(), kNone);
    places.node.resize(fabric.node_count(), kNone);
    for (const ChannelId channel : suspect.channels) places.channel[channel.value()] = s;
    if (suspect.channels.empty())
      for (const NodeId node : suspect.nodes) places.node[node.value()] = s;
  }
  // What nothing of one size crossed is there what harms the next larger ones.
  for (auto& [size, places] : all)
    for (std::uint32_t s = 0; s < problem.suspects.size(); ++s) {
      const Suspect& suspect = problem.suspects[s];
      if (!size || !suspect.least_size || *size < *suspect.least_size || *size >= *suspect.from_size)
        continue;
      for (const ChannelId channel : suspect.channels)
        if (places.channel[channel.value()] == kNone) places.channel[channel.value()] = s;
    }
  return all;
}

void note(std::vector<std::uint32_t>& list, std::uint32_t s) {
  if (s != kNone && std::ranges::find(list, s) == list.end()) list.push_back(s);
}

CountPriors::Around around_of(const Fabric& fabric, const Places& places, NodeId node) {
  CountPriors::Around around;
  if (places.node[node.value()] != kNone) around.itself = places.node[node.value()];
  std::map<Tier, CountPriors::Around::Side> sides;
  for (const ChannelId channel : fabric.channels_from(node)) {
    auto& side = sides[fabric.node(fabric.target_node(channel)).tier];
    note(side.out, places.channel[channel.value()]);
    note(side.in, places.channel[Fabric::reverse(channel).value()]);
  }
  for (auto& [tier, side] : sides) around.sides.push_back(std::move(side));
  return around;
}

/// The suspects around each switch, and those that hold each other's reverse directions.
void relate(const Fabric& fabric, const CountProblem& problem, CountPriors& priors) {
  priors.reverse.resize(problem.suspects.size());
  for (const auto& [from_size, places] : places_of(fabric, problem)) {
    for (std::uint32_t c = 0; c < places.channel.size(); ++c)
      if (const std::uint32_t s = places.channel[c]; s != kNone)
        note(priors.reverse[s], places.channel[Fabric::reverse(ChannelId(c)).value()]);
    for (std::uint32_t n = 0; n < fabric.node_count(); ++n) {
      if (fabric.is_host(NodeId(n))) continue;
      CountPriors::Around around = around_of(fabric, places, NodeId(n));
      if (around.itself && !has_many_neighbours(fabric, NodeId(n))) {
        priors.log_odds[*around.itself] = kNever;
        around.itself.reset();
      }
      priors.switches.push_back(std::move(around));
    }
  }
}

/// A sign about a channel multiplies the odds of the suspects it belongs to.
void weigh_in(const CountProblem& problem, const ChannelEvidence& sign, CountPriors& priors) {
  for (std::size_t s = 0; s < problem.suspects.size(); ++s) {
    const Suspect& suspect = problem.suspects[s];
    if (!suspect.is_channel() || !std::ranges::binary_search(suspect.channels, sign.channel)) continue;
    const double others = static_cast<double>(suspect.channels.size()) - 1;
    priors.log_odds[s] += std::log((others + std::exp(sign.log_ratio)) / (others + 1));
  }
}

/// So do counts of errors on channels; they tell of losses one by one and in bursts.
void weigh_in_counts(const CountProblem& problem, std::span<const double> nats, CountPriors& priors) {
  for (std::size_t s = 0; s < problem.suspects.size(); ++s) {
    const Suspect& suspect = problem.suspects[s];
    if (!suspect.is_channel()) continue;
    double odds = 0;
    for (const ChannelId channel : suspect.channels) odds += std::exp(nats[channel.value()]);
    const double more = std::log(odds / static_cast<double>(suspect.channels.size()));
    for (const std::size_t i : {s, s + problem.suspects.size()}) priors.log_odds[i] += more;
  }
}

/// That a channel is down, or passes something, says nothing of what else it loses; that it passes, that the
/// nodes at its ends are not dead either: neither by single losses nor by bursts of which each takes all.
void weigh_in_dead(const Fabric& fabric, const CountProblem& problem, std::span<const ChannelEvidence> signs,
                   CountPriors& priors) {
  std::vector<double> channel(fabric.channel_count(), 0.0), node(fabric.node_count(), 0.0);
  for (const ChannelEvidence& sign : signs) {
    if (sign.cause != Cause::down) continue;
    channel[sign.channel.value()] += sign.log_ratio;
    node[fabric.source_node(sign.channel).value()] += std::min(sign.log_ratio, 0.0);
    node[fabric.target_node(sign.channel).value()] += std::min(sign.log_ratio, 0.0);
  }
  for (std::size_t s = 0; s < problem.suspects.size(); ++s) {
    const Suspect& suspect = problem.suspects[s];
    if (suspect.from_size) continue;
    double odds = 0, members = 0;
    for (const ChannelId c : suspect.channels) odds += std::exp(channel[c.value()]), ++members;
    if (members == 0)
      for (const NodeId n : suspect.nodes) odds += std::exp(node[n.value()]), ++members;
    priors.dead[s] = std::log(odds / std::max(members, 1.0));
    if (suspect.lost == suspect.sent)
      priors.log_odds[problem.suspects.size() + s] += std::min(priors.dead[s], 0.0);
  }
}

std::optional<NodeId> host_at(const Fabric& fabric, ChannelId channel) {
  for (const NodeId end : {fabric.source_node(channel), fabric.target_node(channel)})
    if (fabric.is_host(end)) return end;
  return std::nullopt;
}

std::optional<NodeId> host_of(const Fabric& fabric, const Suspect& suspect) {
  if (suspect.channels.empty()) {
    // A host that is alone under its leaf cannot be told from that.
    const auto is_host = [&](NodeId node) { return fabric.is_host(node); };
    if (std::ranges::count_if(suspect.nodes, is_host) != 1) return std::nullopt;
    return *std::ranges::find_if(suspect.nodes, is_host);
  }
  const auto host = host_at(fabric, suspect.channels.front());
  const auto is_its = [&](ChannelId channel) { return host_at(fabric, channel) == host; };
  return std::ranges::all_of(suspect.channels, is_its) ? host : std::nullopt;
}

std::vector<NodeId> hosts_of(const Fabric& fabric, const Suspect& suspect) {
  std::vector<NodeId> hosts;
  for (const NodeId node : suspect.nodes)
    if (fabric.is_host(node)) hosts.push_back(node);
  for (const ChannelId channel : suspect.channels)
    if (const auto host = host_at(fabric, channel)) hosts.push_back(*host);
  return hosts;
}

/// A switch that only its lone host's packets cross, and the limit of a host, are told from the host's cable
/// by nothing.
bool is_a_cable(const Fabric& fabric, const Suspect& suspect) {
  const auto is_host = [&](NodeId node) { return fabric.is_host(node); };
  return suspect.channels.empty() && std::ranges::any_of(suspect.nodes, is_host) &&
         (suspect.from_size || suspect.nodes.size() > 1);
}

}  // namespace

void expect_other_directions(const CountProblem& problem, std::span<const ChannelId> dead,
                             CountPriors& priors) {
  const std::size_t suspects = problem.suspects.size();
  for (std::size_t s = 0; s < suspects; ++s) {
    const Suspect& suspect = problem.suspects[s];
    const bool kin = suspect.is_channel() && std::ranges::any_of(dead, [&](ChannelId channel) {
                       return std::ranges::binary_search(suspect.channels, Fabric::reverse(channel));
                     });
    if (kin)
      for (const std::size_t i : {s, s + suspects})
        priors.log_odds[i] = std::max(priors.log_odds[i], std::log(kOtherDirection));
  }
}

/// The share of bad cables is unknown and beta distributed: with e bad ones expected of n + kWorth cables,
/// the odds of the next are (e + k) / (n + kWorth - k) after k bad ones. The first kMinKnown tell nothing of
/// the share.
double log_odds_beside(const CountPriors::Kind& kind, double bad) {
  constexpr double kWorth = 16;  // cables; from drawn faults (docs/diagnosis.md)
  const double known = bad - kMinKnown;
  if (!kind.of_cables || known < 1 || 2 * known >= kind.all) return 0;
  const double chance = 2 * kind.expected / kind.all;  // of a cable
  const double expected = std::min(chance * (kind.all / 2 + kWorth), 1.0), worth = expected / chance;
  const double good = std::max(worth - known, 1.0);
  return std::log((expected + known) / (expected * (1 + known)) * worth / good);
}

/// The share of bad cables that are bad both ways differs by what breaks them (a cut cable, a dirty
/// receiver): it is beta distributed with kOtherDirection as its mean, and worth one cable. The first
/// kMinKnown say nothing of it, and those that are bad both ways make it no larger: all cables of a switch
/// both ways would then stand for either half of them.
double log_odds_of_reverse(double both_ways, double others) {
  const double known = std::max(others - kMinKnown, 0.0);
  return std::log(std::min((kOtherDirection + both_ways) / (1 + known), kOtherDirection));
}

CountPriors count_priors(const Fabric& fabric, const CountProblem& problem,
                         std::span<const ChannelEvidence> signs, const Counting& counting) {
  double between = 0;
  for (std::uint32_t link = 0; link < fabric.link_count(); ++link)
    between += fabric.between_switches(LinkId(link)) ? 2 : 0;
  const double at_hosts = static_cast<double>(fabric.channel_count()) - between;
  const double odds_between = a_share(kFaultyBetweenSwitches, between);
  const double odds_at_hosts = a_share(kFaultyAtHosts, at_hosts);
  const double odds_of_node = a_share(kFaultyNodes, static_cast<double>(fabric.node_count()));
  CountPriors priors;
  for (const Suspect& suspect : problem.suspects) {
    double odds = 0;
    for (const ChannelId channel : suspect.channels)
      odds += fabric.between_switches(channel) ? odds_between : odds_at_hosts;
    const bool switches = odds >= odds_between;
    std::uint8_t kind = switches ? 0 : 1;
    if (suspect.channels.empty()) {
      odds = odds_of_node;
      kind = 2;
    }
    if (suspect.from_size) {
      odds *= kSizesToChannels;
      kind = 3;
    }
    priors.log_odds.push_back(is_a_cable(fabric, suspect) ? kNever : std::log(std::min(odds, 0.5)));
    priors.kind.push_back(kind);
  }
  for (std::size_t s = 0; s < problem.suspects.size(); ++s) {
    const bool may_burst = problem.suspects[s].is_channel();
    priors.log_odds.push_back(may_burst ? priors.log_odds[s] + std::log(kBurstsToSingles) : kNever);
    priors.kind.push_back(priors.kind[s] + kSuspectKinds / 2);
  }
  for (std::size_t i = 0; i < priors.kind.size(); ++i) {
    if (priors.log_odds[i] <= kNever) continue;
    auto& its = priors.kinds[priors.kind[i]];
    its.all += 1, its.expected += std::exp(priors.log_odds[i]);
    its.of_cables = priors.kind[i] % (kSuspectKinds / 2) < 2;
  }
  for (double& odds : priors.log_odds) odds += counting.log_prior;
  priors.dead.assign(problem.suspects.size(), 0.0);
  relate(fabric, problem, priors);
  for (const Suspect& suspect : problem.suspects) {
    priors.host.push_back(host_of(fabric, suspect));
    priors.hosts.push_back(hosts_of(fabric, suspect));
  }
  const Counted counted = counting.what;
  const Cause cause = counted == Counted::loss ? Cause::loss : Cause::corruption;
  for (const ChannelEvidence& sign : signs)
    if (sign.cause == cause) weigh_in(problem, sign, priors);
  if (counted == Counted::loss && !counting.counted_nats.empty())
    weigh_in_counts(problem, counting.counted_nats, priors);
  if (counted == Counted::loss) weigh_in_dead(fabric, problem, signs, priors);
  return priors;
}

}  // namespace weft::diagnosis
