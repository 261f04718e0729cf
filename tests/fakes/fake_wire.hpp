// FakeWire: a fabric of one path on a virtual clock: a prober's PacketPort (and NextHops) whose frames cross
// a chain of routers to a Responder. It drops, delays, damages, doubles and cuts frames as it is told;
// routers may be silent or quote little; a hop may have a small MTU; the NIC may go down. Time passes only
// when the prober sends or waits.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "probes/datapath/packet_port.hpp"
#include "probes/datapath/responder.hpp"
#include "probes/packet/icmp.hpp"

namespace weft::fakes {

using Frame = std::vector<std::byte>;
using Frames = std::vector<Frame>;

class FakeWire : public datapath::PacketPort, public datapath::NextHops {
 public:
  FakeWire(const packet::RunSecrets& secrets, bool v6, std::size_t routers);

  // What the fabric does. Change at will between calls, or from the hooks.
  std::set<int> silent_hops;          // from 1: these routers do not answer
  std::optional<int> dead_end;        // the router of this hop knows no way on, and says so
  std::uint8_t dead_end_code = 0;     // of its ICMP "unreachable": no route, in both families
  std::size_t quote = 1024;           // bytes that a router quotes of an IPv4 packet
  std::size_t path_mtu = 9000;        // larger packets vanish behind the first router
  std::size_t queue_room = SIZE_MAX;  // frames one send takes
  bool down = false;                  // the NIC: send and receive fail
  std::uint64_t unread = 0;           // frames that this host dropped since it last said
  bool reachable = true;              // a next hop is found
  Nanoseconds hop_time = std::chrono::microseconds(10);   // one way over one hop
  Nanoseconds peer_busy = std::chrono::microseconds(50);  // from receipt at the peer to its echo
  /// What becomes of a frame on its way out, and of one on its way back: itself, several, none.
  std::function<Frames(Frame)> outward = [](Frame frame) { return Frames{std::move(frame)}; };
  std::function<Frames(Frame)> homeward = [](Frame frame) { return Frames{std::move(frame)}; };

  /// What the far end makes of a frame (as Responder::take); responder() unless it is given another one.
  std::function<std::size_t(ByteSpan frame, Nanoseconds at, Nanoseconds now, MutableByteSpan reply)> far_end =
      [this](ByteSpan frame, Nanoseconds at, Nanoseconds now, MutableByteSpan reply) {
        packet::FrameTemplate answer;
        const auto bytes = responder_.take(frame, at, now, answer);
        std::ranges::copy(bytes, reply.begin());
        return bytes.size();
      };

  const datapath::LocalNic& nic() const { return near_; }
  const datapath::LocalNic& peer_nic() const { return far_; }
  IpAddress router(int hop) const;
  datapath::Responder& responder() { return responder_; }
  /// Every frame sent, as it left.
  const Frames& sent() const { return sent_; }
  /// Time in which nobody sends or looks.
  void let_pass(Nanoseconds time) { now_ += time; }
  /// Lets a frame arrive at the prober after `delay`.
  void inject(Frame frame, Nanoseconds delay);

  Nanoseconds now() const override { return now_; }
  Result<datapath::SendOutcome> send(std::span<const ByteSpan> frames) override;
  Result<std::span<const datapath::Arrival>> receive(Nanoseconds until) override;
  std::uint64_t overruns() override { return std::exchange(unread, 0); }
  Result<packet::MacAddress> next_hop(const IpAddress& destination) override;

 private:
  void travel(const Frame& frame);
  void answer_from_router(const Frame& frame, int hop, packet::IcmpKind kind);
  void come_home(Frame frame, Nanoseconds at);

  bool v6_;
  std::size_t routers_;
  datapath::LocalNic near_;
  datapath::LocalNic far_;
  packet::RunSecrets secrets_;
  datapath::RunNics nics_;  // the prober is NIC 1
  datapath::Responder responder_;
  Nanoseconds now_ = std::chrono::seconds(1000);
  std::multimap<Nanoseconds, Frame> coming_;
  Frames handed_;
  std::vector<datapath::Arrival> arrivals_;
  Frames sent_;
};

}  // namespace weft::fakes
