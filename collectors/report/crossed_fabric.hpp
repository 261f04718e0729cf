// The fabric of which measured runs tell, where its file is not at hand: what is drawn of a document alone.
// Pure.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "collectors/compare/measured_run.hpp"
#include "topology/model/fabric.hpp"

namespace weft::report {

/// The fabric as the packets of these runs crossed it: nodes by how far from the hosts their channels lie.
/// Parallel cables, whose channels have ports in their names, are apart. Absent: no run has paths, it has
/// more than `most` links, or names that make no fabric.
std::optional<Fabric> crossed_fabric(std::string_view name, std::span<const compare::MeasuredRun> runs,
                                     std::size_t most);

}  // namespace weft::report
