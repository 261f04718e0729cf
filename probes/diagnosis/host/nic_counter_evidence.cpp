#include "probes/diagnosis/host/nic_counter_evidence.hpp"

#include <algorithm>
#include <array>
#include <iterator>

#include "topology/findings/link_signs.hpp"
#include "topology/model/fabric.hpp"

namespace weft::diagnosis {
namespace {

// A mark was put where a queue was long: oftenest before the NIC that was sent to, where many meet, but any
// switch on the way may have. Worth a question (a hypothesis, which load rounds settle), never a finding
// alone.
constexpr double kNatsOfMarks = 4;
// A damaged packet or two is what any machine sees, and one in 10^6 a healthy one.
constexpr std::uint64_t kFewDamaged = 2;
constexpr double kOddDamage = 1e-6;

/// A frame of 512 to 4,096 bytes lies in so many bits, and a symbol error behind the correction loses one.
constexpr CounterGain kFramesASymbol{12e3, 0.8};
/// A packet received with errors may have come whole (another size than it says).
constexpr CounterGain kFramesAPacket{1, 0.3};

constexpr std::array kLinkEvents{"link_error_recovery", "link_downed", "local_link_integrity_errors",
                                 "excessive_buffer_overrun_errors"};
/// The NIC was sent packets marked as having waited, and told their senders to slow down.
constexpr std::array kMarks{"np_ecn_marked_roce_packets", "np_cnp_sent"};

class Evidence {
 public:
  Evidence(const Fabric& fabric, const NicCounterSteps& nic) : fabric_(fabric), nic_(nic) {}

  NicEvidence run() {
    if (!fabric_.port(nic_.nic).link) return {};
    weigh_cable();
    weigh_damaged_packets();
    weigh_marks();
    weigh_unsent();
    return std::move(found_);
  }

 private:
  std::uint64_t grew(const char* counter) const { return nic_.grew(counter).value_or(0); }
  std::string said(const char* counter) const {
    return fmt::format("{} of {} ({}) grew by {} in {:.0f} s", counter, fabric_.name_of_nic(nic_.nic),
                       nic_.device, grew(counter), std::chrono::duration<double>(nic_.window).count());
  }
  void accuse(std::optional<ChannelId> channel, Cause cause, double nats, std::string text) {
    if (channel && nats > 0) found_.channels.push_back({*channel, cause, nats, std::move(text)});
  }

  void count(CounterKind kind, CounterGain gain, const char* counter, double exposure, bool link_event) {
    const auto into = fabric_.channel_into(nic_.nic);
    const auto errors = nic_.grew(counter);
    if (!into || !errors || exposure <= 0) return;
    found_.counts.push_back(
        {.channel = *into,
         .kind = kind,
         .errors = *errors,
         .exposure = exposure,
         .gain = gain,
         .end = nic_.window,
         .link_event = link_event,
         .source = fmt::format("{} of {} ({})", counter, fabric_.name_of_nic(nic_.nic), nic_.device)});
  }

  void weigh_cable() {
    const auto into = fabric_.channel_into(nic_.nic);
    const Bandwidth rate = fabric_.link(*fabric_.port(nic_.nic).link).rate;
    const bool event =
        std::ranges::any_of(kLinkEvents, [this](const char* counter) { return grew(counter) > 0; });
    const double bits = rate.bits_per_second() * std::chrono::duration<double>(nic_.window).count();
    count(CounterKind::symbols, kFramesASymbol, "symbol_error", bits, event);
    count(CounterKind::packets, kFramesAPacket, "port_rcv_errors",
          static_cast<double>(grew("port_rcv_packets")) + static_cast<double>(grew("port_rcv_errors")),
          event);
    for (const char* counter : kLinkEvents)
      accuse(into, Cause::counter, weigh_link_events(grew(counter), nic_.window), said(counter));
  }

  /// A wrong ICRC behind a right frame check: not this cable, but the memory of a switch or of the sender.
  void weigh_damaged_packets() {
    const auto damaged = grew("rx_icrc_encapsulated");
    const auto packets = static_cast<double>(grew("port_rcv_packets")) + static_cast<double>(damaged);
    if (damaged <= kFewDamaged || static_cast<double>(damaged) < kOddDamage * packets) return;
    found_.hosts.push_back({fabric_.port(nic_.nic).node, nic_.nic, Verdict::unknown, Cause::corruption,
                            said("rx_icrc_encapsulated") +
                                ": packets changed on their way to it, in the memory of a switch or a host"});
  }

  void weigh_marks() {
    for (const char* counter : kMarks) {
      if (grew(counter) == 0) continue;
      return accuse(fabric_.channel_into(nic_.nic), Cause::congestion, kNatsOfMarks, said(counter));
    }
  }

  void weigh_unsent() {
    const auto nats = weigh_waiting(grew("port_xmit_wait"), grew("port_xmit_data"));
    accuse(fabric_.channel_from(nic_.nic), Cause::congestion, nats, said("port_xmit_wait"));
  }

  const Fabric& fabric_;
  const NicCounterSteps& nic_;
  NicEvidence found_;
};

}  // namespace

NicEvidence nic_counter_evidence(const Fabric& fabric, const std::vector<NicCounterSteps>& nics) {
  NicEvidence all;
  for (const NicCounterSteps& nic : nics) {
    auto one = Evidence(fabric, nic).run();
    std::ranges::move(one.counts, std::back_inserter(all.counts));
    std::ranges::move(one.channels, std::back_inserter(all.channels));
    std::ranges::move(one.hosts, std::back_inserter(all.hosts));
  }
  return all;
}

}  // namespace weft::diagnosis
