// BusSilence: who is not heard, an agent or the bus between. Agents give a sign of life each second. One that
// is silent alone is at fault; where most fall silent at once, or nothing came from anyone for a while, it
// was the bus; and while this process was not run it heard nobody. Pure: it judges by times alone.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "probes/session/agent_roster.hpp"

namespace weft::session {

/// Agents that fell silent or late for one reason did so within a sign of life of each other, and a little:
/// judged so much later than the limit, all of them are beyond it.
inline constexpr auto kAtOnce = std::chrono::milliseconds(1500);

class BusSilence {
 public:
  /// After `of_agent` an agent is dead, after `of_bus` the bus is lost.
  BusSilence(Nanoseconds of_agent, Nanoseconds of_bus) : of_agent_(of_agent), of_bus_(of_bus) {}

  /// All have come: from here on each gives signs of life.
  void begin() { begun_ = true; }
  /// Something came. For how long nothing had come from anyone, if that was a pause of the bus.
  std::optional<Nanoseconds> hear(TimePoint now);
  /// For so long, until now, this process heard nobody.
  void skip(Nanoseconds gap, TimePoint now);

  struct Judgement {
    bool bus_fell_silent = false;                              // it was not when this was asked last
    bool bus_is_lost = false;                                  // it is silent for too long
    std::optional<Nanoseconds> bus_was_silent = std::nullopt;  // it is back, after so long
    std::vector<std::string> silent_agents;                    // while others are heard
  };
  /// Of the agents at work.
  Judgement judge(const AgentRoster& roster, TimePoint now);

  /// Since it was judged last.
  bool is_silent() const { return silent_since_.has_value(); }
  bool was_silent_since(TimePoint then) const { return was_silent_ && *was_silent_ >= then; }

 private:
  void await_bus(bool is_silent, const AgentRoster& roster, TimePoint now, Judgement& judgement);

  Nanoseconds of_agent_;
  Nanoseconds of_bus_;
  bool begun_ = false;
  TimePoint last_heard_{};  // of anyone
  std::optional<TimePoint> silent_since_;
  std::optional<TimePoint> was_silent_;  // last
};

}  // namespace weft::session
