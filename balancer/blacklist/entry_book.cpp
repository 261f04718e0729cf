#include "balancer/blacklist/entry_book.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace weft::blacklist {

EntryBook::EntryBook(Ledger& ledger, const Fabric& fabric, NicAction action)
    : ledger_(&ledger),
      fabric_(&fabric),
      action_(action),
      taken_out_(fabric.link_count(), false),
      left_marked_(fabric.link_count(), false),
      put_back_(fabric.link_count(), UtcTime::min()) {
  for (Entry& entry : ledger.entries) {
    by_name_[entry.subject].push_back(entry.id);
    const bool is_active = entry.state == EntryState::active;
    for (const LinkId link : marked_links(entry))
      (is_active ? taken_out_ : left_marked_)[link.value()] = true;
    const bool is_released = entry.state == EntryState::released;
    if (is_released && !entry.put_back) continue;
    const auto subject = find_subject(fabric, entry.subject);
    if (subject && is_active)
      for (const LinkId link : effect_of(fabric, *subject, action).links) taken_out_[link.value()] = true;
    if (subject && entry.put_back)
      for (const ChannelId channel : channels_of(fabric, *subject)) {
        UtcTime& latest = put_back_[Fabric::link_of(channel).value()];
        latest = std::max(latest, *entry.put_back);
      }
    if (is_released) continue;
    if (!subject && entry.is_known)
      newly_lost_.emplace_back(entry.id, fmt::format("{} {}: {}", to_string(entry.subject.kind),
                                                     entry.subject.name, subject.error().message));
    entry.is_known = subject.has_value();
    if (subject) know(entry, *subject);
  }
}

/// A mark on a link cuts it, whatever set it there: between switches, or the cable of a NIC that a fabric
/// manager isolates. One of a scheduler stands on a node, and takes no link out.
std::vector<LinkId> EntryBook::marked_links(const Entry& entry) const {
  std::vector<LinkId> links;
  for (const Mark& mark : entry.marks)
    if (const auto link = fabric_->find_link(mark.object)) links.push_back(*link);
  return links;
}

void EntryBook::know(const Entry& entry, const Subject& subject) {
  subjects_.insert_or_assign(entry.id, subject);
  for (const ChannelId channel : channels_of(*fabric_, subject)) by_channel_[channel].push_back(entry.id);
}

Entry* EntryBook::entry(EntryId id) {
  const auto found = std::ranges::lower_bound(ledger_->entries, id, {}, &Entry::id);
  return found != ledger_->entries.end() && found->id == id ? &*found : nullptr;
}

Entry* EntryBook::covering(const Subject& subject) {
  const auto wanted = channels_of(*fabric_, subject);
  const auto at = by_channel_.find(wanted.front());
  if (at == by_channel_.end()) return nullptr;
  const auto its = effect_of(*fabric_, subject, action_);
  Entry* larger = nullptr;
  for (const EntryId id : at->second) {
    Entry* candidate = entry(id);
    if (!is_live(*candidate)) continue;
    const auto own = channels(*candidate);
    if (!std::ranges::all_of(wanted,
                             [&](ChannelId channel) { return std::ranges::find(own, channel) != own.end(); }))
      continue;
    if (effect(*candidate) == its) return candidate;
    if (!larger && candidate->state == EntryState::active) larger = candidate;
  }
  return larger;
}

std::vector<ChannelId> EntryBook::channels(const Entry& entry) const {
  return channels_of(*fabric_, subjects_.at(entry.id));
}

Effect EntryBook::effect(const Entry& entry) const {
  return effect_of(*fabric_, subjects_.at(entry.id), action_);
}

Entry& EntryBook::add(Entry made, const Subject& subject) {
  made.id = EntryId(++ledger_->last_id);
  made.subject = name_of(*fabric_, subject);
  made.since = ledger_->time;
  auto& same = by_name_[made.subject];
  for (const EntryId id : same) {
    const Entry* other = entry(id);
    if (!other->by_hand && other->last_seen + kOffencesCount > made.first_seen)
      made.offences = std::max(made.offences, other->offences + 1);
  }
  same.push_back(made.id);
  know(made, subject);
  return ledger_->entries.emplace_back(std::move(made));
}

}  // namespace weft::blacklist
