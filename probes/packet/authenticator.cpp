#include "probes/packet/authenticator.hpp"

namespace weft::packet {
namespace {

constexpr std::uint64_t kMessageSize = kAuthenticatorAt + 16 + 16 + 2;  // and both addresses and the port

template <class Word, class Bytes>
Word word_at(const Bytes& bytes, std::size_t at) {
  Word word = 0;
  std::memcpy(&word, bytes.data() + at, sizeof word);
  return word;
}

/// Eight bytes of which four stand elsewhere than the others.
std::uint64_t joined(std::uint32_t first, std::uint32_t then) { return first | std::uint64_t{then} << 32; }

HeaderStart start_of(ProbeHeaderBytes header) {
  return {word_at<std::uint64_t>(header, 0), word_at<std::uint64_t>(header, 8),
          word_at<std::uint64_t>(header, 16)};
}

SipHash hash_behind(SipHash hash, const HeaderStart& start) {
  hash.add(start.first);
  hash.add(start.second);
  hash.add(start.third);
  return hash;
}

/// Goes on from `hash`, which is of the header's start. Inlined: a call would store and load the state.
[[gnu::always_inline]] inline std::uint64_t rest_of(SipHash hash, ProbeHeaderBytes header,
                                                    const IpAddress& source, const IpAddress& destination,
                                                    UdpPort source_port) {
  const auto &from = source.bytes(), &to = destination.bytes();
  hash.add(word_at<std::uint64_t>(header, 24));
  hash.add(word_at<std::uint64_t>(header, 32));
  hash.add(joined(word_at<std::uint32_t>(header, 40), word_at<std::uint32_t>(from, 0)));
  hash.add(word_at<std::uint64_t>(from, 4));
  hash.add(joined(word_at<std::uint32_t>(from, 12), word_at<std::uint32_t>(to, 0)));
  hash.add(word_at<std::uint64_t>(to, 4));
  const std::uint64_t port = __builtin_bswap16(source_port.value());
  return hash.end(word_at<std::uint32_t>(to, 12) | port << 32 | kMessageSize << 56);
}

/// Which of the kept ones it would be: by the low bytes of back label and NIC, and by its kind.
std::size_t place_of(const HeaderStart& start) {
  return start.first >> 56 ^ start.third >> 56 ^ start.first >> 40 << 4;
}

}  // namespace

Authenticator::Authenticator(const RunKey& key)
    : of_nothing_(key), starts_(kStarts, {.start = {}, .hash = hash_behind(of_nothing_, {})}) {}

inline const SipHash& Authenticator::behind(const HeaderStart& start) {
  Kept& kept = starts_[place_of(start) % kStarts];
  if (kept.start != start) kept = {start, hash_behind(of_nothing_, start)};
  return kept.hash;
}

std::uint64_t Authenticator::of(ProbeHeaderBytes header, const IpAddress& source,
                                const IpAddress& destination, UdpPort source_port) {
  return rest_of(behind(start_of(header)), header, source, destination, source_port);
}

std::uint64_t authenticator_of(ProbeHeaderBytes header, const IpAddress& source, const IpAddress& destination,
                               UdpPort source_port, const RunKey& key) {
  return rest_of(hash_behind(SipHash(key), start_of(header)), header, source, destination, source_port);
}

}  // namespace weft::packet
