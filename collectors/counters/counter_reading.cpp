#include "collectors/counters/counter_reading.hpp"

#include <map>

namespace weft {
namespace {

class CounterQuestions : public MadDialogue {
 public:
  CounterQuestions(const InfinibandFabric& whole, CounterReading& reading)
      : whole_(whole), reading_(reading) {
    wide_.resize(whole.fabric.port_count());
    const auto ports = static_cast<std::uint32_t>(whole.fabric.port_count());
    // Port after port of a node stand side by side; a stride spreads the questions over the fabric.
    for (std::uint32_t start = 0; start < kStride; ++start)
      for (std::uint32_t p = start; p < ports; p += kStride)
        if (whole.fabric.port(PortId(p)).link) order_.push_back(PortId(p));
  }

  /// The 64-bit counters are asked only of ports whose narrow ones stick: elsewhere those say the same.
  std::optional<MadQuestion> next() override {
    while (!more_.empty() || at_ < order_.size()) {
      Ask ask{.port = PortId(0)};
      if (more_.empty()) {
        ask.port = order_[at_++];
      } else {
        ask = more_.back();
        more_.pop_back();
      }
      if (const auto lid = lid_of(ask.port)) return question(ask, *lid);
    }
    return std::nullopt;
  }

  void answered(const MadQuestion& question, const MadAnswer& answer) override {
    if (answer.outcome != MadOutcome::answered) return;
    const PortId port(static_cast<std::uint32_t>(question.tag >> 2));
    switch (static_cast<What>(question.tag & 3)) {
      case What::narrow:
        return take_narrow(port, answer.data);
      case What::traffic:
        if (const auto counters = decode_extended_counters(answer.data)) wide_[port.value()] = *counters;
        return;
      case What::capability:
        if (const auto has = decode_has_wide_errors(answer.data); has && *has)
          more_.push_back({port, What::errors});
        return;
      case What::errors:
        if (const auto errors = decode_wide_errors(answer.data)) wide_errors_[port.value()] = *errors;
        return;
    }
  }

  /// The wide counters in place of the narrow ones, where a port has them.
  void finish() {
    for (const PortId port : order_) {
      auto& read = reading_.ports[port.value()];
      if (!read) ++reading_.unread;
      if (const auto found = wide_errors_.find(port.value()); read && found != wide_errors_.end()) {
        read->wide_errors = true;
        for (std::size_t i = 0; i < kIbCounters; ++i)
          if (!is_traffic(static_cast<IbCounter>(i))) read->values[i] = found->second[i];
      }
      if (!read || !wide_[port.value()]) continue;
      const ExtendedCounters& wide = *wide_[port.value()];
      read->wide = true;
      at(*read, IbCounter::xmit_data) = wide.xmit_data;
      at(*read, IbCounter::rcv_data) = wide.rcv_data;
      at(*read, IbCounter::xmit_packets) = wide.xmit_packets;
      at(*read, IbCounter::rcv_packets) = wide.rcv_packets;
    }
  }

 private:
  static constexpr std::uint32_t kStride = 67;  // more than the ports of a switch of today

  static std::uint64_t& at(PortReading& read, IbCounter counter) {
    return read.values[static_cast<std::size_t>(counter)];
  }

  enum class What : std::uint8_t { narrow, traffic, capability, errors };
  struct Ask {
    PortId port;
    What what = What::narrow;
  };

  static bool is_traffic(IbCounter counter) {
    return counter == IbCounter::xmit_data || counter == IbCounter::rcv_data ||
           counter == IbCounter::xmit_packets || counter == IbCounter::rcv_packets;
  }

  void take_narrow(PortId port, ByteSpan data) {
    const auto counters = decode_port_counters(data);
    if (!counters) return;
    reading_.ports[port.value()] = PortReading{.values = *counters};
    bool traffic = false, errors = false;
    for (std::size_t i = 0; i < kIbCounters; ++i) {
      const auto counter = static_cast<IbCounter>(i);
      if ((*counters)[i] >= classic_limit(counter)) (is_traffic(counter) ? traffic : errors) = true;
    }
    if (traffic) more_.push_back({port, What::traffic});
    if (errors) more_.push_back({port, What::capability});
  }

  static MadAttribute attribute_of(What what) {
    switch (what) {
      case What::narrow:
        return MadAttribute::port_counters;
      case What::capability:
        return MadAttribute::class_port_info;
      case What::traffic:
      case What::errors:
        break;
    }
    return MadAttribute::port_counters_extended;
  }

  MadQuestion question(const Ask& ask, Lid lid) const {
    return {.to = lid,
            .mad_class = MadClass::performance,
            .attribute = attribute_of(ask.what),
            .port = whole_.inventory.ports[ask.port.value()].hardware_port,
            .tag = std::uint64_t{ask.port.value()} << 2 | static_cast<std::uint64_t>(ask.what)};
  }

  std::optional<Lid> lid_of(PortId port) const {
    const NodeId node = whole_.fabric.port(port).node;
    const auto& lids = whole_.fabric.is_host(node) ? whole_.inventory.ports[port.value()].lids
                                                   : whole_.inventory.nodes[node.value()].lids;
    return lids ? std::optional(lids->base) : std::nullopt;
  }

  const InfinibandFabric& whole_;
  CounterReading& reading_;
  std::vector<std::optional<ExtendedCounters>> wide_;
  std::vector<PortId> order_;
  std::vector<Ask> more_;  // to ask before the next port
  std::map<std::uint32_t, IbCounters> wide_errors_;
  std::size_t at_ = 0;
};

}  // namespace

Result<CounterReading> read_counters(Mads& mads, const InfinibandFabric& fabric, const MadLimits& limits,
                                     std::stop_token stop) {
  CounterReading reading{.at = mads.now()};
  reading.ports.resize(fabric.fabric.port_count());
  CounterQuestions questions(fabric, reading);
  const auto tally = converse(mads, questions, limits, stop);
  if (!tally) return pass_on(tally, "reading the port counters");
  reading.tally = *tally;
  questions.finish();
  return reading;
}

}  // namespace weft
