// The paths of one pair of NICs as a table for people: each path, and the labels that select it.
#pragma once

#include <chrono>
#include <string>

#include "probes/plan/label_map.hpp"
#include "probes/plan/path_learner.hpp"
#include "probes/plan/path_search.hpp"
#include "topology/files/row_text.hpp"

namespace weft::report {

/// host1->leaf1->spine2->leaf2->host5, with ports where nodes share several links.
std::string path_chain(const Fabric& fabric, std::span<const ChannelId> path);

/// `tried`: the labels that were traced, for the headline.
std::string path_table(const Fabric& fabric, const plan::PathLearner& learner, std::uint32_t tried,
                       std::size_t columns = 80);

/// How the labels of a pair stand, and what is known of the switches' hashes on its way.
std::string label_map_table(const Fabric& fabric, plan::LabelMap& map, const plan::NicPair& pair,
                            std::size_t columns = 80);

struct SearchCost {
  std::uint64_t probes = 0;
  std::chrono::duration<double> took{};
};
/// A search for all paths of several pairs: what was found of each; of one pair its paths too.
std::string search_table(const Fabric& fabric, const plan::PathLearner& learner,
                         const std::vector<plan::PathSearch::State>& states, SearchCost cost,
                         std::size_t columns = 80);

/// For programs: a row for each label and path; a label that may take several paths has several rows, and
/// says how many. With a `map` its predicted labels follow, and each row says how it is known and how surely.
files::RowSet path_rows(const Fabric& fabric, const plan::PathLearner& learner,
                        plan::LabelMap* map = nullptr);

}  // namespace weft::report
