// The agent of one host: says hello, serves the run that the coordinator starts, and ends with it. This loop
// reads the bus and gives signs of life; what may take long (devices, tasks, peers) has threads of its own
// (served_run.hpp). Also ends when the coordinator falls silent: an agent never outlives who asked for it.
#pragma once

#include <stop_token>

#include "probes/session/bus.hpp"
#include "probes/session/work.hpp"

namespace weft {

struct AgentTiming {
  Nanoseconds hello_interval = std::chrono::milliseconds(500);
  Nanoseconds wait_for_start = std::chrono::seconds(30);
  Nanoseconds alive_interval = std::chrono::seconds(1);
  Nanoseconds coordinator_silence = std::chrono::seconds(10);
};

/// Blocks until the run is over (success), `stop` is requested (success, after a word to the coordinator),
/// the coordinator is silent for too long (timeout), or the bus is lost; and until all engines are closed.
Result<void> run_agent(Bus& bus, const Hello& hello, const OpenEngines& open, std::stop_token stop,
                       AgentTiming timing = {});

}  // namespace weft
