#include "collectors/webhook/event_queue.hpp"

#include <algorithm>

namespace weft::webhook {

Answer answer_of(int status) {
  constexpr int kRequestTimeout = 408, kTooMany = 429;  // RFC 9110, RFC 6585
  if (status >= 200 && status < 300) return Answer::taken;
  if (status >= 300 && status < 500 && status != kRequestTimeout && status != kTooMany)
    return Answer::refused;
  return Answer::again;
}

/// Of what is muted while it lasts who was told of it is told when it is over.
bool EventQueue::is_to_be_told(const files::EventReport& event) const {
  const auto& incident = event.incident;
  const bool over = incident.state == IncidentState::closed;
  return incident.opened && (!incident.muted_by || (over && told_.contains(incident.id)));
}

void EventQueue::note_told(const files::EventReport& event) {
  if (event.incident.state == IncidentState::closed)
    told_.erase(event.incident.id);
  else if (is_to_be_told(event))
    told_.insert(event.incident.id);
}

bool EventQueue::push(const files::EventReport& event) {
  if (!is_to_be_told(event)) return false;
  note_told(event);
  // The first one may be under way: the one behind it goes.
  if (waiting_.size() >= options_->most_waiting && waiting_.size() > 1) {
    waiting_.erase(waiting_.begin() + 1);
    ++counts_.dropped;
  }
  waiting_.push_back(
      {fmt::format("{}.{}", event.incident.id.value(), event.number), files::event_line(event)});
  return true;
}

void EventQueue::drop_first() {
  waiting_.pop_front();
  tries_ = 0;
  pause_ = options_->first_pause;
}

Nanoseconds EventQueue::tried(Answer answer, std::string trouble) {
  counts_.last_trouble = std::move(trouble);
  if (answer != Answer::again || ++tries_ >= options_->tries) {
    ++(answer == Answer::taken     ? counts_.sent
       : answer == Answer::refused ? counts_.refused
                                   : counts_.dropped);
    drop_first();
    return {};
  }
  const Nanoseconds pause = pause_;
  pause_ = std::min(pause_ * 2, options_->longest_pause);
  return pause;
}

WebhookCounts EventQueue::counts() const {
  WebhookCounts counts = counts_;
  counts.waiting = waiting_.size();
  return counts;
}

}  // namespace weft::webhook
