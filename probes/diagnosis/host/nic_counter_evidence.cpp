#include "probes/diagnosis/host/nic_counter_evidence.hpp"

#include <algorithm>
#include <array>
#include <iterator>

#include "topology/findings/codewords.hpp"
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

/// Beside what its RDMA device counts, a NIC tells of its port by the names of weft (docs/counters.md). What
/// both tell of the same errors is one count: that whose meaning a standard has.
constexpr const char* kCodewords = "fec_codewords";
constexpr const char* kUncorrectable = "fec_uncorrectable";
constexpr const char* kBadFrames = "fcs_errors";
constexpr const char* kFrames = "frames_in";
constexpr const char* kCarrier = "link_events";

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

  double of_all(const char* good, const char* bad) const {
    return static_cast<double>(grew(good)) + static_cast<double>(grew(bad));
  }

  /// Where they are not counted, those of the link's rate; of a NIC for which nothing moved, none: its
  /// counters may stand still.
  double codewords(double bits) const {
    if (nic_.grew(kCodewords)) return static_cast<double>(grew(kCodewords));
    return grew(kFrames) > 0 || grew(kUncorrectable) > 0 ? bits / kBitsOfCodeword : 0;
  }

  void weigh_cable() {
    const auto into = fabric_.channel_into(nic_.nic);
    const Bandwidth rate = fabric_.link(*fabric_.port(nic_.nic).link).rate;
    const bool event = grew(kCarrier) > 0 || std::ranges::any_of(kLinkEvents, [this](const char* counter) {
                         return grew(counter) > 0;
                       });
    const double bits = rate.bits_per_second() * std::chrono::duration<double>(nic_.window).count();
    if (nic_.grew(kUncorrectable))
      count(CounterKind::codewords, kCodewordGain, kUncorrectable, codewords(bits), event);
    else
      count(CounterKind::symbols, kFramesASymbol, "symbol_error", bits, event);
    if (nic_.grew(kBadFrames))
      count(CounterKind::frames, {}, kBadFrames, of_all(kFrames, kBadFrames), event);
    else
      count(CounterKind::packets, kFramesAPacket, "port_rcv_errors",
            of_all("port_rcv_packets", "port_rcv_errors"), event);
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
