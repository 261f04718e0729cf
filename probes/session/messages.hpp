// What a coordinator and its agents say to each other. Values; messages_json turns them into bytes and back.
// A run goes: Hello (agent) -> StartRun -> Ready (agent) -> any number of Task / TaskResult -> StopRun.
// Both sides send Alive once a second; silence means a dead or hung peer. An agent may serve one run after
// the other: every message says which it is of, and what is of another is passed over.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "probes/datapath/flow_engine.hpp"
#include "probes/datapath/probe_engine.hpp"
#include "probes/datapath/run_nics.hpp"
#include "probes/packet/run_secrets.hpp"
#include "topology/findings/host_inventory.hpp"
#include "topology/findings/nic_counters.hpp"

namespace weft::session {

/// The version of these messages, which programs of several versions may share. It grows when a message comes
/// to mean something else or what it needs is missing in older ones; a new member that may be absent leaves
/// it.
inline constexpr std::uint32_t kProtocol = 7;

// Engines, as these messages name them.
inline constexpr std::string_view kAnyEngine = "auto";
inline constexpr std::string_view kRawEngine = "raw";
inline constexpr std::string_view kDpdkEngine = "dpdk";
inline constexpr std::string_view kVerbsEngine = "verbs";
inline constexpr std::string_view kUmadEngine = "umad";
inline constexpr std::string_view kIbsimEngine = "ibsim";

// From the coordinator.

/// A NIC of the agent's host by the name of its interface, and the id by which this run speaks of it.
struct NicAssignment {
  std::string interface;
  PortId nic;
  std::string engine = {};  // by which the agent sends; empty: as its own command line says
  friend bool operator==(const NicAssignment&, const NicAssignment&) = default;
};
struct StartRun {
  packet::RunSecrets secrets;
  std::vector<NicAssignment> nics;
  std::vector<datapath::RunNic> targets = {};  // all NICs of the run: an agent sends to no other
  friend bool operator==(const StartRun&, const StartRun&) = default;
};
/// Asks a NIC's responder what it received.
struct ReceivedQuery {
  BatchId batch;
  friend bool operator==(const ReceivedQuery&, const ReceivedQuery&) = default;
};
/// Asks what a NIC's device has counted so far.
struct CounterQuery {
  friend bool operator==(const CounterQuery&, const CounterQuery&) = default;
};
using TaskWork = std::variant<datapath::TraceRequest, datapath::PingRequest, datapath::FlowRequest,
                              ReceivedQuery, datapath::TransferRequest, CounterQuery>;
struct Task {
  TaskId id;
  PortId nic;           // whose engine does it
  Nanoseconds limit{};  // the agent gives up after this; the coordinator a little later
  TaskWork work;
  friend bool operator==(const Task&, const Task&) = default;
};
struct StopRun {
  friend bool operator==(const StopRun&, const StopRun&) = default;
};

// From an agent.

struct NicReport {
  std::string interface;  // its name; or its address, where the agent finds the interface by that
  IpAddress address;
  friend bool operator==(const NicReport&, const NicReport&) = default;
};
/// What an agent that leaves the choice of its engine open can send by, of one of its NICs.
struct NicOffer {
  std::string interface;    // as its NicReport has it
  std::string rdma_device;  // which sends by queue pairs from the NIC's address; empty: none
  std::string why;          // there is none
  friend bool operator==(const NicOffer&, const NicOffer&) = default;
};
struct Hello {
  std::string host;
  std::string version;  // of weft
  std::string engine;   // raw, ...; kAnyEngine: the run is to say which
  std::vector<NicReport> nics;
  std::uint32_t protocol = kProtocol;
  std::vector<NicOffer> offers = {};  // of each NIC, with kAnyEngine
  friend bool operator==(const Hello&, const Hello&) = default;
};
struct NicTrouble {
  PortId nic;
  std::string text;
  bool of_tool = false;  // of weft (a right, a port that is taken): it says nothing of the NIC
  friend bool operator==(const NicTrouble&, const NicTrouble&) = default;
};
/// What the engine of a NIC goes by: its device, its address there, how its packets are marked.
struct NicUse {
  PortId nic;
  std::string text;
  friend bool operator==(const NicUse&, const NicUse&) = default;
};
/// The engines are open, except those that could not be.
struct Ready {
  std::vector<NicTrouble> troubles = {};
  std::vector<NicUse> uses = {};
  std::optional<HostInventory> inventory = std::nullopt;  // as the host is now
  friend bool operator==(const Ready&, const Ready&) = default;
};
/// The answer to each kind of work, in the order of TaskWork. Counters: of one device, or none.
using TaskAnswer = std::variant<std::vector<datapath::HopAnswer>, std::vector<datapath::PingTally>,
                                std::vector<datapath::FlowTally>, std::vector<datapath::ReceivedTally>,
                                std::vector<datapath::TransferTally>, std::vector<NicCounters>>;
struct TaskResult {
  TaskId id;
  std::optional<std::string> error = std::nullopt;  // the work failed; the answer is then empty
  TaskAnswer answer;
  bool of_tool = false;  // the error is of weft, as NicTrouble::of_tool
  friend bool operator==(const TaskResult&, const TaskResult&) = default;
};

// From both.

struct Alive {
  friend bool operator==(const Alive&, const Alive&) = default;
};
/// An agent goes, or tells why it cannot take part in this run.
struct Bye {
  std::string why;
  friend bool operator==(const Bye&, const Bye&) = default;
};

/// Between the engines of two NICs (probes/datapath/peer_exchange.hpp); the coordinator passes both on.
struct PeerQuestion {
  PortId from;
  PortId to;
  std::uint32_t id = 0;  // chosen by who asks
  std::string text;
  friend bool operator==(const PeerQuestion&, const PeerQuestion&) = default;
};
struct PeerReply {
  PortId from;  // who answers
  PortId to;    // who asked
  std::uint32_t id = 0;
  bool failed = false;  // the text then says why
  std::string text;
  friend bool operator==(const PeerReply&, const PeerReply&) = default;
};

using ToAgent = std::variant<StartRun, Task, StopRun, Alive, PeerQuestion, PeerReply>;
using ToCoordinator = std::variant<Hello, Ready, TaskResult, Alive, Bye, PeerQuestion, PeerReply>;

/// As they travel: with the run that they are of.
struct MessageToAgent {
  RunId run;
  ToAgent message;
  friend bool operator==(const MessageToAgent&, const MessageToAgent&) = default;
};
/// No run: a Hello, or a Bye before there is one.
struct MessageToCoordinator {
  std::optional<RunId> run;
  ToCoordinator message;
  friend bool operator==(const MessageToCoordinator&, const MessageToCoordinator&) = default;
};

}  // namespace weft::session
