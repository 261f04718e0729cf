// Doing a task's work with the engines of one NIC: what every agent does, in a lab, on a cluster and in the
// simulator.
#pragma once

#include <functional>
#include <memory>
#include <stop_token>

#include "probes/datapath/peer_exchange.hpp"
#include "probes/session/messages.hpp"

namespace weft::session {

/// The engines of one NIC. `probes` runs the NIC's responder as long as it lives.
struct NicEngines {
  std::shared_ptr<datapath::ProbeEngine> probes;
  std::shared_ptr<datapath::FlowEngine> flows;
  std::shared_ptr<datapath::PeerService> peers = nullptr;  // engines that must speak to each other first
  /// What its device has counted; null, or absent: it tells nothing.
  std::function<std::optional<NicCounters>()> counters = nullptr;
  std::string uses = {};  // what they go by, in words: for the result
  /// In one process: what the NIC is about to be asked, told of all NICs before any begins. Null: it is of no
  /// interest.
  std::function<void(const TaskWork&)> expect = nullptr;
};

/// Opens the engines of a NIC for one run, which sends to these NICs.
using OpenEngines = std::function<Result<NicEngines>(const NicAssignment&, const packet::RunSecrets&,
                                                     const datapath::SharedNics&)>;

/// Blocks until the work is done or `stop` is requested.
Result<TaskAnswer> do_work(const NicEngines& engines, const TaskWork& work, std::stop_token stop);

/// Whether an engine's error is weft's own trouble (a right, a port that is taken, a message too long) and
/// says nothing of the NIC: only what is `absent`, a carrier or an address, is the host's.
bool is_of_tool(const Error& error);

/// The message that tells the coordinator what came of a task.
TaskResult result_of(TaskId id, const TaskWork& work, const Result<TaskAnswer>& answer);

}  // namespace weft::session
