#include "probes/mad/mad_probe.hpp"

#include <sodium.h>

namespace weft::mad {
namespace {

// In the data of the vendor class, from byte 40 of the MAD.
constexpr std::size_t kKind = 40;
constexpr std::size_t kBack = 42;
constexpr std::size_t kSpec = 44;
constexpr std::size_t kRun = 48;
constexpr std::size_t kBatch = 56;
constexpr std::size_t kFrom = 60;
constexpr std::size_t kSequence = 64;
constexpr std::size_t kSent = 68;
constexpr std::size_t kEnd = 76;  // of what the authenticator covers; it stands here
constexpr std::uint8_t kProbe = 1;
constexpr std::uint8_t kEcho = 2;

std::uint64_t authenticator(ByteSpan mad, const packet::RunKey& key) {
  static_assert(crypto_shorthash_BYTES == 8 && crypto_shorthash_KEYBYTES == sizeof(packet::RunKey));
  std::array<std::byte, crypto_shorthash_BYTES> tag;
  const auto covered = mad.subspan(kKind, kEnd - kKind);
  crypto_shorthash(reinterpret_cast<unsigned char*>(tag.data()),
                   reinterpret_cast<const unsigned char*>(covered.data()), covered.size(),
                   reinterpret_cast<const unsigned char*>(key.data()));
  return load_be64(tag, 0);
}

}  // namespace

MadBytes encode_mad_probe(const MadProbe& probe, const packet::RunKey& key) {
  MadBytes mad =
      encode_mad({.mad_class = MadClass::probe, .method = MadMethod::send, .attribute = MadAttribute::probe},
                 MadTransaction(probe.sequence));
  store_be24(mad, kOuiOffset, kOui);
  store_u8(mad, kKind, probe.is_echo ? kEcho : kProbe);
  store_be16(mad, kBack, probe.back.value());
  store_be32(mad, kSpec, probe.spec);
  store_be64(mad, kRun, probe.run.value());
  store_be32(mad, kBatch, probe.batch.value());
  store_be32(mad, kFrom, probe.from.value());
  store_be32(mad, kSequence, probe.sequence);
  store_be64(mad, kSent, static_cast<std::uint64_t>(probe.sent.count()));
  store_be64(mad, kEnd, authenticator(mad, key));
  return mad;
}

std::optional<MadProbe> decode_mad_probe(ByteSpan mad, RunId run, const packet::RunKey& key) {
  const auto header = decode_mad_header(mad);
  if (!header || header->mad_class != MadClass::probe || header->attribute != MadAttribute::probe)
    return std::nullopt;
  const auto kind = load_u8(mad, kKind);
  if (load_be24(mad, kOuiOffset) != kOui || (kind != kProbe && kind != kEcho)) return std::nullopt;
  if (RunId(load_be64(mad, kRun)) != run || load_be64(mad, kEnd) != authenticator(mad, key))
    return std::nullopt;
  return MadProbe{.is_echo = kind == kEcho,
                  .run = run,
                  .batch = BatchId(load_be32(mad, kBatch)),
                  .from = PortId(load_be32(mad, kFrom)),
                  .spec = load_be32(mad, kSpec),
                  .sequence = load_be32(mad, kSequence),
                  .back = Lid(load_be16(mad, kBack)),
                  .sent = Nanoseconds(static_cast<std::int64_t>(load_be64(mad, kSent)))};
}

}  // namespace weft::mad
