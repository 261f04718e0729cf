#include "probes/packet/frame_template.hpp"

#include <algorithm>
#include <cstring>

namespace weft::packet {
namespace {

// Zeros up to this many are cheaper to run over than to multiply for (32 steps of five instructions).
constexpr std::size_t kShortTail = 128;

// Offsets in an IP packet: RFC 791, 3.1 and RFC 8200, 3; in BTH: bth.cpp.
constexpr std::size_t kIdentification = 4;
constexpr std::size_t kTtl = 8;
constexpr std::size_t kChecksum = 10;
constexpr std::size_t kHopLimit6 = 7;
constexpr std::size_t kPsn = 9;

template <class Word>
std::uint64_t word_of(const std::uint8_t* bytes) {
  Word word = 0;
  std::memcpy(&word, bytes, sizeof word);
  return word;
}
std::uint64_t word_of(const MacAddress& mac) {
  return word_of<std::uint32_t>(mac.bytes.data()) | word_of<std::uint16_t>(mac.bytes.data() + 4) << 32;
}

}  // namespace

inline FrameTemplate::Way FrameTemplate::way_of(const ProbeRoute& route) {
  using Word = std::uint64_t;
  const auto *from = route.from.bytes().data(), *to = route.to.bytes().data();
  return {word_of<Word>(from),
          word_of<Word>(from + 8),
          word_of<Word>(to),
          word_of<Word>(to + 8),
          word_of(route.from_mac) | Word{route.traffic_class} << 48 | Word{route.to.is_v6()} << 56,
          word_of(route.to_mac),
          route.queue_pair.value() | Word{route.flow_label} << 32};
}

inline bool FrameTemplate::is_of(const ProbeRoute& route, std::size_t ip_size) const {
  const Way way = way_of(route);
  const auto other = [&](std::size_t i) { return way[i] ^ way_[i]; };
  return (other(0) | other(1) | other(2) | other(3) | other(4) | other(5) | other(6)) == 0 &&
         frame_.size() == kEthernetSize + ip_size;
}

/// Writes what all frames of this way and size share.
void FrameTemplate::prepare(const ProbeRoute& route, std::size_t ip_size) {
  const bool v6 = route.to.is_v6();
  way_ = way_of(route);
  auto shared = route;
  shared.identification = 0;
  shared.hop_limit = 0;
  frame_.assign(kEthernetSize + ip_size, std::byte{0});
  encode_probe_frame(shared, {}, {}, ip_size, frame_);
  const auto ip = MutableByteSpan(frame_).subspan(kEthernetSize);
  if (!v6) {
    store_be16(ip, kChecksum, 0);
    ip_sum_ = checksum_add(ip.first(kIpv4Size));
  }

  const auto hashed = ip_size - kIcrcSize;
  const auto headers = probe_payload_offset(v6) + kProbeHeaderSize;
  const auto copied = hashed - headers <= kShortTail ? hashed : headers;
  tail_ = hashed > copied ? std::optional(ZeroTail(hashed - copied)) : std::nullopt;
  masked_.resize(copied);
  std::memcpy(masked_.data(), ip.data(), copied);
  mask_for_icrc(masked_, ip_header_size(v6));
}

/// What is not shared, in the frame and in what the ICRC is of.
template <bool v6>
void FrameTemplate::fill(const ProbeRoute& route, const ProbeHeader& header, Authenticator& authenticator,
                         std::uint32_t psn) {
  constexpr std::size_t udp = ip_header_size(v6), probe = probe_payload_offset(v6);
  constexpr std::size_t kFilled = probe + kProbeHeaderSize;
  WEFT_CHECK(frame_.size() >= kEthernetSize + kFilled && masked_.size() >= kFilled);
  const std::span<std::byte, kFilled> ip(frame_.data() + kEthernetSize, kFilled);
  const std::span<std::byte, kFilled> masked(masked_.data(), kFilled);
  if constexpr (v6) {
    store_u8(ip, kHopLimit6, route.hop_limit);
  } else {
    store_be16(ip, kIdentification, route.identification);
    store_be16(masked, kIdentification, route.identification);
    store_u8(ip, kTtl, route.hop_limit);
    store_be16(ip, kChecksum,
               checksum_fold(ip_sum_ + route.identification + (std::uint64_t{route.hop_limit} << 8)));
  }
  for (const auto all : {ip, masked}) {
    store_be16(all, udp, route.label.value());
    store_be24(all, udp + kUdpSize + kPsn, psn);
  }
  const auto payload = ip.template subspan<probe, kProbeHeaderSize>();
  store_probe_header(header, payload);
  store_authenticator(payload, authenticator.of(payload, route.from, route.to, route.label));
  std::memcpy(masked.data() + probe, payload.data(), kProbeHeaderSize);
  const auto crc = icrc_of_masked(masked_);
  store_icrc(frame_, tail_ ? (*tail_)(crc) : crc);
}

ByteSpan FrameTemplate::write(const ProbeRoute& route, const ProbeHeader& header,
                              Authenticator& authenticator, std::uint32_t first, std::size_t ip_size) {
  if (!is_of(route, ip_size)) prepare(route, ip_size);
  const auto psn = (first + header.sequence) & 0xFFFFFF;
  if (route.to.is_v6())
    fill<true>(route, header, authenticator, psn);
  else
    fill<false>(route, header, authenticator, psn);
  return frame_;
}

}  // namespace weft::packet
