// An agent: serves a run, or one after the other, from this host, with the engines of its NICs.
#pragma once

#include <span>
#include <stop_token>

#include "probes/engine/verbs/ud_port.hpp"
#include "probes/run/agent_options.hpp"
#include "probes/run/engines.hpp"
#include "probes/run/standing_labels.hpp"
#include "probes/session/agent_loop.hpp"

namespace weft::run {

/// What an agent makes of its host, the defaults are the host's own; and how long it serves.
struct AgentParts {
  packet::BufferFactory memory = host_memory;
  OpenVerbsEngine open_verbs = verbs_of_host();
  umad::OpenMads open_mads = mads_of_host();
  verbs::OpenUdPort open_ud = [](const verbs::UdPortOptions& options) { return open_ud_port(options); };
  session::AgentLife life = session::AgentLife::one_run;
  /// Hears what a standing agent says to people (StandingOptions::say).
  std::function<void(const std::string&)> say = [](const std::string&) {};
  /// Hears what is no state of a standing agent, as what its host does not have; from any thread.
  std::function<void(const std::string&)> remark = [](const std::string&) {};
  /// Where a standing agent writes the labels of operators (StandingOptions::labels).
  LabelPlace labels = {};
  /// That of this seat went round (StandingOptions::went_round).
  std::function<void(std::size_t seat)> went_round = [](std::size_t) {};
};

/// A bus at which an agent serves, and as whom.
struct AgentSeat {
  AgentWords words;
  bus::BusCredential credential;
};

/// Blocks as run_agent does. `version` is of this
/// program; `environment` tells how the host's jobs mark their packets. Call before other threads read the
/// environment: it sets what OpenSSL reads. Errors: those of connect_nats, choose_packet_class and run_agent.
Result<void> serve_agent(const AgentSeat& seat, std::string_view version, const AgentParts& parts,
                         const Environment& environment, std::stop_token stop);

/// All at once, each in a thread of its own: the standing agents of several fabrics. Where one ends in an
/// error all end, with that error.
Result<void> serve_agents(std::span<const AgentSeat> seats, std::string_view version, const AgentParts& parts,
                          const Environment& environment, std::stop_token stop);

}  // namespace weft::run
