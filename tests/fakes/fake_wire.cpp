#include "tests/fakes/fake_wire.hpp"

#include <algorithm>

namespace weft::testing {
namespace {

constexpr Nanoseconds kSendTime = std::chrono::microseconds(1);  // that a send takes for each frame

LocalNic nic_of(bool v6, std::uint8_t host) {
  return {.mac = {{2, 0, 0, 0, 0, host}},
          .address = *IpAddress::parse(fmt::format("{}{}", v6 ? "fd00::" : "10.0.0.", host)),
          .mtu = 9000};
}

}  // namespace

FakeWire::FakeWire(const RunSecrets& secrets, bool v6, std::size_t routers)
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

Result<SendOutcome> FakeWire::send(std::span<const ByteSpan> frames) {
  if (down) return fail(ErrorKind::absent, "the fake NIC is down");
  SendOutcome outcome;
  for (const auto frame : frames) {
    if (outcome.taken == queue_room) break;
    if (frame.size() > kEthernetSize + near_.mtu) {
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
  const auto ip = decode_ip(ByteSpan(frame).subspan(kEthernetSize));
  if (!ip) return;  // as a router would
  if (dead_end && ip->hop_limit >= *dead_end)
    return answer_from_router(frame, *dead_end, IcmpKind::unreachable);
  if (ip->hop_limit <= routers_) return answer_from_router(frame, ip->hop_limit, IcmpKind::time_exceeded);
  if (ip->bytes.size() > path_mtu) return;
  const auto there = now_ + hop_time * (routers_ + 1);
  Frame reply(frame.size());
  const auto size = responder_.take(frame, there, there + peer_busy, reply);
  if (size == 0) return;
  reply.resize(size);
  come_home(std::move(reply), there + peer_busy + hop_time * (routers_ + 1));
}

void FakeWire::answer_from_router(const Frame& frame, int hop, IcmpKind kind) {
  if (silent_hops.contains(hop)) return;
  const auto whole = ByteSpan(frame).subspan(kEthernetSize);
  const auto quoted = whole.first(std::min(whole.size(), v6_ ? 1232 : quote));
  Frame answer(kEthernetSize + ip_header_size(v6_) + kIcmpErrorSize + quoted.size());
  const auto out = MutableByteSpan(answer);
  const std::uint8_t code = kind == IcmpKind::unreachable ? dead_end_code : std::uint8_t{0};
  encode_ethernet({near_.mac, {{2, 0, 0, 0, 1, 1}}, v6_ ? kEtherTypeIpv6 : kEtherTypeIpv4}, out);
  const auto message = encode_icmp({.kind = kind, .code = code, .quoted = quoted}, router(hop), near_.address,
                                   out.subspan(kEthernetSize + ip_header_size(v6_)));
  if (v6_)
    encode_ipv6({.payload_length = static_cast<std::uint16_t>(message),
                 .protocol = kProtocolIcmpv6,
                 .hop_limit = 64,
                 .source = router(hop),
                 .destination = near_.address},
                out.subspan(kEthernetSize));
  else
    encode_ipv4({.total_length = static_cast<std::uint16_t>(kIpv4Size + message),
                 .ttl = 64,
                 .protocol = kProtocolIcmp,
                 .source = router(hop),
                 .destination = near_.address},
                out.subspan(kEthernetSize));
  come_home(std::move(answer), now_ + hop_time * hop * 2);
}

void FakeWire::come_home(Frame frame, Nanoseconds at) {
  for (auto& copy : homeward(std::move(frame))) coming_.emplace(at, std::move(copy));
}

Result<std::span<const Arrival>> FakeWire::receive(Nanoseconds until) {
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
  return std::span<const Arrival>(arrivals_);
}

Result<MacAddress> FakeWire::next_hop(const IpAddress& destination) {
  if (!reachable) return fail(ErrorKind::absent, "no route to {}", to_string(destination));
  return MacAddress{{2, 0, 0, 0, 1, 1}};
}

}  // namespace weft::testing
