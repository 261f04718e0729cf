#include "balancer/assign/known_paths.hpp"

#include <algorithm>

#include "topology/model/fabric.hpp"

namespace weft::assign {
namespace {

std::uint64_t key_of(PortId src, PortId dst) { return std::uint64_t{src.value()} << 32 | dst.value(); }

/// Labels that stand under more than one path of the pair, ascending.
std::vector<PathLabel> sprayed_labels(const PairPaths& pair) {
  std::vector<PathLabel> all;
  for (const LabelledPath& path : pair.paths) all.insert(all.end(), path.labels.begin(), path.labels.end());
  std::ranges::sort(all);
  std::vector<PathLabel> repeated;
  for (std::size_t i = 1; i < all.size(); ++i)
    if (all[i] == all[i - 1] && (repeated.empty() || repeated.back() != all[i])) repeated.push_back(all[i]);
  return repeated;
}

}  // namespace

std::optional<SwitchRoute> route_between(const Fabric& fabric, PortId src, PortId dst,
                                         std::span<const ChannelId> channels) {
  if (channels.size() < 2 || channels.size() > SwitchRoute::kMax + 2) return std::nullopt;
  for (const ChannelId channel : channels)
    if (channel.value() >= fabric.channel_count()) return std::nullopt;
  if (fabric.source(channels.front()) != src || fabric.target(channels.back()) != dst) return std::nullopt;
  SwitchRoute route;
  for (std::size_t i = 1; i < channels.size(); ++i) {
    if (fabric.target_node(channels[i - 1]) != fabric.source_node(channels[i])) return std::nullopt;
    if (i + 1 < channels.size()) route.push(channels[i]);
  }
  return route;
}

KnownPaths::KnownPaths(const Fabric& fabric, const Capacities& capacities, const PathMap& map)
    : fabric_(fabric) {
  pairs_.reserve(map.pairs.size());
  for (const PairPaths& pair : map.pairs)
    pairs_.emplace(key_of(pair.src, pair.dst), read(capacities, map, pair));
}

KnownPaths::Pair KnownPaths::read(const Capacities& capacities, const PathMap& map,
                                  const PairPaths& pair) const {
  Pair known;
  const auto sprayed = sprayed_labels(pair);
  known.sprays = !sprayed.empty();
  for (const LabelledPath& labelled : pair.paths) {
    const auto route = route_between(fabric_, pair.src, pair.dst, map.table.channels(labelled.path));
    if (!route) {
      ++known.misfits;
      continue;
    }
    std::vector<PathLabel> labels;
    std::ranges::set_difference(labelled.labels, sprayed, std::back_inserter(labels));
    const bool usable =
        std::ranges::all_of(route->channels(), [&](ChannelId c) { return capacities.usable(c); });
    if (usable && !labels.empty()) known.choices.push_back({*route, std::move(labels)});
  }
  return known;
}

Result<std::vector<SwitchRoute>> KnownPaths::routes(PortId src, PortId dst) const {
  const auto name = [&] {
    return fmt::format("{} to {}", fabric_.name_of_nic(src), fabric_.name_of_nic(dst));
  };
  const auto at = pairs_.find(key_of(src, dst));
  if (at == pairs_.end())
    return fail(ErrorKind::not_found, "the path map has no paths from {}: sweep that pair", name());
  const Pair& pair = at->second;
  std::vector<SwitchRoute> usable;
  for (const Choice& choice : pair.choices) usable.push_back(choice.route);
  if (!usable.empty()) return usable;
  if (pair.misfits > 0)
    return fail(ErrorKind::invalid_input,
                "the path map does not fit the fabric: {} paths from {} do not join them", pair.misfits,
                name());
  if (pair.sprays)
    return fail(ErrorKind::not_supported,
                "every label from {} takes several paths: the fabric sprays, so there is nothing to choose",
                name());
  return fail(ErrorKind::not_found, "no label known from {} takes a usable path: probe more labels", name());
}

std::span<const PathLabel> KnownPaths::labels(PortId src, PortId dst, const SwitchRoute& route) const {
  const auto at = pairs_.find(key_of(src, dst));
  if (at == pairs_.end()) return {};
  const auto found = std::ranges::find(at->second.choices, route, &Choice::route);
  return found == at->second.choices.end() ? std::span<const PathLabel>() : found->labels;
}

}  // namespace weft::assign
