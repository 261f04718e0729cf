// Gathering: whom to ask next, and whom to give up, where each of many hosts is asked once and takes as long
// as it likes. So many are asked at once; one that takes long makes room for another, so that all that hang
// cost their limit together, not one after the other. A call asks one host, or, in a tree of one level, a
// relay and the hosts that it asks in turn; what a relay does not tell of is asked directly, so that one that
// hangs loses nobody but itself. A state machine: the time comes in. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "topology/base/units.hpp"

namespace weft::run {

struct GatherLimits {
  /// A host that has not answered by then is given up.
  Nanoseconds each = std::chrono::seconds(20);
  /// Until then a host counts as one of those asked at once: six times the median of a login.
  Nanoseconds patience = std::chrono::seconds(3);
  std::size_t at_once = 128;
  /// Under way in all: each has three file descriptors, of the usual 1024.
  std::size_t at_most = 256;
  /// Hosts of a call, its relay among them; 1: no relays.
  std::size_t branch = 1;
  /// A relay that says nothing for so long is given up: its login, or ten signs of life. One that goes on
  /// saying something has this time and twice `each` in all: its hosts take `each` at most.
  Nanoseconds silence = std::chrono::seconds(10);
};

class Gathering {
 public:
  Gathering(std::size_t hosts, const GatherLimits& limits);

  /// The call to make now, of calls numbered in the order in which they are made; absent: enough are under
  /// way, or all were asked.
  std::optional<std::size_t> next(Nanoseconds now);
  /// Whom a call asks. More than one: the first is to relay.
  const std::vector<std::size_t>& hosts_of(std::size_t call) const { return calls_[call]; }
  /// A relay gave a sign of life.
  void heard(std::size_t call, Nanoseconds now);
  /// A relay told of a host.
  void told(std::size_t host) { states_[host] = State::done; }
  /// A relay could not reach a host: it is asked directly.
  void ask_directly(std::size_t host);
  /// Those hosts of a relay of which it did not tell are asked directly.
  void ended(std::size_t call);
  /// Calls whose time is over; they have ended by that.
  std::vector<std::size_t> overdue(Nanoseconds now);
  /// When next() or overdue() may have something new though nobody ended.
  Nanoseconds wakes_at(Nanoseconds now) const;
  bool done() const { return waiting_.empty() && under_way_.empty(); }
  /// Hosts that answered or were given up.
  std::size_t done_count() const;

 private:
  enum class State : std::uint8_t { open, direct, done };
  struct Asked {
    std::size_t call;
    Nanoseconds begin;
    Nanoseconds since;   // of a relay: when it was heard last
    bool heard = false;  // it was reached
  };
  bool relays(std::size_t call) const { return calls_[call].size() > 1; }
  /// When a call is given up, if nothing more is heard of it.
  Nanoseconds end_of(const Asked& one) const;

  GatherLimits limits_;
  std::deque<std::vector<std::size_t>> waiting_;  // hosts of calls that are to be made
  std::vector<std::vector<std::size_t>> calls_;   // those that were made
  std::vector<State> states_;                     // of the hosts
  std::vector<Asked> under_way_;                  // in the order in which they were asked
};

}  // namespace weft::run
