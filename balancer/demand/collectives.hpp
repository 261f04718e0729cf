// Collectives as demand: which NIC sends how much to which, step by step. `size` is the buffer of one rank,
// as NCCL counts it. Volumes follow Thakur, Rabenseifner, Gropp, "Optimization of Collective Communication
// Operations in MPICH" (2005); the double tree follows Sanders, Speck, Traeff (2009), as NCCL builds it.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "balancer/demand/demand.hpp"

namespace weft::demand {

enum class Collective {
  ring,                // all-reduce over a ring, pipelined: 2 (n-1)/n of the buffer to the next rank
  recursive_doubling,  // all-reduce: log2 n steps, the whole buffer with the rank 1, 2, 4... away
  halving_doubling,    // all-reduce: reduce-scatter by halving, then all-gather by doubling
  tree,                // all-reduce over two binary trees, half the buffer each, up and down
  all_to_all,          // 1/n of the buffer to every other rank
  reduce_scatter,      // over a ring: (n-1)/n of the buffer
  all_gather,          // over a ring: (n-1)/n of the buffer
  pipeline,            // activations to the next stage, gradients back
};

std::string_view to_string(Collective collective);
std::optional<Collective> parse_collective(std::string_view text);
/// "ring, recursive-doubling, ...", for help and errors.
std::string collective_names();

/// The flows of one collective over `ranks`, NICs in rank order. Fewer than two ranks: no flows.
Demand make_collective(Collective collective, std::span<const PortId> ranks, Bytes size);

/// Rank i sends `bytes` to rank i + distance (round the end): with the hosts of a leaf as distance, every
/// flow crosses leaves.
Demand make_shift(std::span<const PortId> ranks, std::size_t distance, Bytes bytes);

/// The NICs of `hosts` in rail order: element r holds NIC r of every host (hosts with fewer NICs are left out
/// of the later rails).
std::vector<std::vector<PortId>> rails_of(const Fabric& fabric, std::span<const NodeId> hosts);

/// The collective over whole hosts: inside a host by NVLink, between hosts one rail each, all rails at once,
/// each with its equal share of `size`. With one NIC a host: make_collective.
Demand make_hierarchical(const Fabric& fabric, std::span<const NodeId> hosts, Collective collective,
                         Bytes size);

/// The first `count` hosts of the fabric; an Error when it has fewer or count is below two.
Result<std::vector<NodeId>> first_hosts(const Fabric& fabric, std::size_t count);
/// Hosts from text: a number (the first so many) or names with commas, as host1,host5,host9.
Result<std::vector<NodeId>> parse_hosts(const Fabric& fabric, std::string_view text);

}  // namespace weft::demand
