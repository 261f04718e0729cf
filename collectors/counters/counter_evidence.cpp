#include "collectors/counters/counter_evidence.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "topology/findings/counter_step.hpp"
#include "topology/findings/link_signs.hpp"
#include "topology/model/fabric.hpp"

namespace weft::counters {
namespace {

std::uint64_t value(const PortReading& reading, mad::IbCounter counter) {
  return reading.values[static_cast<std::size_t>(counter)];
}

/// Where a counter of the errors, or of the waiting, sticks.
std::uint64_t limit_of(const PortReading& reading, mad::IbCounter counter) {
  return reading.wide_errors ? ~std::uint64_t{0} : classic_limit(counter);
}

const PortReading* reading_of(const CounterReading* reading, PortId port) {
  if (reading == nullptr || port.value() >= reading->ports.size()) return nullptr;
  const auto& found = reading->ports[port.value()];
  return found ? &*found : nullptr;
}

constexpr std::array kLinkEvents{mad::IbCounter::link_error_recovery, mad::IbCounter::link_downed,
                                 mad::IbCounter::local_link_integrity,
                                 mad::IbCounter::excessive_buffer_overrun};
/// A frame of 512 to 4,096 bytes lies in so many bits, and a symbol error behind the correction loses one.
constexpr CounterGain kFramesASymbol{12e3, 0.8};
/// RS(544,514) corrects blocks of 5,140 bits (IEEE 802.3 clause 91; IBTA vol. 2 uses it from HDR on): the
/// same frames lie in 1 to 7 of them.
constexpr double kBlockBits = 5140;
constexpr CounterGain kFramesABlock{3, 0.6};
/// A packet received with errors may have come whole (another size than it says).
constexpr CounterGain kFramesAPacket{1, 0.3};

class Evidence {
 public:
  Evidence(const InfinibandFabric& whole, const CounterReading* before, const CounterReading& after)
      : whole_(whole), before_(before), after_(after) {}

  PortEvidence run() {
    for (std::uint32_t p = 0; p < whole_.fabric.port_count(); ++p) {
      const PortId port(p);
      const auto* now = reading_of(&after_, port);
      if (now == nullptr || !whole_.fabric.port(port).link) continue;
      count_symbols(port, *now);
      count_received(port, *now);
      weigh_events(port, *now);
      weigh_unsent(port, *now);
      follow_remote_errors(port, *now);
    }
    return std::move(found_);
  }

 private:
  Nanoseconds window() const { return before_ ? after_.at - before_->at : Nanoseconds(0); }
  Bandwidth rate(PortId port) const { return whole_.fabric.link(*whole_.fabric.port(port).link).rate; }

  /// What the counter grew by between the readings; absent without an earlier one, after a reset, or stuck.
  std::optional<std::uint64_t> growth(PortId port, const PortReading& now, mad::IbCounter counter) const {
    const auto* then = reading_of(before_, port);
    if (then == nullptr) return std::nullopt;
    const auto step = counter_step(value(*then, counter), value(now, counter), limit_of(now, counter));
    const auto* advanced = std::get_if<Advanced>(&step);
    return advanced ? std::optional(advanced->by) : std::nullopt;
  }

  void accuse_incoming(PortId port, Cause cause, double nats, std::string text) {
    if (const auto channel = whole_.fabric.channel_into(port); channel && nats > 0)
      found_.channels.push_back({*channel, cause, nats, std::move(text)});
  }

  std::string place(PortId port) const { return whole_.fabric.name_of(port); }

  void count(PortId port, CounterKind kind, CounterGain gain, std::uint64_t errors, double exposure,
             bool is_whole, std::string source) {
    const auto channel = whole_.fabric.channel_into(port);
    if (!channel || exposure <= 0) return;
    found_.counts.push_back({.channel = *channel,
                             .kind = kind,
                             .errors = errors,
                             .exposure = exposure,
                             .gain = gain,
                             .begin = after_.at - (is_whole ? kUnknownWindow : window()),
                             .end = after_.at,
                             .link_event = is_whole || had_event(port),
                             .source = std::move(source)});
  }

  bool had_event(PortId port) const {
    const auto* now = reading_of(&after_, port);
    return std::ranges::any_of(
        kLinkEvents, [&](mad::IbCounter counter) { return growth(port, *now, counter).value_or(0) > 0; });
  }

  /// Symbol errors since the earlier reading; of what was counted by then (or where it went back) no more is
  /// known than that it was.
  void count_symbols(PortId port, const PortReading& now) {
    const auto grown = growth(port, now, mad::IbCounter::symbol_error);
    const auto in_all = value(now, mad::IbCounter::symbol_error);
    const bool is_whole = !grown || (*grown == 0 && in_all > 0);
    const auto bits = rate(port).bits_per_second() *
                      std::chrono::duration<double>(is_whole ? kUnknownWindow : window()).count();
    if (is_whole && in_all == 0) return count_unrepaired(port, now, bits);
    auto source = fmt::format("{} of {}", to_string(mad::IbCounter::symbol_error), place(port));
    if (in_all >= limit_of(now, mad::IbCounter::symbol_error)) source += " (its maximum: really more)";
    if (now.fec) source += "; " + fec_text(*now.fec);
    count(port, CounterKind::symbols, kFramesASymbol, is_whole ? in_all : *grown, bits, is_whole,
          std::move(source));
  }

