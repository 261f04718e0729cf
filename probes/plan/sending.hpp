// What a run sends, by stage, sender and switch: what is told before anything is sent. Plain values.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "topology/base/units.hpp"
#include "topology/model/fabric.hpp"

namespace weft::plan {

/// Rates are of IP packets, probes and their echoes, while all NICs send; what switches answer to traces is
/// not in them.
struct StageSending {
  std::string stage;                         // as the progress line calls it
  std::optional<Bytes> size = std::nullopt;  // of its probes
  Nanoseconds time{};                        // of sending and of waiting for the last answers
  std::uint64_t packets = 0;                 // by NICs, echoes included
  std::uint64_t bytes = 0;
  Bandwidth nic;                  // what the NIC sends that sends most
  Bandwidth node;                 // what crosses the switch that most crosses
  double answers_per_second = 0;  // to traces, of the switch that is asked most
  double share = 0;               // of the fullest channel's rate
  std::optional<ChannelId> fullest = std::nullopt;
};

struct NicSending {
  std::uint64_t packets = 0;
  std::uint64_t bytes = 0;
  Bandwidth most;
};
struct SwitchLoad {
  Bandwidth most;
  double answers_per_second = 0;
};

struct SendingPlan {
  std::vector<StageSending> stages;  // in their order; a stage that comes again adds to its first time
  std::map<PortId, NicSending> nics;
  std::map<NodeId, SwitchLoad> switches;
  Nanoseconds time() const {
    Nanoseconds all{};
    for (const StageSending& stage : stages) all += stage.time;
    return all;
  }
};

}  // namespace weft::plan
