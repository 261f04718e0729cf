// IncidentBook: what looks find, as incidents with a life: suspected, open, recovering, closed. One trouble
// is one incident, however often it comes and goes, whatever its cause and place turn out to be, and however
// many cables a switch or host takes with it. Only clean probes that crossed what was at fault end it: where
// nothing is probed, nothing gets healthy. Pure; not thread-safe. `now` is of the watcher's steady clock,
// `wall` is what people are told.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "probes/watch/crossings.hpp"
#include "topology/findings/incident.hpp"
#include "topology/findings/mute.hpp"

namespace weft::watch {

struct BookOptions {
  /// An incident is recovering for so long at least before it closes; twice as long for each time that it
  /// came back (as route flap damping does, RFC 2439), up to half an hour.
  Nanoseconds hold = std::chrono::minutes(1);
  /// Routes that left a dead cable make its probes clean: an incident of channels closes only by probes whose
  /// paths were mapped after it began to recover (paths_known).
  bool verify_paths = false;
};

class IncidentBook {
 public:
  IncidentBook(const Fabric& fabric, const BookOptions& options) : fabric_(&fabric), options_(options) {}

  /// The last event of each incident, in any order; before the first look. `last_id`: the highest number that
  /// any was given, also one that is not among them.
  void restore(std::span<const IncidentEvent> last, std::uint64_t last_id, Nanoseconds now);
  void mute(Mutes mutes) { mutes_ = std::move(mutes); }

  struct Times {
    Nanoseconds now{};
    Nanoseconds wall{};
  };
  /// Channels of opened incidents that began or ended behind `from`: a look back to there mixes what was lost
  /// while they lasted with what came through before or after, and takes it for a fault of something else.
  /// What was lost there is told of already.
  std::vector<ChannelId> told_of(Nanoseconds from) const;
  /// An incident that is not over, about the same, began by then, and not by findings that were held alone.
  bool knows(const LookFinding& finding, Nanoseconds by) const;
  /// The findings of a look at what was sent since `from`, in which told_of(from) said nothing.
  void see(const std::vector<LookFinding>& findings, Nanoseconds from, Times times);
  using CrossedOf = std::function<Crossed(const WatchedIncident&, std::span<const WatchedIncident> all)>;
  /// What crossed each incident's place in the second that began at `second`.
  void cross(const CrossedOf& crossed, Nanoseconds second, Times times);
  /// A look at delays found what `findings` says; those incidents of delay that it does not name are crossed
  /// by probes that were in time.
  void see_in_time(const std::vector<LookFinding>& findings, Nanoseconds from);

  /// Routes moved: what recovers does so by paths that are to be mapped again.
  void paths_doubted();
  /// Paths were mapped anew, beginning then: what crosses a recovering place counts from now on.
  void paths_known(Nanoseconds since);
  /// Some incident recovers, and cannot close before paths are mapped again.
  bool awaits_paths() const;

  /// Those not closed nor dismissed, worst first.
  std::vector<Incident> current() const;
  /// What changed since the last call.
  std::vector<IncidentEvent> take_events();

 private:
  struct Entry {
    Incident incident;
    std::uint64_t events = 0;                     // so far
    Nanoseconds began{};                          // what was sent before may have come before the fault
    Nanoseconds span{};                           // of the look that told its place and estimate
    bool moved = false;                           // to another place since it was opened
    int agreeing = 0;                             // looks in a row that told the same place
    Nanoseconds agreed = Nanoseconds::min();      // when the last of them did
    Nanoseconds shows_in = Nanoseconds::max();    // the shortest span of a look that saw it
    double share = 0;                             // that it loses, where there is no estimate
    Nanoseconds down{};                           // when a look last found that nothing passes
    Nanoseconds seen{};                           // last, steady
    Nanoseconds recovering = Nanoseconds::min();  // since, steady; the last time
    Nanoseconds closed{};                         // steady
    double clean = 0;                             // log odds that it is over are -clean
    double again = 0;                             // log odds that it is back
    bool is_verified = false;                     // its paths were mapped since it recovers
    bool held = false;                            // findings that were held back alone told it
    bool is_over() const { return weft::is_over(incident.state); }
  };

  Entry* find(const LookFinding& finding, Nanoseconds from);
  bool is_about(const Entry& entry, const LookFinding& finding) const;
  bool touches(const IncidentPlace& place, NodeId node) const;
  bool share_a_switch(const IncidentPlace& a, const IncidentPlace& b) const;
  void begin(const LookFinding& finding, Nanoseconds from, Times times, bool is_beside);
  void update(Entry& entry, const LookFinding& finding, Nanoseconds from, Times times, bool is_beside);
  bool take_over(const Entry& entry, const LookFinding& finding, Nanoseconds from, Times times) const;
  std::vector<const LookFinding*> in_order(const std::vector<LookFinding>& findings) const;
  void fold(Entry& into, Times times);
  void weigh(Entry& entry, const Crossed& crossed, Times times);
  void saw(Entry& entry, const LookFinding& finding, Nanoseconds span, Times times);
  void come_back(Entry& entry, Nanoseconds since, Times times);
  void end(Entry& entry, Times times);
  bool may_close(const Entry& entry) const;
  std::optional<std::string> muted(const Incident& incident, Nanoseconds wall) const;
  void note(Entry& entry, IncidentChange change, Nanoseconds wall);
  void forget(Nanoseconds now);

  const Fabric* fabric_;
  BookOptions options_;
  Mutes mutes_;
  std::vector<Entry> entries_;  // ascending by id
  std::uint64_t next_id_ = 1;
  std::vector<IncidentEvent> events_;
};

}  // namespace weft::watch
