// Plant: a fabric as failures see it. Which hosts each NIC, cable and switch takes away, which bundle of
// links gets narrower with it, and which parts share a failure domain. Immutable; made once for a plan.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "topology/files/rates.hpp"
#include "topology/model/fabric.hpp"

namespace weft::reliability {

using files::PartClass;
using Index = std::uint32_t;

/// Links that share the load of what is below them: the uplinks of a leaf, or those of a pod to the cores.
struct Bundle {
  std::string name;
  Index links = 0;
  double capacity = 0;        // of all of them, Gbit/s
  std::optional<Index> leaf;  // whose uplinks they are
  std::optional<Index> pod;   // otherwise; absent: above switches of no pod, and what crosses it is not known
  std::vector<Index> below;   // the host of each NIC below
};

struct Cable {
  Index lower = 0, upper = 0;  // switches
  Index bundle = 0;
  double rate = 0;  // Gbit/s
};

struct Switch {
  std::string name;
  PartClass part = PartClass::leaf;  // leaf, spine or core; higher tiers count as core
  std::vector<Index> hosts;          // with a NIC at it, ascending, each once
  std::vector<Index> nics;           // of each of these: how many
  std::vector<Index> cables;         // to other switches
  std::optional<Index> uplinks;      // the bundle of a leaf
  std::optional<Index> pod;
  std::optional<Index> rail;  // of a leaf at which all NICs are the n-th ones of their hosts: n, from 1
};

struct Domain {
  std::string name, kind;
  double events = 0;
  Hours exposure{};
  double share = 1;
  Hours repair{};
  std::vector<Index> hosts;
  std::vector<Index> switches;
};

struct Plant {
  std::string name;
  Index hosts = 0;
  Index gpus_per_host = 1;
  std::vector<Index> nic_host;  // by NIC, as by host cable
  std::vector<Index> nics_of;   // by host: how many
  std::vector<Switch> switches;
  std::vector<Cable> cables;
  std::vector<Bundle> bundles;
  std::vector<Domain> domains;
  std::vector<Index> of_tier[3];  // switches that are leaves, spines, cores
  std::vector<std::string> host_names;
  // As incidents and reports have them (Fabric::name_of); of an enlarged plant those of the first copy alone.
  std::vector<std::string> nic_names, host_cable_names, cable_names;

  /// Of this host, which has one at least.
  Index nics_at(Index leaf, Index host) const;
  Index gpus() const { return hosts * gpus_per_host; }
  /// How many parts of this class there are. Software counts as one for each GPU.
  std::uint64_t count(PartClass part) const;
  /// As rates, incidents and reports name it; empty where parts of the class have no name.
  std::string name_of(PartClass part, Index index) const;
};

/// The class of a node, and of a link: of a fabric's parts there is this one division.
PartClass class_of(const Fabric& fabric, NodeId node);
PartClass class_of(const Fabric& fabric, LinkId link);

/// `gpus_per_host` above 0. Hosts are numbered in the order of the fabric.
Plant make_plant(const Fabric& fabric, const std::vector<FailureDomain>& domains, Index gpus_per_host);

/// As many copies side by side as `gpus` need, joined as the first one is: pods, or groups of leaves, more of
/// the same kind, and switches above them in proportion. Error: what that takes is more than 10,000,000 GPUs.
Result<Plant> enlarged(const Plant& plant, std::uint64_t gpus);

}  // namespace weft::reliability
