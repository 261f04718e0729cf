#include "collectors/counters/counter_reading.hpp"

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
    while (!sticking_.empty() || at_ < order_.size()) {
      const bool wide = !sticking_.empty();
      const PortId port = wide ? sticking_.back() : order_[at_];
      if (wide)
        sticking_.pop_back();
      else
        ++at_;
      if (const auto lid = lid_of(port)) return question(port, *lid, wide);
    }
    return std::nullopt;
  }

  void answered(const MadQuestion& question, const MadAnswer& answer) override {
    if (answer.outcome != MadOutcome::answered) return;
    const auto port = static_cast<std::uint32_t>(question.tag >> 1);
    if ((question.tag & 1) != 0) {
      if (const auto counters = decode_extended_counters(answer.data)) wide_[port] = *counters;
    } else if (const auto counters = decode_port_counters(answer.data)) {
      reading_.ports[port] = PortReading{.values = *counters};
      if (sticks(*counters)) sticking_.emplace_back(port);
    }
  }

  /// The wide counters in place of the narrow ones, where a port has them.
  void finish() {
    for (const PortId port : order_) {
      auto& read = reading_.ports[port.value()];
      if (!read) ++reading_.unread;
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

  static bool sticks(const IbCounters& counters) {
    for (const auto counter :
         {IbCounter::xmit_data, IbCounter::rcv_data, IbCounter::xmit_packets, IbCounter::rcv_packets})
      if (counters[static_cast<std::size_t>(counter)] >= classic_limit(counter)) return true;
    return false;
  }

  MadQuestion question(PortId port, Lid lid, bool wide) const {
    return {.to = lid,
            .mad_class = MadClass::performance,
            .attribute = wide ? MadAttribute::port_counters_extended : MadAttribute::port_counters,
            .port = whole_.inventory.ports[port.value()].hardware_port,
            .tag = std::uint64_t{port.value()} << 1 | (wide ? 1U : 0U)};
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
  std::vector<PortId> sticking_;
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
