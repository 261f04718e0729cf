// Which engine the NICs of a run send by, where that is left open. Queue pairs and raw packets do not answer
// each other: an RDMA device takes what raw packets are answered by, and a NIC without one has no queue pair.
// So one engine serves the whole run, and who cannot take part in it is named. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "probes/session/agent_roster.hpp"
#include "topology/findings/diagnosis.hpp"
#include "topology/model/fabric.hpp"

namespace weft::session {

/// Engines of one kind answer each other: packets of DPDK and of raw sockets are the same, and management
/// datagrams in ibsim are what they are elsewhere.
std::string_view kind_of_engine(std::string_view engine);

struct OfferOfNic {
  PortId nic;
  NicOffer offer;
};

struct EngineChoice {
  struct Unfit {
    PortId nic;
    std::string why;
  };
  std::string_view engine;  // kVerbsEngine or kRawEngine
  std::string why;          // in words: "each of the 16 NICs has an RDMA device"
  std::vector<Unfit> unfit;
};

/// Queue pairs where as many NICs have an RDMA device as have none, or more: that is what jobs use there, and
/// raw packets would measure nothing of it. Else raw packets. The others are unfit.
EngineChoice choose_engine(const Fabric& fabric, const std::vector<OfferOfNic>& offers);

/// An agent that can take no part.
struct UselessAgent {
  std::string agent;
  std::string why;
};

/// What became of the agents that left their engine open.
struct EngineOfRun {
  EngineChoice choice;
  std::vector<std::string> starting;  // by this engine, with their NICs that can
  std::vector<NotTested> left_out;    // their other NICs
  std::vector<UselessAgent> useless;  // by none of their NICs
};
/// Once no agent is awaited: those that offered are then starting. None: some are, or none offers.
std::optional<EngineOfRun> choose_engine_of_run(const Fabric& fabric, AgentRoster& roster);

/// Those at work by another engine than most NICs.
std::vector<UselessAgent> of_other_engines(const AgentRoster& roster);

}  // namespace weft::session
