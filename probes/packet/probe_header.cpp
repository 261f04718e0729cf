#include "probes/packet/probe_header.hpp"

#include <sodium.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

namespace weft {
namespace {

constexpr std::uint32_t kMagic = 0x57454654;  // "WEFT"
constexpr std::uint8_t kVersion = 1;
constexpr std::size_t kAuthenticated = 44;  // bytes of the header that stand before the authenticator
constexpr std::size_t kEnvelopeSize = 34;

using Authenticator = std::array<std::byte, crypto_shorthash_BYTES>;
static_assert(kAuthenticated + crypto_shorthash_BYTES == kProbeHeaderSize);
static_assert(sizeof(RunKey) == crypto_shorthash_KEYBYTES);

Authenticator hash_of(ByteSpan input, const RunKey& key) {
  Authenticator out;
  crypto_shorthash(reinterpret_cast<unsigned char*>(out.data()),
                   reinterpret_cast<const unsigned char*>(input.data()), input.size(),
                   reinterpret_cast<const unsigned char*>(key.data()));
  return out;
}

Authenticator authenticator_of(ByteSpan header, const ProbeEnvelope& envelope, const RunKey& key) {
  std::array<std::byte, kAuthenticated + kEnvelopeSize> input;
  std::memcpy(input.data(), header.first(kAuthenticated).data(), kAuthenticated);
  std::memcpy(input.data() + kAuthenticated, envelope.source.bytes().data(), 16);
  std::memcpy(input.data() + kAuthenticated + 16, envelope.destination.bytes().data(), 16);
  store_be16(input, kAuthenticated + 32, envelope.source_port.value());
  return hash_of(input, key);
}

std::uint32_t clamp_turnaround(Nanoseconds turnaround) {
  constexpr std::int64_t most = std::numeric_limits<std::uint32_t>::max();
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(turnaround.count(), 0, most));
}

}  // namespace

Result<ProbeHeader> decode_probe_header(ByteSpan payload) {
  if (auto enough = need_bytes(payload, kProbeHeaderSize, "probe header"); !enough) return pass_on(enough);
  if (load_be32(payload, 0) != kMagic || load_u8(payload, 4) != kVersion)
    return fail(ErrorKind::invalid_input, "no probe header of version {}", kVersion);
  const auto kind = load_u8(payload, 5);
  if (kind < 1 || kind > 4) return fail(ErrorKind::invalid_input, "probe of unknown kind {}", kind);
  return ProbeHeader{.kind = static_cast<ProbeKind>(kind),
                     .back_label = UdpPort(load_be16(payload, 6)),
                     .run = RunId(load_be64(payload, 8)),
                     .batch = BatchId(load_be32(payload, 16)),
                     .nic = PortId(load_be32(payload, 20)),
                     .spec = load_be32(payload, 24),
                     .sequence = load_be32(payload, 28),
                     .sent_at = Nanoseconds(static_cast<std::int64_t>(load_be64(payload, 32))),
                     .turnaround = Nanoseconds(load_be32(payload, 40))};
}

void encode_probe_header(const ProbeHeader& header, const ProbeEnvelope& envelope, const RunKey& key,
                         MutableByteSpan out) {
  store_be32(out, 0, kMagic);
  store_u8(out, 4, kVersion);
  store_u8(out, 5, static_cast<std::uint8_t>(header.kind));
  store_be16(out, 6, header.back_label.value());
  store_be64(out, 8, header.run.value());
  store_be32(out, 16, header.batch.value());
  store_be32(out, 20, header.nic.value());
  store_be32(out, 24, header.spec);
  store_be32(out, 28, header.sequence);
  store_be64(out, 32, static_cast<std::uint64_t>(header.sent_at.count()));
  store_be32(out, 40, clamp_turnaround(header.turnaround));
  const auto authenticator = authenticator_of(out, envelope, key);
  std::memcpy(out.subspan(kAuthenticated, authenticator.size()).data(), authenticator.data(),
              authenticator.size());
}

bool authenticate(ByteSpan payload, const ProbeEnvelope& envelope, const RunKey& key) {
  if (payload.size() < kProbeHeaderSize) return false;
  const auto wanted = authenticator_of(payload, envelope, key);
  return sodium_memcmp(payload.data() + kAuthenticated, wanted.data(), wanted.size()) == 0;
}

std::uint32_t first_psn(const ProbeHeader& header, const RunKey& key) {
  std::array<std::byte, 12> input;
  store_be32(input, 0, header.batch.value());
  store_be32(input, 4, header.nic.value());
  store_be32(input, 8, header.spec);
  return load_be24(hash_of(input, key), 0);
}

std::uint16_t first_identification(BatchId batch, const RunKey& key) {
  std::array<std::byte, 4> input;
  store_be32(input, 0, batch.value());
  return load_be16(hash_of(input, key), 0);
}

}  // namespace weft
