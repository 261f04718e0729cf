#include "topology/model/path.hpp"

#include <algorithm>

#include "topology/base/check.hpp"

namespace weft {
namespace {

/// FNV-1a over 32-bit words, with a final mix so that short inputs fill all bits.
template <class Id>
std::uint32_t hash_of(std::span<const Id> ids) {
  std::uint64_t h = 0xCBF29CE484222325ull;
  for (const Id id : ids) h = (h ^ id.value()) * 0x100000001B3ull;
  return static_cast<std::uint32_t>(((h ^ h >> 32) * 0x9E3779B97F4A7C15ull) >> 32);
}

constexpr std::size_t kMinSlots = 16;

}  // namespace

template <class Id, class Key>
Key InternedRows<Id, Key>::intern(std::span<const Id> wanted) {
  if (slots_.size() <= 2 * size()) grow();
  const std::uint32_t hash = hash_of(wanted);
  const std::size_t mask = slots_.size() - 1;
  std::size_t at = hash & mask;
  for (; slots_[at].number != kFree; at = (at + 1) & mask)
    if (slots_[at].hash == hash && std::ranges::equal(row(Key(slots_[at].number)), wanted))
      return Key(slots_[at].number);
  const auto number = static_cast<std::uint32_t>(size());
  slots_[at] = {.hash = hash, .number = number};
  ids_.insert(ids_.end(), wanted.begin(), wanted.end());
  offsets_.push_back(static_cast<std::uint32_t>(ids_.size()));
  return Key(number);
}

template <class Id, class Key>
void InternedRows<Id, Key>::grow() {
  std::vector<Slot> wider(std::max(kMinSlots, 2 * slots_.size()));
  const std::size_t mask = wider.size() - 1;
  for (const Slot& slot : slots_) {
    if (slot.number == kFree) continue;
    std::size_t at = slot.hash & mask;
    while (wider[at].number != kFree) at = (at + 1) & mask;
    wider[at] = slot;
  }
  slots_ = std::move(wider);
}

PathSetId PathTable::intern_set(std::span<const PathId> paths) {
  WEFT_CHECK(!paths.empty());
  if (paths.size() == 1) return sets_.intern(paths);
  std::vector<PathId> sorted(paths.begin(), paths.end());
  std::ranges::sort(sorted);
  sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
  return sets_.intern(sorted);
}

bool PathTable::share_start(PathSetId set, std::size_t length) const {
  const auto all = paths(set);
  return std::ranges::all_of(all, [&](PathId path) {
    const auto its = channels(path);
    return its.size() >= length && std::ranges::equal(its.first(length), channels(all[0]).first(length));
  });
}

template class InternedRows<ChannelId, PathId>;
template class InternedRows<PathId, PathSetId>;

}  // namespace weft
