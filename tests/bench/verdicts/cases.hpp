// Cases: small sweeps with one fault, again and again by seed, the fabrics in turn; and the share of them
// that is right.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "tests/bench/support/figures.hpp"
#include "tests/bench/verdicts/claims.hpp"
#include "tests/bench/verdicts/judge.hpp"
#include "tests/bench/verdicts/options.hpp"

namespace weft::bench {

/// Null: the case says nothing (too little was lost), and is left out.
using IsRight = std::function<std::optional<bool>(const SweepCase&, const Swept&)>;
using MakeCase = std::function<SweepCase(const SmallFabric&, Random&)>;

/// For each question the share of `count` cases that are right; prints those that are not.
std::vector<Share> run_cases(const VerdictOptions& options, const char* what, std::size_t count,
                             const std::vector<SmallFabric>& fabrics, const MakeCase& make,
                             const std::vector<IsRight>& questions);
Share run_cases(const VerdictOptions& options, const char* what, std::size_t count,
                const std::vector<SmallFabric>& fabrics, const MakeCase& make, const IsRight& is_right);

/// Those that the options want, of `among` (by name; empty: all).
std::vector<SmallFabric> fabrics_of(const VerdictOptions& options, const char* among = "");

/// As "97 of 100".
void add_count(Figures& figures, std::string_view figure, const Share& share);

ChannelId any_channel(const Fabric& fabric, Random& random);
FaultSpec fault_on(ChannelId channel, bool whole_cable = false);

/// What the most lossy healthy channel of a case loses: channels then lose 1e-6 to 1e-4, each its own share.
Fraction any_background(Random& random);

}  // namespace weft::bench
