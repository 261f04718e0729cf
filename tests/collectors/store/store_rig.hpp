// What the tests of the store share: a fabric, a file that ends with the test, events as a stream has them.
#pragma once

#include "collectors/store/watch_store.hpp"
#include "topology/model/clos.hpp"
#include "topology/os/scratch_directory.hpp"

namespace weft::store {

inline const Fabric& small_fabric() {
  static const Fabric fabric = make_clos({.leaves = 4, .spines = 2, .hosts_per_leaf = 2}).value();
  return fabric;
}

/// A time in whole hours from which tests count.
inline constexpr Seconds kStart{1'769'860'800};

/// The incident of a cable, as it is at that event.
inline IncidentEvent cable_event(std::uint64_t id, std::string_view channel, IncidentState state,
                                 Seconds at) {
  IncidentEvent event{.number = 0, .at = at, .change = IncidentChange::opened, .incident = {}};
  event.incident.id = IncidentId(id);
  event.incident.place.channels = {small_fabric().find_channel(channel).value()};
  event.incident.state = state;
  event.incident.verdict = Verdict::degraded;
  event.incident.confidence = 0.99;
  event.incident.evidence = {"38 of 4,096 lost"};
  event.incident.first_seen = at;
  event.incident.last_seen = at + Seconds(60);
  event.incident.bad = Seconds(60);
  if (state != IncidentState::suspected && state != IncidentState::dismissed) event.incident.opened = at;
  return event;
}

inline watch::StoredEvent stored(std::uint64_t sequence, const IncidentEvent& event) {
  return {.incident = event.incident.id.value(),
          .sequence = sequence,
          .text = files::event_line(files::report_of(small_fabric(), event))};
}

class StoreFile {
 public:
  std::filesystem::path path() const { return directory_.path() / "watch.db"; }
  std::filesystem::path other(std::string_view name) const { return directory_.path() / name; }
  WatchStore open() const {
    auto opened = WatchStore::open(path(), small_fabric());
    return std::move(opened.value());
  }

 private:
  os::ScratchDirectory directory_ = os::ScratchDirectory::make().value();
};

}  // namespace weft::store
