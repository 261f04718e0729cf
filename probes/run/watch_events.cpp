#include "probes/run/watch_events.hpp"

#include <algorithm>

#include "topology/files/incident_json.hpp"

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

void WatchEvents::note(const watch::StoredEvent& stored) {
  last_sequence_ = stored.sequence;
  sequences_[stored.incident] = stored.sequence;
  const auto report = files::parse_event(stored.text, "an event of the bus");
  const auto event =
      report ? files::event_of(fabric_, *report) : Result<IncidentEvent>(tl::unexpected(report.error()));
  if (!event) return listener_.on_note(event.error().message);
  last_events_.insert_or_assign(stored.incident, *event);
  listener_.on_event(*event, stored, true);
}

std::vector<IncidentEvent> WatchEvents::last() const {
  std::vector<IncidentEvent> last;
  for (const auto& [id, event] : last_events_) last.push_back(event);
  return last;
}

WatchEvents::Written WatchEvents::write(const std::function<bool()>& may_write) {
  while (!unwritten_.empty()) {
    if (!may_write()) return Written::not_allowed;
    const IncidentEvent& event = unwritten_.front();
    const auto id = event.incident.id.value();
    watch::StoredEvent stored{id, 0, files::event_line(files::report_of(fabric_, event))};
    const auto written = log_.append(id, sequences_[id], stored.text);
    if (!written && written.error().kind == ErrorKind::conflict) return Written::refused;
    if (!written) return Written::as_far_as_it_goes;
    stored.sequence = sequences_[id] = *written;
    last_sequence_ = std::max(last_sequence_, *written);
    last_events_.insert_or_assign(id, event);
    listener_.on_event(event, stored, false);
    unwritten_.pop_front();
  }
  return Written::as_far_as_it_goes;
}

}  // namespace weft::run
