// StandingWindows: when the windows of an agent end, over all its NICs together. A window is a second of
// sending and is told when the answer wait of its last probe is over. Losses in a row (kLostInARow) end it
// early: at what is decided then, so that it needs no more waiting. Pure; one thread.
#pragma once

#include <functional>
#include <map>
#include <optional>

#include "probes/watch/standing_prober.hpp"

namespace weft::watch {

inline constexpr Nanoseconds kWindow = std::chrono::seconds(1);
/// Of a path that loses much many windows would end early: at most four a second.
inline constexpr Nanoseconds kMinWindow = std::chrono::milliseconds(250);
/// Not all hosts of a plan have it at once; what is not answered in its first two seconds says nothing and is
/// not told.
inline constexpr Nanoseconds kPlanGrace = std::chrono::seconds(2);
/// Round trips of a stream are told in every tenth window.
inline constexpr std::uint32_t kDelaysEvery = 10;

/// One look of the agent's thread at all its NICs.
struct LookTimes {
  Nanoseconds read;  // what came in before it has been taken: what has no answer by then has none
  Nanoseconds now;   // what was handed out so far has left
};

class StandingWindows {
 public:
  /// By their index in Assignment::nics; those of them that are open.
  using Nics = std::map<std::uint32_t, StandingProber*>;
  /// Frames that this NIC's host dropped unread since this was asked last.
  using DroppedOf = std::function<std::uint64_t(std::uint32_t nic)>;

  /// `epoch`: the agent's start, from which its windows count.
  StandingWindows(PlanVersion plan, Nanoseconds epoch, Nanoseconds now)
      : plan_(plan), epoch_(epoch), begin_(now), reports_from_(now + kPlanGrace) {}

  /// The window that has ended, without boot and number. Often called: each time a thread looks at the NICs.
  std::optional<Window> next(const Nics& nics, LookTimes look, const DroppedOf& dropped);
  /// What is decided of the window at hand, for nothing more is sent, and a stall to its end; absent: nothing
  /// was told of yet.
  std::optional<Window> last(const Nics& nics, Nanoseconds read, const DroppedOf& dropped);
  /// In this time the host did not let the agent run: the windows that have a part of it are stalled.
  void stalled(Nanoseconds from, Nanoseconds until);
  /// In this time this NIC alone took not all that it was to send: its part of those windows says nothing.
  void refused(std::uint32_t nic, Nanoseconds from, Nanoseconds until);

 private:
  struct Ended {
    Nanoseconds at;
    std::map<std::uint32_t, std::uint64_t> ends;  // of each NIC
  };
  struct Stall {
    Nanoseconds from, until;
  };
  /// Of the last one, and those before it that begin_ is not past.
  void extend(std::optional<Stall>& stall, Nanoseconds from, Nanoseconds until) const;
  bool meets(const std::optional<Stall>& stall, Nanoseconds end) const {
    return stall && stall->from <= end && stall->until >= begin_;
  }
  static Ended decided(const Nics& nics, Nanoseconds read);
  Window close(const Nics& nics, const Ended& ended, Nanoseconds read, const DroppedOf& dropped);
  std::uint32_t dropped_among(std::uint32_t nic, std::uint64_t lost, std::uint64_t dropped);

  PlanVersion plan_;
  Nanoseconds epoch_;
  Nanoseconds begin_;
  std::optional<Nanoseconds> reports_from_;  // not yet
  std::optional<Ended> waiting_;             // for the answers to its last probes
  bool alarmed_ = false;
  std::optional<Stall> stall_;
  std::map<std::uint32_t, std::optional<Stall>> refused_;
  std::map<std::uint32_t, std::uint64_t> dropped_before_;  // and not told
  std::uint32_t turn_ = 0;                                 // whose delays are told
};

}  // namespace weft::watch
