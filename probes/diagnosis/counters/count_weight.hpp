// What the counts of a port say of the channel into it, with what probes met there: the probability that it
// loses frames on the wire, and how many. A count is Poisson around what the loss makes, and may lie: it may
// be stuck at zero, or count what is no loss, mostly in one window. Pure.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "topology/findings/channel_count.hpp"

namespace weft::diagnosis {

/// What is believed of counters before any is read. Shares of 40,000 modelled ports (docs/diagnosis.md).
struct CounterLies {
  double stuck = 0.02;            // reads zero whatever happens
  double no_loss = 0.003;         // counts what is no loss: log-uniform, over seven decades
  double near_link_event = 0.05;  // the same, where the link went down or trained in the window
  double persists = 0.1;          // of those: in every window, not in one
};

/// Of a channel that wears, the share that loses frames on the wire (1e-9 and more); one in 1,000, of any
/// fabric, for it is a property of cables and not of their number.
inline constexpr double kLossyChannels = 1e-3;

/// Probes over one channel: those that passed, and rows of them that lost some and that nothing found
/// explains, with the losses a packet meets that do not cross this channel.
struct ProbedChannel {
  double passed = 0;
  double lossy_rows = 0;
  double elsewhere = 1e-6;  // above zero
};

/// Codewords and symbols are counted by the receiver's coding sublayer, frames and packets by its MAC: two
/// counters. Two sources of one layer are one counter read twice: that which says the larger loss counts, and
/// where another says otherwise the two of them are no more than one counter alone. Neither are two counters
/// that one exporter tells of: if it is false, both are.
enum class CounterLayer { coding, mac };
std::optional<CounterLayer> layer_of(CounterKind kind);  // absent: it counts no loss on the wire

/// The program that tells of a count: what stands in its source before the first ": ", as in "snmp
/// leaf4:9116: fcs_errors of leaf4/p3". Empty: the device was read without one.
std::string_view exporter_of(const ChannelCount& count);

/// Null where the count can be weighed; else what is wrong with it: older than two periods, an exposure or a
/// gain that cannot be, more errors than there was to err, another layer than the wire.
const char* why_unusable(const ChannelCount& count);

struct ChannelJudged {
  double probability = 0;  // that the channel loses 1e-9 or more on the wire
  double loss = 0;         // if it does: the median, and an interval of 95 %
  double low = 0, high = 0;
  double counted_loss = 0;        // what the counter that counts most says
  bool alone = false;             // no second counter of another exporter and no probes say the same
  bool one_exporter = false;      // a second counter does, of the same exporter
  bool contradicted = false;      // another source of the same counter says otherwise
  bool excluded = false;          // the probes exclude what it says
  bool excluded_by_zero = false;  // so does the other counter, which counted none
};

/// The counts of one channel, of one layer or both, in one window or several; unusable ones are passed over.
/// One counter that nothing else supports gives at most kMaxOfOneCounter. Absent: no count is usable.
inline constexpr double kMaxOfOneCounter = 0.9;
std::optional<ChannelJudged> judge_channel(std::span<const ChannelCount> counts, const ProbedChannel& probed,
                                           const CounterLies& lies = {});

/// ln of how much likelier the counts are where the channel loses 1e-5 and more than where it is healthy; of
/// what probes may meet, then. Between zero and kMaxForProbes a counter: what probes lost nobody takes back.
inline constexpr double kMaxForProbes = 5.0;
double nats_for_loss(std::span<const ChannelCount> counts, const CounterLies& lies = {});

}  // namespace weft::diagnosis
