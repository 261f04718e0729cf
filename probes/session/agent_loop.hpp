// The agent of one host: says hello, serves the run that the coordinator starts, and ends with it, or serves
// the next. This loop reads the bus and gives signs of life; what may take long (devices, tasks, peers) has
// threads of its own (served_run.hpp). A run also ends when its coordinator falls silent: it never outlives
// who asked for it.
#pragma once

#include <stop_token>

#include "probes/session/bus.hpp"
#include "probes/session/served_run.hpp"

namespace weft::session {

struct AgentTiming {
  Nanoseconds hello_interval = std::chrono::milliseconds(500);
  Nanoseconds wait_for_start = std::chrono::seconds(30);  // of an agent that serves one run
  Nanoseconds alive_interval = std::chrono::seconds(1);
  Nanoseconds coordinator_silence = std::chrono::seconds(10);
};

/// How long an agent lives: as long as the one run that it was started for, or until it is told to stop, with
/// one run after the other.
enum class AgentLife : std::uint8_t { one_run, until_stopped };

/// Blocks until `stop` is requested (success, after a word to the coordinator) or the bus is lost, and until
/// all engines are closed. An agent of one run also ends with that (success), when the coordinator is silent
/// for too long (timeout) and when it sends what cannot be read. A run that another coordinator starts
/// meanwhile is refused.
Result<void> run_agent(Bus& bus, const Hello& hello, const PrepareRun& prepare, std::stop_token stop,
                       AgentLife life = AgentLife::one_run, AgentTiming timing = {});

}  // namespace weft::session
