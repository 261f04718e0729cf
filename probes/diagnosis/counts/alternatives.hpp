// Alternatives of a search for lost packets, which are suspects, as the channels that a set shows.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "probes/diagnosis/counts/count_search.hpp"
#include "probes/diagnosis/report.hpp"

namespace weft::diagnosis {

struct ChannelAlternatives {
  std::vector<std::vector<ChannelId>> channels;  // each once, the likelier first
  bool more = false;                             // classes may mean others too: too many to list
};

/// Empty where no set can tell them: large classes of channels, and channels that end at a node which is
/// itself at fault. A class of two is one or the other; of many such, all at one switch stand for the rest. A
/// switch stands for all its channels but those named by themselves. `named_from`: the probability from which
/// on a suspicion is named.
ChannelAlternatives channels_of_alternatives(const Fabric& fabric, const CountProblem& problem,
                                             std::span<const Suspicion> suspicions,
                                             const std::vector<std::vector<std::uint32_t>>& alternatives,
                                             double named_from);

/// In words, why it stays open which of the alternatives it is.
std::string_view why_open(const CountProblem& problem,
                          const std::vector<std::vector<std::uint32_t>>& alternatives);

/// Of what is found dead, leaves what the signs (of routes, of traces) do not show to pass something. Of a
/// class those channels remain whose other direction is down by such signs: one dead cable explains both.
/// Beside a dead channel into a switch that answered no trace, where all that is known of the switch crossed
/// the channel, the switch stands: it may be dead, or let nothing out.
void narrow_dead(const Fabric& fabric, std::span<const ChannelEvidence> signs, Found& found);

/// The switch that is one of the alternatives, where all others are several cables of it.
std::optional<NodeId> switch_around(const Fabric& fabric,
                                    const std::vector<std::vector<ChannelId>>& alternatives);

}  // namespace weft::diagnosis
