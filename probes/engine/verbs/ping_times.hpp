// PingTimes: the six timestamps of each probe of one spec, and what they say (R-Pingmesh, SIGCOMM'24). T1
// posted, T2 the device had sent it, T3 the responder had it, T4 its answer was sent, T5 the answer was here,
// T6 we saw it. network = (T5-T2) - (T4-T3), responder = T4-T3, prober = (T6-T1) - (T5-T2). Differences are
// taken on one clock each, so no clocks need to agree. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "probes/datapath/probe_engine.hpp"

namespace weft::verbs {

class PingTimes {
 public:
  /// `one_clock`: T2 and T5 are of the clock of T1 and T6, not the device's.
  explicit PingTimes(std::uint32_t count, bool one_clock = true) : one_clock_(one_clock), probes_(count) {}

  void posted(std::uint32_t sequence, Nanoseconds t1);
  void sent(std::uint32_t sequence, Nanoseconds t2);
  /// The device did not send what was posted: it is no loss.
  void not_sent(std::uint32_t sequence);
  /// False: no such probe is waited for (a repeat, or never sent).
  bool answered(std::uint32_t sequence, Nanoseconds t5, Nanoseconds t6);
  /// What the responder said of an earlier probe: T4 - T3. What no responder can have taken is not believed.
  void turned_around(std::uint32_t sequence, Nanoseconds delay);

  std::uint32_t sent_count() const { return sent_; }
  std::uint32_t answered_count() const { return answered_; }
  std::uint32_t late_count() const { return late_; }  // of the answered, by kLateEcho
  /// From the first probe to the last; absent: there was none.
  std::optional<TimeWindow> window() const;
  /// Those without an answer, in the order in which they went; empty where there are some: it is not known,
  /// for not every one was sent.
  std::vector<LossRun> unanswered() const;
  bool settled() const { return answered_ == sent_; }
  /// Of the probes whose every time is known: the last one of a spec is not.
  std::optional<RttQuantiles> network() const;
  std::optional<RttQuantiles> prober() const;
  std::optional<RttQuantiles> responder() const;
  std::optional<RttQuantiles> whole() const;

 private:
  struct Probe {
    std::optional<Nanoseconds> t1, t2, t5, t6, turnaround;
    bool complete() const { return t1 && t2 && t5 && t6 && turnaround; }
  };
  template <class F>
  std::optional<RttQuantiles> quantiles(F value) const;
  Probe* at(std::uint32_t sequence) { return sequence < probes_.size() ? &probes_[sequence] : nullptr; }

  bool one_clock_;
  std::vector<Probe> probes_;
  std::uint32_t sent_ = 0;
  std::uint32_t answered_ = 0;
  std::uint32_t late_ = 0;
};

}  // namespace weft::verbs
