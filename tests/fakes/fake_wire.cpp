#include "tests/fakes/fake_wire.hpp"

#include <algorithm>

namespace weft::fakes {
namespace {

constexpr Nanoseconds kSendTime = std::chrono::microseconds(1);  // that a send takes for each frame

datapath::LocalNic nic_of(bool v6, std::uint8_t host) {
  return {.mac = {{2, 0, 0, 0, 0, host}},
          .address = *IpAddress::parse(fmt::format("{}{}", v6 ? "fd00::" : "10.0.0.", host)),
          .mtu = 9000};
}

}  // namespace

FakeWire::FakeWire(const packet::RunSecrets& secrets, bool v6, std::size_t routers)
    : v6_(v6),
      routers_(routers),
      near_(nic_of(v6, 1)),
      far_(nic_of(v6, 2)),
      secrets_(secrets),
      nics_({{PortId(1), near_.address}, {PortId(2), far_.address}}),
      responder_(far_, secrets_, nics_) {}

IpAddress FakeWire::router(int hop) const {
  return *IpAddress::parse(fmt::format("{}{}", v6_ ? "fd00:1::" : "10.0.1.", hop));
}

void FakeWire::inject(Frame frame, Nanoseconds delay) { coming_.emplace(now_ + delay, std::move(frame)); }

Result<datapath::SendOutcome> FakeWire::send(std::span<const ByteSpan> frames) {
  if (down) return fail(ErrorKind::absent, "the fake NIC is down");
  datapath::SendOutcome outcome;
  for (const auto frame : frames) {
    if (outcome.taken == queue_room) break;
    if (frame.size() > packet::kEthernetSize + near_.mtu) {
      outcome.too_large = true;
      break;
    }
    ++outcome.taken;
    now_ += kSendTime;
    sent_.emplace_back(frame.begin(), frame.end());
    for (const auto& copy : outward(sent_.back())) travel(copy);
  }
  return outcome;
}

void FakeWire::travel(const Frame& frame) {
  const auto ip = packet::decode_ip(ByteSpan(frame).subspan(packet::kEthernetSize));
  if (!ip) return;  // as a router would
  if (dead_end && ip->hop_limit >= *dead_end)
    return answer_from_router(frame, *dead_end, packet::IcmpKind::unreachable);
  if (ip->hop_limit <= routers_)
    return answer_from_router(frame, ip->hop_limit, packet::IcmpKind::time_exceeded);
  if (ip->bytes.size() > path_mtu) return;
  const auto there = now_ + hop_time * (routers_ + 1);
  Frame reply(frame.size());
  const auto size = far_end(frame, there, there + peer_busy, reply);
  if (size == 0) return;
  reply.resize(size);
  come_home(std::move(reply), there + peer_busy + hop_time * (routers_ + 1));
}

void FakeWire::answer_from_router(const Frame& frame, int hop, packet::IcmpKind kind) {
  if (silent_hops.contains(hop)) return;
  const auto whole = ByteSpan(frame).subspan(packet::kEthernetSize);
  const auto quoted = whole.first(std::min(whole.size(), v6_ ? 1232 : quote));
  Frame answer(packet::kEthernetSize + packet::ip_header_size(v6_) + packet::kIcmpErrorSize + quoted.size());
  const auto out = MutableByteSpan(answer);
  const std::uint8_t code = kind == packet::IcmpKind::unreachable ? dead_end_code : std::uint8_t{0};
  packet::encode_ethernet(
      {near_.mac, {{2, 0, 0, 0, 1, 1}}, v6_ ? packet::kEtherTypeIpv6 : packet::kEtherTypeIpv4}, out);
  const auto message =
      packet::encode_icmp({.kind = kind, .code = code, .quoted = quoted}, router(hop), near_.address,
                          out.subspan(packet::kEthernetSize + packet::ip_header_size(v6_)));
  if (v6_)
    packet::encode_ipv6({.payload_length = static_cast<std::uint16_t>(message),
                         .protocol = packet::kProtocolIcmpv6,
                         .hop_limit = 64,
                         .source = router(hop),
                         .destination = near_.address},
                        out.subspan(packet::kEthernetSize));
  else
    packet::encode_ipv4({.total_length = static_cast<std::uint16_t>(packet::kIpv4Size + message),
                         .ttl = 64,
                         .protocol = packet::kProtocolIcmp,
                         .source = router(hop),
                         .destination = near_.address},
                        out.subspan(packet::kEthernetSize));
  come_home(std::move(answer), now_ + hop_time * hop * 2);
}

void FakeWire::come_home(Frame frame, Nanoseconds at) {
  for (auto& copy : homeward(std::move(frame))) coming_.emplace(at, std::move(copy));
}

Result<std::span<const datapath::Arrival>> FakeWire::receive(Nanoseconds until) {
  if (down) return fail(ErrorKind::absent, "the fake NIC is down");
  if (coming_.empty() || coming_.begin()->first > now_)
    now_ = std::max(now_, coming_.empty() ? until : std::min(until, coming_.begin()->first));
  handed_.clear();
  arrivals_.clear();
  std::vector<Nanoseconds> times;
  while (!coming_.empty() && coming_.begin()->first <= now_) {
    times.push_back(coming_.begin()->first);
    handed_.push_back(std::move(coming_.begin()->second));
    coming_.erase(coming_.begin());
  }
  for (std::size_t i = 0; i < handed_.size(); ++i) arrivals_.push_back({handed_[i], times[i]});
  return std::span<const datapath::Arrival>(arrivals_);
}

Result<packet::MacAddress> FakeWire::next_hop(const IpAddress& destination) {
  if (!reachable) return fail(ErrorKind::absent, "no route to {}", to_string(destination));
  return packet::MacAddress{{2, 0, 0, 0, 1, 1}};
}

}  // namespace weft::fakes
