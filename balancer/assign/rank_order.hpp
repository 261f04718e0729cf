// Rank order and placement: who sits next to whom. A ring that visits the hosts leaf by leaf crosses each
// leaf's uplinks once; and the parallelism that talks most belongs where talk is cheapest.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "topology/base/ids.hpp"
#include "topology/base/result.hpp"
#include "topology/base/units.hpp"

namespace weft {
class Fabric;
}

namespace weft::assign {

/// The hosts ordered pod by pod and leaf by leaf (by their first NIC), the leaves with most of the hosts
/// first, so that groups of a power of two stay within leaves; otherwise as given.
std::vector<NodeId> rank_order(const Fabric& fabric, std::span<const NodeId> hosts);

/// One kind of parallelism of a job: tensor, pipeline, data, expert.
struct Parallelism {
  std::string name;
  std::uint32_t degree = 1;  // ranks in a group
  Bytes bytes;               // that a rank sends within its group in one training step
};

/// A layer of the machine, the innermost first: so many ranks lie within one, and get this much each.
struct Layer {
  std::string name;
  std::uint64_t ranks = 1;
  Bandwidth per_rank;
};

/// NVLink in a host, then leaf, pod and fabric, as far as they differ in size; a rank's bandwidth across a
/// layer is its host's NICs over its GPUs, or its share of the uplinks where those are fewer.
std::vector<Layer> layers_of(const Fabric& fabric, std::uint32_t gpus_per_host, Bandwidth nvlink_per_gpu);

struct Placed {
  Parallelism parallelism;
  std::uint64_t stride = 1;  // distance in rank between neighbours of a group
  std::size_t layer = 0;     // index into the layers: the innermost that holds a whole group
};

/// The nesting, innermost first, for which the bytes take the least time, group by group over the layer that
/// holds it. Rank of (i0, i1, ...): sum of i_k times stride_k. Parallelisms: at most 6, their degrees
/// multiply to the ranks of the job.
Result<std::vector<Placed>> place_groups(const std::vector<Parallelism>& parallelisms,
                                         const std::vector<Layer>& layers);

/// Seconds that the bytes of `placed` take, one kind of parallelism after another.
double seconds_of(const std::vector<Placed>& placed, const std::vector<Layer>& layers);

}  // namespace weft::assign
