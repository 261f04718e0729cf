// FlowProgress: what one flow may post, has posted, and got acknowledged; which of it counts and how long
// each message took. Pure: the caller brings the time.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "probes/datapath/pacer.hpp"
#include "topology/findings/latency_histogram.hpp"
#include "topology/model/path.hpp"

namespace weft::verbs {

class FlowProgress {
 public:
  /// A message every `interval`, at most `depth` under way; with `volume` it ends after so many that count.
  FlowProgress(Nanoseconds interval, std::uint32_t depth, std::optional<std::uint64_t> volume);

  /// `warming`: nothing counts until measure_from.
  void start(Nanoseconds at, bool warming);
  /// The warm-up is over: only what is acknowledged from now on counts, and of a volume only what is posted.
  void measure_from(Nanoseconds at);
  /// The time is over: what is acknowledged from now on does not count.
  void stop_counting() { counting_ = false; }

  /// It has no queue pair: nothing is ever posted.
  void never_starts() { error_ = kFlushed; }
  /// The device did not take what post_due gave: nothing more is posted.
  void not_posted(std::string why) {
    never_starts();
    not_posted_ = std::move(why);
  }

  struct ToPost {
    std::uint64_t first = 0;  // number of the message
    std::uint64_t count = 0;  // at most `depth`
  };
  /// What is to be posted now; counts as posted.
  ToPost post_due(Nanoseconds at);
  /// Whether the completion of `message` of what is posted is to be asked for: of the last, and every half of
  /// `depth`. So what a device holds back goes on in bunches of half the depth.
  bool asks(const ToPost& posting, std::uint64_t message) const {
    return message + 1 == posting.first + posting.count || (message + 1) % ((depth_ + 1) / 2) == 0;
  }
  /// `place`: of a message whose completion was asked for, its number modulo `depth`. Those posted before it
  /// have ended too: a queue pair completes in order. After a status other than zero nothing is posted.
  void completed(std::uint32_t place, int status, Nanoseconds at);

  Nanoseconds interval() const { return interval_; }
  Nanoseconds next() const { return pacer_.next(); }
  bool has_moved_its_volume() const { return !warming_ && volume_ && counted_ >= *volume_; }
  /// A flow without a volume goes on for its time, also where it broke: what it should have moved is lost.
  bool ended() const { return has_moved_its_volume() || (volume_ && error_); }
  /// Its pace allows more than may be under way.
  bool is_held_back() const { return !error_ && due_ > posted_; }
  bool is_under_way() const { return !error_ && done_ < posted_; }
  std::uint64_t due() const { return due_ - due_before_; }
  std::uint64_t counted() const { return counted_; }
  std::uint64_t done() const { return done_; }  // ever
  Nanoseconds last_done() const { return last_done_; }
  const LatencyHistogram& latency() const { return latency_; }
  std::optional<int> error() const { return error_; }
  const std::optional<std::string>& why_not_posted() const { return not_posted_; }

  std::optional<PathLabel> chosen = std::nullopt;  // by the device

 private:
  static constexpr int kFlushed = 5;  // IBV_WC_WR_FLUSH_ERR
  Nanoseconds interval_;
  std::uint32_t depth_;
  std::optional<std::uint64_t> volume_;
  datapath::Pacer pacer_;
  std::uint64_t due_ = 0;  // its rate allowed so many
  std::uint64_t due_before_ = 0;
  std::uint64_t posted_ = 0;
  std::uint64_t done_ = 0;
  std::uint64_t counted_from_ = 0;  // of a volume, only what was posted for it; else what ends from then on
  std::uint64_t counted_ = 0;
  bool warming_ = false;
  bool counting_ = true;
  std::vector<Nanoseconds> posted_at_;  // by place
  Nanoseconds last_done_{};
  LatencyHistogram latency_;
  std::optional<int> error_;
  std::optional<std::string> not_posted_;
};

}  // namespace weft::verbs
