#include "topology/findings/mute.hpp"

#include <algorithm>

namespace weft {
namespace {

bool covers(const Fabric& fabric, const Mute& mute, ChannelId channel) {
  if (const auto* link = std::get_if<LinkId>(&mute.target)) return Fabric::link_of(channel) == *link;
  const NodeId node = std::get<NodeId>(mute.target);
  return fabric.source_node(channel) == node || fabric.target_node(channel) == node;
}

/// The mutes that cover a place, as they are asked for its parts.
class Cover {
 public:
  Cover(const Fabric& fabric, const Mutes& mutes, Nanoseconds now)
      : fabric_(fabric), mutes_(mutes), now_(now) {}

  bool all(const std::vector<ChannelId>& channels) {
    return std::ranges::all_of(channels, [&](ChannelId channel) {
      return any([&](const Mute& mute) { return covers(fabric_, mute, channel); });
    });
  }
  bool all(const std::vector<NodeId>& nodes) {
    return std::ranges::all_of(nodes, [&](NodeId node) {
      return any([&](const Mute& mute) { return mute.target == MuteTarget(node); });
    });
  }
  const Mute* last_to_end() const { return last_; }

 private:
  template <class Is>
  bool any(Is is) {
    bool found = false;
    for (const Mute& mute : mutes_) {
      if (!is_active(mute, now_) || !is(mute)) continue;
      found = true;
      if (last_ == nullptr || last_->until < mute.until) last_ = &mute;
    }
    return found;
  }
  const Fabric& fabric_;
  const Mutes& mutes_;
  Nanoseconds now_;
  const Mute* last_ = nullptr;
};

}  // namespace

Mutes with_mute(Mutes mutes, Mute mute) {
  std::erase_if(mutes, [&](const Mute& other) {
    return other.target == mute.target && other.from <= mute.until && mute.from <= other.until;
  });
  mutes.push_back(std::move(mute));
  return mutes;
}

Mutes without_target(Mutes mutes, MuteTarget target) {
  std::erase_if(mutes, [&](const Mute& mute) { return mute.target == target; });
  return mutes;
}

Mutes without_ended(Mutes mutes, Nanoseconds now) {
  std::erase_if(mutes, [&](const Mute& mute) { return mute.until <= now; });
  return mutes;
}

const Mute* muting(const Fabric& fabric, const Mutes& mutes, const IncidentPlace& place, Nanoseconds now) {
  // A switch whose own mute covers it needs no mute of each of its cables, nor a host.
  if (!place.nodes.empty()) {
    Cover of_nodes(fabric, mutes, now);
    if (of_nodes.all(place.nodes)) return of_nodes.last_to_end();
  }
  if (place.channels.empty() && place.alternatives.empty()) return nullptr;
  Cover cover(fabric, mutes, now);
  if (!cover.all(place.channels)) return nullptr;
  for (const auto& alternative : place.alternatives)
    if (!cover.all(alternative)) return nullptr;
  return cover.last_to_end();
}

std::string name_of(const Fabric& fabric, MuteTarget target) {
  return std::visit([&](auto id) -> std::string { return fabric.name_of(id); }, target);
}

}  // namespace weft
