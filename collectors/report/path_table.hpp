// The paths of one pair of NICs as a table for people: each path, and the labels that select it.
#pragma once

#include <string>

#include "probes/plan/path_learner.hpp"
#include "topology/files/row_text.hpp"

namespace weft::report {

/// host1->leaf1->spine2->leaf2->host5, with ports where nodes share several links.
std::string path_chain(const Fabric& fabric, std::span<const ChannelId> path);

/// `tried`: the labels that were traced, for the headline.
std::string path_table(const Fabric& fabric, const plan::PathLearner& learner, std::uint32_t tried,
                       std::size_t columns = 80);

/// For programs: a row for each label and path; a label that may take several paths has several rows, and
/// says how many.
files::RowSet path_rows(const Fabric& fabric, const plan::PathLearner& learner);

}  // namespace weft::report
