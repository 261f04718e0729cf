#include "topology/model/path.hpp"

#include <algorithm>

#include "topology/base/check.hpp"

namespace weft {
namespace {

/// FNV-1a over 32-bit words, with a final mix so that short inputs fill all bits.
template <class Id>
std::uint64_t hash_of(std::span<const Id> ids) {
  std::uint64_t h = 0xCBF29CE484222325ull;
  for (const Id id : ids) h = (h ^ id.value()) * 0x100000001B3ull;
  return (h ^ h >> 32) * 0x9E3779B97F4A7C15ull;
}

/// The run of `values` that belongs to `index` in a compressed-row layout.
template <class T>
std::span<const T> row(const std::vector<T>& values, const std::vector<std::uint32_t>& offsets,
                       std::uint32_t index) {
  return std::span(values).subspan(offsets[index], offsets[index + 1] - offsets[index]);
}

template <class Key, class T>
Key intern_row(std::span<const T> wanted, std::vector<T>& values, std::vector<std::uint32_t>& offsets,
               std::unordered_multimap<std::uint64_t, Key>& index) {
  const auto h = hash_of(wanted);
  const auto [first, last] = index.equal_range(h);
  for (auto at = first; at != last; ++at)
    if (std::ranges::equal(row(values, offsets, at->second.value()), wanted)) return at->second;
  const Key key(static_cast<std::uint32_t>(offsets.size() - 1));
  values.insert(values.end(), wanted.begin(), wanted.end());
  offsets.push_back(static_cast<std::uint32_t>(values.size()));
  index.emplace(h, key);
  return key;
}

}  // namespace

PathId PathTable::intern(std::span<const ChannelId> channels) {
  return intern_row<PathId>(channels, channels_, path_offsets_, path_index_);
}

PathSetId PathTable::intern_set(std::span<const PathId> paths) {
  WEFT_CHECK(!paths.empty());
  if (paths.size() == 1) return intern_row<PathSetId>(paths, members_, set_offsets_, set_index_);
  std::vector<PathId> sorted(paths.begin(), paths.end());
  std::ranges::sort(sorted);
  sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
  return intern_row<PathSetId>(std::span<const PathId>(sorted), members_, set_offsets_, set_index_);
}

std::span<const ChannelId> PathTable::channels(PathId path) const {
  return row(channels_, path_offsets_, path.value());
}

std::span<const PathId> PathTable::paths(PathSetId set) const {
  return row(members_, set_offsets_, set.value());
}

bool PathTable::share_start(PathSetId set, std::size_t length) const {
  const auto all = paths(set);
  return std::ranges::all_of(all, [&](PathId path) {
    const auto its = channels(path);
    return its.size() >= length && std::ranges::equal(its.first(length), channels(all[0]).first(length));
  });
}

}  // namespace weft
