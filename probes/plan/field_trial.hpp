// FieldTrial: which fields of a packet move its path between two NICs. Some labels are traced with packets as
// probes usually are, then with packets that differ from them in one field alone, in many values of it; and
// some with no difference at all, which must all go one way. Of n values of a field that a switch hashes
// without structure, all go the usual way with a probability of at most 2^-n. Pure.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <vector>

#include "probes/datapath/probe_engine.hpp"
#include "probes/plan/pairs.hpp"
#include "probes/plan/path_search.hpp"
#include "probes/plan/trace_plan.hpp"
#include "topology/findings/field_finding.hpp"
#include "topology/model/addressing.hpp"

namespace weft::plan {

struct TrialHops {
  HopRange asked;  // of switches alone: no packet reaches the peer
  TellingHops telling;
};

class FieldTrial {
 public:
  /// One packet to trace.
  struct Probe {
    PathLabel label;
    PacketFields fields;
  };

  /// `v6`: packets have a flow label. Fabric and addresses must outlive the trial.
  FieldTrial(const Fabric& fabric, const AddressBook& addresses, const NicPair& pair, TrialHops hops, bool v6,
             std::uint64_t seed);

  const std::vector<Probe>& probes() const { return probes_; }
  const HopRange& hops() const { return hops_.asked; }
  /// All answers to one of them.
  void take(std::size_t probe, std::span<const datapath::HopAnswer> answers);

  FieldFindings findings() const;

 private:
  /// What a probe is for: `field` differs from the packets of base `base`; absent: nothing does.
  struct Purpose {
    std::size_t base;
    std::optional<PacketField> field;
  };
  using Seen = std::map<std::uint8_t, IpAddress>;  // which port or switch answered, by hop
  /// How a packet went beside another one.
  struct Beside {
    bool tells = false;                  // enough of both is known
    std::optional<std::uint8_t> parted;  // the first hop that was another
    std::optional<NodeId> chooser;       // the switch before it, where both met that
  };
  Beside compare(const Seen& usual, const Seen& other) const;
  bool identifies_path(const Seen& seen) const;
  std::optional<NodeId> node_at(const IpAddress& address) const;

  const Fabric* fabric_;
  const AddressBook* addresses_;
  NicPair pair_;
  TrialHops hops_;
  bool v6_;
  std::vector<Probe> probes_;
  std::vector<Purpose> purposes_;  // of each probe
  std::vector<Seen> seen_;         // of each probe
};

/// Absent: one path at most leads from one NIC to the other, and there is nothing to choose.
std::optional<TrialHops> hops_of_trial(const Fabric& fabric, routing::ShortestPathCache& ways,
                                       const AddressBook& addresses, const NicPair& pair);

}  // namespace weft::plan
