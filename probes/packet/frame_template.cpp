#include "probes/packet/frame_template.hpp"

#include <libdeflate.h>

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

std::uint64_t word_of(const std::uint8_t* bytes, std::size_t size) {
  std::uint64_t word = 0;
  std::memcpy(&word, bytes, size);
  return word;
}

}  // namespace

FrameTemplate::Way FrameTemplate::way_of(const ProbeRoute& route) {
  const auto *from = route.from.bytes().data(), *to = route.to.bytes().data();
  return {word_of(from, 8),
          word_of(from + 8, 8),
          word_of(to, 8),
          word_of(to + 8, 8),
          word_of(route.from_mac.bytes.data(), 6) | std::uint64_t{route.traffic_class} << 48 |
              std::uint64_t{route.to.is_v6()} << 56,
          word_of(route.to_mac.bytes.data(), 6),
          route.queue_pair.value() | std::uint64_t{route.flow_label} << 32};
}

bool FrameTemplate::is_of(const ProbeRoute& route, std::size_t ip_size) const {
  const Way way = way_of(route);
  const auto same = [&](std::size_t i) { return way[i] == way_[i]; };
  return frame_.size() == kEthernetSize + ip_size && same(0) && same(1) && same(2) && same(3) && same(4) &&
         same(5) && same(6);
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
  masked_.resize(kPseudoLrh + copied);
  std::memcpy(masked_.data() + kPseudoLrh, ip.data(), copied);
  mask_for_icrc(masked_, ip_header_size(v6));
}

/// IP, UDP and BTH, in the frame and in what the ICRC is of.
void FrameTemplate::write_headers(const ProbeRoute& route, std::uint32_t psn) {
  const bool v6 = route.to.is_v6();
  const auto ip = MutableByteSpan(frame_).subspan(kEthernetSize);
  const auto masked = MutableByteSpan(masked_).subspan(kPseudoLrh);
  const auto headers = probe_payload_offset(v6);
  WEFT_CHECK(ip.size() >= headers && masked.size() >= headers);
  const auto front = ip.first<kIpv4Size>();
  if (v6) {
    store_u8(front, kHopLimit6, route.hop_limit);
  } else {
    store_be16(front, kIdentification, route.identification);
    store_be16(masked.first<kIpv4Size>(), kIdentification, route.identification);
    store_u8(front, kTtl, route.hop_limit);
    store_be16(front, kChecksum,
               checksum_fold(ip_sum_ + route.identification + (std::uint64_t{route.hop_limit} << 8)));
  }
  for (const auto all : {ip, masked}) {
    const auto transport = all.subspan(ip_header_size(v6)).first<kUdpSize + kBthSize>();
    store_be16(transport, 0, route.label.value());
    store_be24(transport, kUdpSize + kPsn, psn);
  }
}

std::uint32_t FrameTemplate::icrc() const {
  const auto crc = libdeflate_crc32(0, masked_.data(), masked_.size());
  return tail_ ? (*tail_)(crc) : crc;
}

ByteSpan FrameTemplate::write(const ProbeRoute& route, const ProbeHeader& header, const RunKey& key,
                              std::uint32_t first, std::size_t ip_size) {
  if (!is_of(route, ip_size)) prepare(route, ip_size);
  write_headers(route, (first + header.sequence) & 0xFFFFFF);
  const auto at = probe_payload_offset(route.to.is_v6());
  const auto payload = MutableByteSpan(frame_).subspan(kEthernetSize + at, kProbeHeaderSize);
  encode_probe_header(header, {route.from, route.to, route.label}, key, payload);
  WEFT_CHECK(masked_.size() >= kPseudoLrh + at + kProbeHeaderSize);
  std::memcpy(masked_.data() + kPseudoLrh + at, payload.data(), kProbeHeaderSize);
  store_icrc(frame_, icrc());
  return frame_;
}

}  // namespace weft::packet