  static std::string fec_text(const mad::FecCounters& fec) {
    auto text = fmt::format("its error correction repaired {} blocks and could not repair {}",
                            fec.corrected_blocks, fec.uncorrected_blocks);
    const auto worst = std::ranges::max_element(fec.corrected_by_lane);
    if (*worst > 0) text += fmt::format(" (most on lane {})", worst - fec.corrected_by_lane.begin());
    return text;
  }

  /// A block that was not repaired is a symbol error behind the correction; where the port counts those too,
  /// they are the same ones.
  void count_unrepaired(PortId port, const PortReading& now, double bits) {
    if (!now.fec || now.fec->uncorrected_blocks == 0) return;
    count(port, CounterKind::codewords, kFramesABlock, now.fec->uncorrected_blocks, bits / kBlockBits, true,
          fmt::format("{}: {}", place(port), fec_text(*now.fec)));
  }

  /// Packets that came in damaged, of all that came: only what was counted between two readings, as a fabric
  /// that is set up or cabled makes some.
  void count_received(PortId port, const PortReading& now) {
    const auto errors = growth(port, now, mad::IbCounter::rcv_errors);
    const auto packets = growth(port, now, mad::IbCounter::rcv_packets);
    if (!errors || !packets) return;
    count(port, CounterKind::packets, kFramesAPacket, *errors, static_cast<double>(*packets + *errors), false,
          fmt::format("PortRcvErrors of {}", place(port)));
  }

  void weigh_events(PortId port, const PortReading& now) {
    for (const mad::IbCounter event : kLinkEvents) {
      const auto count = value(now, event);
      if (count == 0) continue;
      const auto grown = growth(port, now, event);
      const double nats =
          std::max(weigh_link_events(count, kUnknownWindow), weigh_link_events(grown.value_or(0), window()));
      auto text = fmt::format("{} of {} is {}{}", to_string(event), place(port), count,
                              count >= limit_of(now, event) ? " (its maximum: really more)" : "");
      if (grown && *grown > 0)
        text += fmt::format(", {} of them in the last {:.0f} s", *grown,
                            std::chrono::duration<double>(window()).count());
      accuse_incoming(port, Cause::counter, nats, std::move(text));
    }
  }

  void weigh_unsent(PortId port, const PortReading& now) {
    const auto channel = whole_.fabric.channel_from(port);
    const auto grown = growth(port, now, mad::IbCounter::xmit_wait);
    const auto sent = growth(port, now, mad::IbCounter::xmit_data);
    const bool by_steps = grown && sent && *grown >= kMinWaitTicks;
    const auto ticks = by_steps ? *grown : value(now, mad::IbCounter::xmit_wait);
    const auto words = by_steps ? *sent : value(now, mad::IbCounter::xmit_data);
    const double nats = weigh_waiting(ticks, words);
    if (!channel || nats <= 0) return;
    const double share =
        static_cast<double>(ticks) / (static_cast<double>(ticks) + static_cast<double>(words));
    found_.channels.push_back(
        {*channel, Cause::congestion, nats,
         fmt::format("PortXmitWait of {}: it waited {:.0f} % of the time it had something to "
                     "send",
                     place(port), 100 * share)});
  }

  /// A packet marked bad upstream is counted at every hop after: the port that damaged it is found by going
  /// back to where errors of the cable itself are counted.
  void follow_remote_errors(PortId port, const PortReading& now) {
    const auto remote = value(now, mad::IbCounter::rcv_remote_physical_errors);
    if (remote == 0) return;
    std::set<NodeId> seen;
    follow(port, port, remote, seen);
  }

  void follow(PortId first, PortId port, std::uint64_t count, std::set<NodeId>& seen) {
    const auto in = whole_.fabric.channel_into(port);
    if (!in) return;
    const NodeId upstream = whole_.fabric.source_node(*in);
    if (whole_.fabric.is_host(upstream) || !seen.insert(upstream).second) return;
    for (const PortId other : whole_.fabric.ports_of(upstream)) {
      const auto* reading = reading_of(&after_, other);
      if (reading == nullptr || other == whole_.fabric.source(*in)) continue;
      if (value(*reading, mad::IbCounter::symbol_error) + value(*reading, mad::IbCounter::rcv_errors) > 0)
        accuse_incoming(other, Cause::counter,
                        std::min(kMaxEventNats, std::log1p(static_cast<double>(count))),
                        fmt::format("PortRcvRemotePhysicalErrors of {} ({}) lead back to {}", place(first),
                                    count, place(other)));
      else if (value(*reading, mad::IbCounter::rcv_remote_physical_errors) > 0)
        follow(first, other, count, seen);
    }
  }

  const InfinibandFabric& whole_;
  const CounterReading* before_;
  const CounterReading& after_;
  PortEvidence found_;
};

}  // namespace

PortEvidence counter_evidence(const InfinibandFabric& fabric, const CounterReading* before,
                              const CounterReading& after) {
  return Evidence(fabric, before, after).run();
}

}  // namespace weft::counters
