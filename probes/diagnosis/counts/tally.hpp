// Tally: what crossed some suspects and what crossed none of them, for the sentences of a finding.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "probes/diagnosis/counts/count_problem.hpp"

namespace weft::diagnosis {

struct Traffic {
  std::uint64_t lost = 0;
  std::uint64_t sent = 0;
  std::size_t paths = 0;  // distinct
};

struct Tally {
  std::vector<Traffic> of;  // by suspect, in the order given
  Traffic rest;             // what crossed none of them
};

/// Of `problem.suspects`, those in `suspects`. Sizes count: a suspect that harms large packets only is
/// crossed by these alone.
Tally tally(const Fabric& fabric, const Observations& observations, const Counting& counting,
            const CountProblem& problem, std::span<const std::uint32_t> suspects);

/// The switch of a host's cable where no other host's cable there was crossed; else none.
std::optional<NodeId> edge_of_lone_host(const Fabric& fabric, const CountProblem& problem, ChannelId cable);

/// "38 of 4,096"
std::string share_text(std::uint64_t part, std::uint64_t whole);
/// 1234567 as "1,234,567".
std::string grouped(std::uint64_t number);

}  // namespace weft::diagnosis
