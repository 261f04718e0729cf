// RouteDoubt: from the first agent that says that a route moved until paths are mapped, a plan is in doubt:
// what moved one route moved others, and what is lost now is lost elsewhere than the plan says. It knows who
// said what, holds that against the next mapping, and does not believe for a while whoever a mapping refutes.
// Pure. Times are of the watcher's steady clock.
#pragma once

#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "probes/watch/route_checks.hpp"

namespace weft::watch {

/// Mappings that contradicted several agents each, with no hour between two of them: routes flap, or packets
/// are sprayed. Traces say nothing there; for an hour nobody is believed.
inline constexpr unsigned kMaxContradicted = 3;
/// Not believed for so long, twice that the next time, at most an hour; two hours without such a claim, and
/// it begins anew.
inline constexpr Nanoseconds kDisbelief = std::chrono::minutes(2);

class RouteDoubt {
 public:
  /// What the agent of `host` told of a hop, in a window that ended at `until`.
  void claim(NodeId host, const MovedRoute& moved, Nanoseconds until);
  /// Whether what that agent tells in a window that ended then is looked at.
  bool believes(NodeId host, Nanoseconds until) const;
  /// Paths were mapped, from `since` on; `routes`: of the plan that they made.
  void settle(Nanoseconds since, const RouteChecks& routes);

  /// Since when the plan is in doubt; absent: it is not.
  std::optional<Nanoseconds> since() const { return since_; }
  /// Paths are to be mapped: at once in the first doubt for long, then at least so often as they are anyway.
  bool wants_paths(Nanoseconds now) const { return since_ && now >= asks_from_; }
  /// Once: nobody is believed for an hour, by kMaxContradicted.
  bool gave_up() { return std::exchange(gave_up_, false); }
  /// The claim that began a doubt, once.
  std::optional<MovedRoute> news() { return std::exchange(news_, std::nullopt); }

 private:
  struct Claim {
    NodeId host;
    MovedRoute moved;
    Nanoseconds first{};
  };
  struct Refuted {
    unsigned times = 0;
    Nanoseconds until{};  // of the disbelief
  };
  void refute(NodeId host, Nanoseconds since);
  void note_several(Nanoseconds since);

  std::map<std::tuple<PortId, PortId, PathLabel>, Claim> claims_;  // since paths were mapped
  std::map<NodeId, Refuted> refuted_;
  std::optional<Nanoseconds> since_;
  std::optional<MovedRoute> news_;
  unsigned contradicted_ = 0;  // mappings that contradicted several agents
  Nanoseconds contradicted_at_{};
  Nanoseconds nobody_until_{};
  bool gave_up_ = false;
  Nanoseconds mapped_{};  // from when on paths are known
  Nanoseconds pause_{};   // between mappings that doubts ask for
  Nanoseconds asks_from_{};
};

}  // namespace weft::watch
