#include "collectors/counters/counter_evidence.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "topology/findings/counter_weight.hpp"
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

struct ErrorCounter {
  mad::IbCounter counter;
  bool by_bits;  // grows with the bits carried; otherwise an event in time
};
constexpr std::array kCableErrors{ErrorCounter{mad::IbCounter::symbol_error, true},
                                  ErrorCounter{mad::IbCounter::link_error_recovery, false},
                                  ErrorCounter{mad::IbCounter::link_downed, false},
                                  ErrorCounter{mad::IbCounter::local_link_integrity, false},
                                  ErrorCounter{mad::IbCounter::excessive_buffer_overrun, false}};

class Evidence {
 public:
  Evidence(const InfinibandFabric& whole, const CounterReading* before, const CounterReading& after)
      : whole_(whole), before_(before), after_(after) {}

  std::vector<ChannelEvidence> run() {
    for (std::uint32_t p = 0; p < whole_.fabric.port_count(); ++p) {
      const PortId port(p);
      const auto* now = reading_of(&after_, port);
      if (now == nullptr || !whole_.fabric.port(port).link) continue;
      weigh_cable(port, *now);
      weigh_unrepaired(port, *now);
      weigh_received(port, *now);
      weigh_unsent(port, *now);
      follow_remote_errors(port, *now);
    }
    return std::move(evidence_);
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

  double weigh(const ErrorCounter& error, PortId port, std::uint64_t count, Nanoseconds watched) const {
    return error.by_bits ? weigh_symbol_errors(count, rate(port), watched)
                         : weigh_link_events(count, watched);
  }

  void accuse_incoming(PortId port, Cause cause, double nats, std::string text) {
    if (const auto channel = whole_.fabric.channel_into(port); channel && nats > 0)
      evidence_.push_back({*channel, cause, nats, std::move(text)});
  }

  std::string place(PortId port) const { return whole_.fabric.name_of(port); }

  void weigh_cable(PortId port, const PortReading& now) {
    for (const ErrorCounter& error : kCableErrors) {
      const auto count = value(now, error.counter);
      if (count == 0) continue;
      const double in_all = weigh(error, port, count, kUnknownWindow);
      const auto grown = growth(port, now, error.counter);
      const double just_now = weigh(error, port, grown.value_or(0), window());
      const bool stuck = count >= limit_of(now, error.counter);
      auto text = fmt::format("{} of {} is {}{}", to_string(error.counter), place(port), count,
                              stuck ? " (its maximum: really more)" : "");
      if (grown && *grown > 0)
        text += fmt::format(", {} of them in the last {:.0f} s", *grown,
                            std::chrono::duration<double>(window()).count());
      if (error.by_bits && now.fec) text += "; " + fec_text(*now.fec);
      accuse_incoming(port, Cause::counter, std::max(in_all, just_now), std::move(text));
    }
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
  void weigh_unrepaired(PortId port, const PortReading& now) {
    if (!now.fec || value(now, mad::IbCounter::symbol_error) > 0) return;
    const double nats =
        weigh({mad::IbCounter::symbol_error, true}, port, now.fec->uncorrected_blocks, kUnknownWindow);
    accuse_incoming(port, Cause::counter, nats, fmt::format("{}: {}", place(port), fec_text(*now.fec)));
  }

  /// Packets that came in damaged, against those that came in whole: only what was counted between two
  /// readings, as a fabric that is set up or cabled makes some.
  void weigh_received(PortId port, const PortReading& now) {
    const auto errors = growth(port, now, mad::IbCounter::rcv_errors);
    const auto packets = growth(port, now, mad::IbCounter::rcv_packets);
    if (!errors || *errors == 0) return;
    const double nats = weigh_damaged(*errors, packets.value_or(0) + *errors);
    accuse_incoming(port, Cause::counter, nats,
                    fmt::format("PortRcvErrors of {} grew by {} while {} packets arrived", place(port),
                                *errors, packets.value_or(0)));
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
    evidence_.push_back({*channel, Cause::congestion, nats,
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
                        std::min(kMaxCounterNats, std::log1p(static_cast<double>(count))),
                        fmt::format("PortRcvRemotePhysicalErrors of {} ({}) lead back to {}", place(first),
                                    count, place(other)));
      else if (value(*reading, mad::IbCounter::rcv_remote_physical_errors) > 0)
        follow(first, other, count, seen);
    }
  }

  const InfinibandFabric& whole_;
  const CounterReading* before_;
  const CounterReading& after_;
  std::vector<ChannelEvidence> evidence_;
};

}  // namespace

std::vector<ChannelEvidence> counter_evidence(const InfinibandFabric& fabric, const CounterReading* before,
                                              const CounterReading& after) {
  return Evidence(fabric, before, after).run();
}

}  // namespace weft::counters
