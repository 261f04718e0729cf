// A sweep is a row of stages; a stage is a row of waves; a wave is work for many NICs at once, and ends when
// every piece is answered or given up. Stages are pure: they say what to do and take what came of it, and
// know no clock, bus or engine.
#pragma once

#include <map>
#include <set>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "probes/datapath/probe_engine.hpp"
#include "probes/diagnosis/host/silent_corruption.hpp"
#include "probes/plan/path_learner.hpp"
#include "probes/session/messages.hpp"
#include "probes/session/run_clock.hpp"
#include "probes/session/sweep_options.hpp"
#include "topology/base/check.hpp"
#include "topology/findings/diagnosis.hpp"
#include "topology/findings/flow_result.hpp"
#include "topology/findings/host_delays.hpp"
#include "topology/findings/loaded_trip.hpp"
#include "topology/findings/observation.hpp"
#include "topology/model/addressing.hpp"

namespace weft::session {

/// One piece of a wave.
struct WorkItem {
  PortId nic;
  Nanoseconds limit{};  // it is done long before this, or something is wrong
  TaskWork work;
};

/// What a sweep is asked, and of what; the same for all of its stages.
struct SweepInputs {
  const Fabric& fabric;
  const AddressBook& addresses;
  SweepOptions options;
  RunId run;
};

/// What the stages of one sweep have found so far; each goes by what those before it found, and adds to it.
struct SweepResults {
  explicit SweepResults(const SweepInputs& in)
      : learner(in.fabric, in.addresses, observations.paths),
        flows{in.options.pattern, in.options.flow_options.operation, {}} {}

  SweepResults(const SweepResults&) = delete;
  SweepResults& operator=(const SweepResults&) = delete;

  Observations observations;
  plan::PathLearner learner;  // its paths are those of the observations
  std::set<PortId> out;       // NICs that take no part (any more)
  std::vector<NotTested> not_tested;
  bool paused = false;                   // agents could not be reached for a while
  FlowResults flows;                     // of the load's own rounds, not of those that press a suspect
  std::vector<LoadedTrip> loaded_trips;  // beside these flows
  std::vector<diagnosis::VerifiedTransfer> verified;  // flows whose receivers looked at what came into memory
  std::map<PortId, HostDelays> delays;                // what the hosts at the NICs added to round trips
  std::uint64_t sent = 0;                             // small and large probes, one way
  std::uint64_t lost = 0;
  std::uint32_t last_batch = 0;
  RunClock clock;

  BatchId next_batch() { return BatchId(++last_batch); }
  bool takes_part(PortId nic) const { return !out.contains(nic); }
};

/// The peers of one request, each once, by the index that its specs use.
class PeerList {
 public:
  std::uint32_t index_of(PortId nic, const AddressBook& addresses) {
    const auto [at, is_new] = index_.try_emplace(nic, static_cast<std::uint32_t>(peers_.size()));
    if (is_new) {
      const auto address = addresses.address_of(nic);
      WEFT_CHECK(address.has_value());
      peers_.push_back({nic, *address});
    }
    return at->second;
  }
  std::vector<datapath::Peer> take() && { return std::move(peers_); }

 private:
  std::vector<datapath::Peer> peers_;
  std::unordered_map<PortId, std::uint32_t> index_;
};

class Stage {
 public:
  virtual ~Stage() = default;
  /// Waves still to come, this one included, as far as can be told.
  virtual std::size_t waves_left() const { return 1; }
  /// What the progress line calls it.
  virtual std::string_view name() const = 0;
  /// The next wave; empty: the stage is over.
  virtual std::vector<WorkItem> next_wave() = 0;
  /// The answer to one piece of the current wave; null: it failed or was given up.
  virtual void take(const WorkItem& item, const TaskAnswer* answer) = 0;
};

}  // namespace weft::session
