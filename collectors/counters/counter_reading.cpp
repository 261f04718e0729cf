#include "collectors/counters/counter_reading.hpp"

#include <map>

#include "topology/model/fabric.hpp"

namespace weft::counters {
namespace {

class CounterQuestions : public mad::MadDialogue {
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
  std::optional<mad::MadQuestion> next() override {
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

  void answered(const mad::MadQuestion& question, const mad::MadAnswer& answer) override {
    if (answer.outcome != mad::MadOutcome::answered) return unanswered(question, answer);
    const PortId port(static_cast<std::uint32_t>(question.tag >> kWhatBits));
    const auto what = static_cast<What>(question.tag & ((1U << kWhatBits) - 1));
    switch (what) {
      case What::narrow:
        return take_narrow(port, answer.data);
      case What::traffic:
        if (const auto counters = mad::decode_extended_counters(answer.data)) wide_[port.value()] = *counters;
        return;
      case What::capability:
        if (const auto has = mad::decode_has_wide_errors(answer.data); has && *has)
          more_.push_back({port, What::errors});
        return;
      case What::errors:
        if (const auto errors = mad::decode_wide_errors(answer.data)) wide_errors_[port.value()] = *errors;
        return;
      case What::fec_mode:
        if (const auto mode = mad::decode_fec_mode(answer.data))
          more_.push_back({port, *mode == mad::FecMode::over_port ? What::fec_over_port : What::fec_by_lane});
        return;
      case What::fec_by_lane:
      case What::fec_over_port:
        if (const auto fec = decode_fec_counters(
                answer.data, what == What::fec_over_port ? mad::FecMode::over_port : mad::FecMode::by_lane))
          reading_.ports[port.value()]->fec = *fec;
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
        for (std::size_t i = 0; i < mad::kIbCounters; ++i)
          if (!is_traffic(static_cast<mad::IbCounter>(i))) read->values[i] = found->second[i];
      }
      if (!read || !wide_[port.value()]) continue;
      const mad::ExtendedCounters& wide = *wide_[port.value()];
      read->wide = true;
      at(*read, mad::IbCounter::xmit_data) = wide.xmit_data;
      at(*read, mad::IbCounter::rcv_data) = wide.rcv_data;
      at(*read, mad::IbCounter::xmit_packets) = wide.xmit_packets;
      at(*read, mad::IbCounter::rcv_packets) = wide.rcv_packets;
    }
  }

 private:
  static constexpr std::uint32_t kStride = 67;  // more than the ports of a switch of today

  static std::uint64_t& at(PortReading& read, mad::IbCounter counter) {
    return read.values[static_cast<std::size_t>(counter)];
  }

  enum class What : std::uint8_t {
    narrow,
    traffic,
    capability,
    errors,
    fec_mode,
    fec_by_lane,
    fec_over_port
  };
  static constexpr unsigned kWhatBits = 3;
  struct Ask {
    PortId port;
    What what = What::narrow;
  };

  static bool is_traffic(mad::IbCounter counter) {
    return counter == mad::IbCounter::xmit_data || counter == mad::IbCounter::rcv_data ||
           counter == mad::IbCounter::xmit_packets || counter == mad::IbCounter::rcv_packets;
  }

  /// A node without PortInfoExtended has its counters by lane.
  void unanswered(const mad::MadQuestion& question, const mad::MadAnswer& answer) {
    const PortId port(static_cast<std::uint32_t>(question.tag >> kWhatBits));
    const auto what = static_cast<What>(question.tag & ((1U << kWhatBits) - 1));
    if (what == What::fec_mode && answer.outcome == mad::MadOutcome::refused)
      more_.push_back({port, What::fec_by_lane});
  }

  /// FDR and faster have forward error correction; it is asked where the cable already made itself noticed:
  /// of all ports it would double the questions.
  bool wants_fec(PortId port, const mad::IbCounters& counters) const {
    const auto& speed = whole_.inventory.ports[port.value()].speed;
    if (!speed || *speed < LinkSpeed::fdr) return false;
    for (const auto counter :
         {mad::IbCounter::symbol_error, mad::IbCounter::link_error_recovery, mad::IbCounter::link_downed,
          mad::IbCounter::rcv_errors, mad::IbCounter::local_link_integrity})
      if (counters[static_cast<std::size_t>(counter)] > 0) return true;
    return false;
  }

  void take_narrow(PortId port, ByteSpan data) {
    const auto counters = mad::decode_port_counters(data);
    if (!counters) return;
    reading_.ports[port.value()] = PortReading{.values = *counters};
    bool traffic = false, errors = false;
    for (std::size_t i = 0; i < mad::kIbCounters; ++i) {
      const auto counter = static_cast<mad::IbCounter>(i);
      if ((*counters)[i] >= classic_limit(counter)) (is_traffic(counter) ? traffic : errors) = true;
    }
    if (traffic) more_.push_back({port, What::traffic});
    if (errors) more_.push_back({port, What::capability});
    if (wants_fec(port, *counters)) more_.push_back({port, What::fec_mode});
  }

  static mad::MadAttribute attribute_of(What what) {
    switch (what) {
      case What::narrow:
        return mad::MadAttribute::port_counters;
      case What::capability:
        return mad::MadAttribute::class_port_info;
      case What::fec_mode:
        return mad::MadAttribute::port_info_extended;
      case What::fec_by_lane:
      case What::fec_over_port:
        return mad::MadAttribute::port_extended_speeds;
      case What::traffic:
      case What::errors:
        break;
    }
    return mad::MadAttribute::port_counters_extended;
  }

  mad::MadQuestion question(const Ask& ask, Lid lid) const {
    const auto port = whole_.inventory.ports[ask.port.value()].hardware_port;
    return {.to = lid,
            .mad_class = ask.what == What::fec_mode ? mad::MadClass::subnet : mad::MadClass::performance,
            .attribute = attribute_of(ask.what),
            .modifier = ask.what == What::fec_mode ? port : 0U,
            .port = port,
            .tag = std::uint64_t{ask.port.value()} << kWhatBits | static_cast<std::uint64_t>(ask.what)};
  }

  std::optional<Lid> lid_of(PortId port) const {
    const NodeId node = whole_.fabric.port(port).node;
    const auto& lids = whole_.fabric.is_host(node) ? whole_.inventory.ports[port.value()].lids
                                                   : whole_.inventory.nodes[node.value()].lids;
    return lids ? std::optional(lids->base) : std::nullopt;
  }

  const InfinibandFabric& whole_;
  CounterReading& reading_;
  std::vector<std::optional<mad::ExtendedCounters>> wide_;
  std::vector<PortId> order_;
  std::vector<Ask> more_;  // to ask before the next port
  std::map<std::uint32_t, mad::IbCounters> wide_errors_;
  std::size_t at_ = 0;
};

}  // namespace

Result<CounterReading> read_counters(mad::Mads& mads, const InfinibandFabric& fabric,
                                     const mad::MadLimits& limits, std::stop_token stop) {
  CounterReading reading{.at = mads.now()};
  reading.ports.resize(fabric.fabric.port_count());
  CounterQuestions questions(fabric, reading);
  const auto tally = converse(mads, questions, limits, stop);
  if (!tally) return pass_on(tally, "reading the port counters");
  reading.tally = *tally;
  questions.finish();
  return reading;
}

}  // namespace weft::counters
