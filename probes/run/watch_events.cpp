#include "probes/run/watch_events.hpp"

#include <algorithm>

namespace weft::run {
namespace {

constexpr std::size_t kEventsAtOnce = 1024;

}  // namespace

bool WatchEvents::follow(const std::function<void()>& went_round) {
  for (;;) {
    const auto read = log_.read_behind(last_sequence_, kEventsAtOnce);
    if (!read) return false;
    if (read->empty()) return true;
    for (const watch::StoredEvent& stored : *read) note(stored);
    went_round();  // a history of years takes its time
  }
}

/// Its own is there where the acknowledgement of an event was lost: it is told as one that was just written.
void WatchEvents::note(const watch::StoredEvent& stored) {
  last_sequence_ = stored.sequence;
  sequences_[stored.incident] = stored.sequence;
  const bool own = !unwritten_.empty() && unwritten_.front().id() == stored.incident &&
                   files::event_line(unwritten_.front().report) == stored.text;
  if (own) {
    tell(unwritten_.front(), stored, false);
    return unwritten_.pop_front();
  }
  ++of_others_;
  auto report = files::parse_event(stored.text, "an event of the bus");
  if (!report) return listener_.on_note(report.error().message);
  const auto event = files::event_of(fabric_, *report);
  if (!event) listener_.on_note(event.error().message);
  if (report->incident.id.value() != stored.incident || report->fabric != fabric_.name()) return;
  tell({*std::move(report), event ? std::optional(*event) : std::nullopt}, stored, true);
}

void WatchEvents::tell(const Own& own, const watch::StoredEvent& stored, bool followed) {
  if (own.event) {
    gone_.erase(own.id());
    last_events_.insert_or_assign(own.id(), *own.event);
    return listener_.on_event(*own.event, stored, followed);
  }
  last_events_.erase(own.id());
  gone_.insert_or_assign(own.id(), own.report);
  listener_.on_event_elsewhere(own.report, stored, followed);
}

std::vector<IncidentEvent> WatchEvents::last() const {
  std::vector<IncidentEvent> last;
  for (const auto& [id, event] : last_events_) last.push_back(event);
  return last;
}

std::uint64_t WatchEvents::last_incident() const {
  return std::max(sequences_.empty() ? 0 : sequences_.rbegin()->first, listener_.last_incident());
}

void WatchEvents::add(const std::vector<IncidentEvent>& events) {
  for (const IncidentEvent& event : events) unwritten_.push_back({files::report_of(fabric_, event), event});
}

void WatchEvents::end_what_is_gone(Nanoseconds wall) {
  for (const auto& [id, last] : gone_) {
    if (is_over(last.incident.state)) continue;
    files::EventReport end = last;
    const bool was_sure = end.incident.opened.has_value();
    end.number += 1;
    end.at = wall;
    end.change = was_sure ? IncidentChange::closed : IncidentChange::dismissed;
    end.incident.state = was_sure ? IncidentState::closed : IncidentState::dismissed;
    end.incident.closed = wall;
    end.incident.evidence.emplace_back("the fabric file no longer has this place");
    unwritten_.push_back({std::move(end), std::nullopt});
  }
}

/// A conflict is none where the event stands there already, as its acknowledgement was lost, or where the
/// stream was made anew and has less of the incident than was read.
Result<std::uint64_t> WatchEvents::append(const watch::StoredEvent& event) {
  const std::uint64_t known = sequences_[event.incident];
  auto written = log_.append(event.incident, known, event.text);
  if (written || written.error().kind != ErrorKind::conflict) return written;
  WEFT_TRY(const auto last, log_.last_of(event.incident));
  if (last && last->text == event.text) return last->sequence;
  const std::uint64_t there = last ? last->sequence : 0;
  return there < known ? log_.append(event.incident, there, event.text) : written;
}

WatchEvents::Written WatchEvents::write(const std::function<bool()>& may_write) {
  while (!unwritten_.empty()) {
    if (!may_write()) return Written::not_allowed;
    const Own own = unwritten_.front();
    watch::StoredEvent stored{own.id(), 0, files::event_line(own.report)};
    const auto written = append(stored);
    if (!written && written.error().kind == ErrorKind::conflict) return Written::refused;
    if (!written) return Written::as_far_as_it_goes;
    stored.sequence = sequences_[own.id()] = last_sequence_ = *written;
    unwritten_.pop_front();
    tell(own, stored, false);
  }
  return Written::as_far_as_it_goes;
}

}  // namespace weft::run
