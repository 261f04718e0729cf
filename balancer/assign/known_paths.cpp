#include "balancer/assign/known_paths.hpp"

#include <algorithm>

namespace weft {
namespace {

std::uint64_t key_of(PortId src, PortId dst) { return std::uint64_t{src.value()} << 32 | dst.value(); }

}  // namespace

KnownPaths::KnownPaths(const Fabric& fabric, const Capacities& capacities, const PathMap& map)
    : fabric_(fabric), capacities_(capacities), map_(map) {
  for (std::size_t i = 0; i < map.pairs.size(); ++i)
    pair_.emplace(key_of(map.pairs[i].src, map.pairs[i].dst), i);
}

const PairPaths* KnownPaths::find(PortId src, PortId dst) const {
  const auto at = pair_.find(key_of(src, dst));
  return at == pair_.end() ? nullptr : &map_.pairs[at->second];
}

std::optional<Route> KnownPaths::route_of(const PairPaths& pair, PathId path) const {
  const auto channels = map_.table.channels(path);
  if (channels.size() < 2 || channels.size() > Route::kMost + 2) return std::nullopt;
  for (const ChannelId channel : channels)
    if (channel.value() >= fabric_.channel_count()) return std::nullopt;
  if (fabric_.source(channels.front()) != pair.src || fabric_.target(channels.back()) != pair.dst)
    return std::nullopt;
  Route route;
  for (std::size_t i = 1; i < channels.size(); ++i) {
    if (fabric_.target_node(channels[i - 1]) != fabric_.source_node(channels[i])) return std::nullopt;
    if (i + 1 < channels.size()) route.push(channels[i]);
  }
  return route;
}

Result<std::vector<Route>> KnownPaths::routes(PortId src, PortId dst) const {
  const auto name = [&] {
    return fmt::format("{} to {}", fabric_.name_of_nic(src), fabric_.name_of_nic(dst));
  };
  const PairPaths* pair = find(src, dst);
  if (!pair) return fail(ErrorKind::not_found, "the path map has no paths from {}: sweep that pair", name());
  std::vector<Route> usable;
  std::size_t misfits = 0;
  for (const LabelledPath& labelled : pair->paths) {
    if (labelled.labels.empty()) continue;
    const auto route = route_of(*pair, labelled.path);
    if (!route) {
      ++misfits;
    } else if (std::ranges::all_of(route->channels(), [&](ChannelId c) { return capacities_.usable(c); })) {
      usable.push_back(*route);
    }
  }
  if (usable.empty() && misfits > 0)
    return fail(ErrorKind::invalid_input,
                "the path map does not fit the fabric: {} paths from {} do not join them", misfits, name());
  if (usable.empty())
    return fail(ErrorKind::not_found, "no label known from {} takes a usable path: probe more labels",
                name());
  return usable;
}

std::span<const PathLabel> KnownPaths::labels(PortId src, PortId dst, const Route& route) const {
  const PairPaths* pair = find(src, dst);
  if (!pair) return {};
  for (const LabelledPath& labelled : pair->paths)
    if (const auto candidate = route_of(*pair, labelled.path); candidate == route && !labelled.labels.empty())
      return labelled.labels;
  return {};
}

}  // namespace weft
