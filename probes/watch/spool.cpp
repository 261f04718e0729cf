#include "probes/watch/spool.hpp"

#include <algorithm>

#include "probes/watch/window.hpp"

namespace weft::watch {

void Spool::add(std::vector<std::byte> window) {
  const auto number = next_++;
  if (window.size() > std::min(limits_.bytes, kMaxWindowBytes)) {
    ++dropped_;
    return;
  }
  bytes_ += window.size();
  kept_.push_back({number, std::move(window)});
  make_room();
}

void Spool::make_room() {
  while (kept_.size() > limits_.windows || bytes_ > limits_.bytes) {
    bytes_ -= kept_.front().bytes.size();
    under_way_ -= kept_.front().under_way ? 1 : 0;
    kept_.pop_front();
    ++dropped_;
  }
}

/// The end where there is none.
std::deque<Spool::Kept>::iterator Spool::find(const MessageId& id) {
  if (id.boot != boot_) return kept_.end();
  const auto found = std::ranges::lower_bound(kept_, id.number, {}, &Kept::number);
  return found != kept_.end() && found->number == id.number ? found : kept_.end();
}

void Spool::serve(AgentLink& link) {
  for (const MessageId& id : link.acknowledged()) {
    const auto kept = find(id);
    if (kept == kept_.end()) continue;  // it made room meanwhile
    bytes_ -= kept->bytes.size();
    under_way_ -= kept->under_way ? 1 : 0;
    kept_.erase(kept);
  }
  for (const MessageId& id : link.failed()) {
    const auto kept = find(id);
    if (kept == kept_.end() || !kept->under_way) continue;
    kept->under_way = false;
    --under_way_;
  }
  for (Kept& kept : kept_) {
    if (under_way_ >= limits_.under_way) return;
    if (kept.under_way) continue;
    if (!link.publish({boot_, kept.number}, kept.bytes)) return;
    kept.under_way = true;
    ++under_way_;
  }
}

}  // namespace weft::watch
