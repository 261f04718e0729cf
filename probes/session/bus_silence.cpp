#include "probes/session/bus_silence.hpp"

#include <algorithm>

namespace weft::session {
namespace {

/// Two signs of life that did not come, and a little.
constexpr auto kQuiet = std::chrono::milliseconds(2500);

}  // namespace

std::optional<Nanoseconds> BusSilence::hear(TimePoint now) {
  const auto silence = now - last_heard_;
  last_heard_ = now;
  if (!begun_ || silent_since_ || silence <= kQuiet) return std::nullopt;
  was_silent_ = now;
  return silence;
}

void BusSilence::skip(Nanoseconds gap, TimePoint now) {
  last_heard_ += gap;
  if (silent_since_) *silent_since_ += gap;
  was_silent_ = now;
}

BusSilence::Judgement BusSilence::judge(const AgentRoster& roster, TimePoint now) {
  Judgement judgement;
  std::size_t at_work = 0;
  bool is_time = false;
  for (const auto& [name, agent] : roster.agents()) {
    if (agent.state != AgentRoster::State::ready) continue;
    ++at_work;
    const auto silence = now - agent.last_heard;
    if (silence > of_agent_) judgement.silent_agents.push_back(name);
    is_time |= silence > of_agent_ + kAtOnce;
  }
  const bool most = judgement.silent_agents.size() * 2 > at_work;
  const bool of_bus = silent_since_ || (is_time && most);
  if (of_bus) await_bus(most, roster, now, judgement);
  if (of_bus || !is_time) judgement.silent_agents.clear();
  return judgement;
}

void BusSilence::await_bus(bool is_silent, const AgentRoster& roster, TimePoint now, Judgement& judgement) {
  if (!silent_since_) {
    silent_since_ = now;
    for (const auto& [name, agent] : roster.agents())
      if (agent.state == AgentRoster::State::ready)
        silent_since_ = std::min(*silent_since_, agent.last_heard);
    judgement.bus_fell_silent = true;
  }
  const auto silence = now - *silent_since_;
  judgement.bus_is_lost = is_silent && silence > of_bus_;
  if (is_silent) return;
  judgement.bus_was_silent = silence;
  silent_since_.reset();
  was_silent_ = now;
}

}  // namespace weft::session
