// Script: what a coordinator runs over its agents: waves of work out, answers in. Pure; knows no clock, bus
// or agent.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "probes/diagnosis/host/host_check.hpp"
#include "probes/session/stage.hpp"

namespace weft::session {

/// A part of a run, as shares of it: 0 is its begin, 1 its end.
struct RunPart {
  double begin = 0;
  double end = 1;
};

class Script {
 public:
  virtual ~Script() = default;
  /// The next wave of work; empty: the script is over.
  virtual std::vector<WorkItem> next_wave() = 0;
  /// The answer to one item of the current wave; null: failed or given up.
  virtual void take(const WorkItem& item, const TaskAnswer* answer) = 0;
  /// This NIC takes no part any more.
  virtual void exclude(PortId nic) = 0;
  /// The hosts that joined and told what they have; called once, before the first wave.
  virtual void meet(const std::vector<diagnosis::JoinedHost>&) {}
  /// What the engine of a NIC goes by, in words.
  virtual void note_use(PortId, std::string_view) {}
  /// Whether NICs with queue pairs and NICs without may take part together. Those of a sweep answer each
  /// other's packets, so they may not.
  virtual bool mixes_engines() const { return false; }
  /// By which engine the NICs send, where the run chose, and why.
  virtual void note_engine(std::string_view, std::string_view) {}
  /// What went wrong with a host, apart from what the work shows.
  virtual void blame(HostEvidence evidence) = 0;
  /// Who takes no part, for a reason that says nothing of the host.
  virtual void not_tested(NotTested what) = 0;
  /// Agents could not be reached for a while: that they did not answer each other then says nothing of them.
  virtual void note_pause() {}
  /// The bus is lost: no wave comes any more. Whether what is known so far is of use.
  virtual bool cut_short(const std::string&) { return false; }
  /// Which part of the whole run the current wave is, where the script can tell.
  virtual std::optional<RunPart> part() const { return std::nullopt; }
  /// Probes sent so far, as far as answers have told.
  virtual std::uint64_t probes_sent() const { return 0; }
  /// What is being done now, for a progress line.
  virtual std::string_view doing() const = 0;
};

}  // namespace weft::session
