// Builders of the usual fabrics. Names count from 1: host1, leaf1, spine1, core1; hosts in the order of their
// leaves. Each refuses numbers that make no such fabric, and any fabric of more than kMaxLinks links.
#pragma once

#include <cstdint>
#include <string>

#include "topology/model/fabric.hpp"

namespace weft {

/// Above any fabric built so far (a 100,000-NIC three-tier Clos has about 300,000 links).
inline constexpr std::uint64_t kMaxLinks = 2'000'000;

/// Two tiers: every leaf joins every spine by one link.
struct ClosSpec {
  std::string name = "clos";
  FabricKind kind = FabricKind::roce;
  std::uint32_t leaves = 0;
  std::uint32_t spines = 0;
  std::uint32_t hosts_per_leaf = 0;
  Bandwidth link = Bandwidth::gbit(400);
};

/// Three tiers: leaves and spines count per pod; spine i of each pod joins the i-th equal share of the cores
/// (plane i), so cores must be a multiple of spines.
struct PodClosSpec {
  std::string name = "clos";
  FabricKind kind = FabricKind::roce;
  std::uint32_t pods = 0;
  std::uint32_t leaves = 0;
  std::uint32_t spines = 0;
  std::uint32_t cores = 0;
  std::uint32_t hosts_per_leaf = 0;
  Bandwidth link = Bandwidth::gbit(400);
};

/// Rail-optimised: leaf (g-1)*rails + r takes NIC r of each host of group g. With one pod and no cores two
/// tiers; otherwise groups and spines count per pod and the spines join the cores as in PodClosSpec.
struct RailsSpec {
  std::string name = "rails";
  FabricKind kind = FabricKind::roce;
  std::uint32_t groups = 0;
  std::uint32_t hosts_per_group = 0;
  std::uint32_t rails = 0;
  std::uint32_t spines = 0;
  std::uint32_t pods = 1;
  std::uint32_t cores = 0;
  Bandwidth link = Bandwidth::gbit(400);
};

Result<Fabric> make_clos(const ClosSpec& spec);
Result<Fabric> make_pod_clos(const PodClosSpec& spec);
Result<Fabric> make_rails(const RailsSpec& spec);

}  // namespace weft
