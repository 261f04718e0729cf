// Assignment: what a watcher asks of one standing agent: which labels its NICs probe to whom, how fast, and
// who may ask it for echoes. It holds until another comes, also while the watcher or the bus are away.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "probes/datapath/probe_engine.hpp"
#include "probes/datapath/run_nics.hpp"
#include "probes/packet/pair_key.hpp"
#include "probes/packet/ud_frame.hpp"
#include "topology/base/ids.hpp"
#include "topology/model/path.hpp"

namespace weft::watch {

using PlanVersion = Strong<struct PlanVersionTag>;  // counts from 1; 0: no plan yet

/// No shortest path of a three-tier fabric has more hops.
inline constexpr std::uint8_t kMaxTraceHop = 16;

/// Probes of one label to one peer; the echo takes back_label.
struct StreamSpec {
  std::uint32_t peer = 0;  // index into Assignment::peers
  PathLabel label;
  PathLabel back_label;
  std::uint8_t trace_hop = 0;  // the hop that is asked whether the route is still the same; 0: none
  friend bool operator==(const StreamSpec&, const StreamSpec&) = default;
};

/// The schedule of a NIC: probe number p, counted from 0 at the start of the plan, is of stream
/// p % streams.size() and goes at p / packets_per_second after the start, in bursts of `burst`.
struct NicSchedule {
  PortId nic;             // as the fabric of the watcher names it; echoed
  std::string interface;  // as the agent named it
  double packets_per_second = 500;
  std::uint32_t burst = 10;  // probes that leave together, over different paths
  std::vector<StreamSpec> streams;
  double traces_per_second = 0;  // of its streams that have a trace_hop, in turn
  friend bool operator==(const NicSchedule&, const NicSchedule&) = default;
};

/// The keys of an epoch, an hour of a watcher's: what a host needs to probe and to answer in it.
struct EpochKeys {
  RunId name;                         // by which probes say of which epoch they are
  Nanoseconds ends_in{};              // from when the assignment was made; then probes are of the next epoch
  packet::Secret own{};               // the keys of NICs that ask follow from it
  std::vector<packet::RunKey> pairs;  // in the order of asked_pairs()
  friend bool operator==(const EpochKeys&, const EpochKeys&) = default;
};

struct Assignment {
  PlanVersion plan;
  /// The epoch that it is, then the next one: all hosts know that before any probe is of it.
  std::vector<EpochKeys> epochs;
  std::vector<NicSchedule> nics;
  std::vector<datapath::Peer> peers;    // whom the streams go to
  std::vector<datapath::RunNic> asked;  // NICs that may ask this host for echoes
  Bytes size = Bytes(128);              // of a probe's IP packet
  packet::UdPairs pairs = {};           // of peers and of who asks, where they probe over queue pairs
  friend bool operator==(const Assignment&, const Assignment&) = default;
};

/// A NIC of the host (its index in Assignment::nics) and one that it probes (in Assignment::peers).
struct AskedPair {
  std::uint32_t nic = 0;
  std::uint32_t peer = 0;
};
/// Each once: by NIC, then by peer.
std::vector<AskedPair> asked_pairs(const std::vector<NicSchedule>& nics);

/// The same but for its keys and where queue pairs are: who works the one works the other.
bool same_work(const Assignment& a, const Assignment& b);

}  // namespace weft::watch
