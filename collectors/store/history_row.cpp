#include "collectors/store/history_row.hpp"

#include <libdeflate.h>

#include <algorithm>
#include <array>
#include <limits>
#include <memory>

namespace weft::store {
namespace {

// A row: version (1 byte), channels (2), bytes of the body (4), the body deflated. The body, with whole
// numbers in groups of seven bits, the lowest first: of each channel the verdict (1 byte); of each channel
// what was sent, as its difference from the channel two before (the same direction of the link before, which
// the plan probes about as often), zigzag; then how many channels lost something, and of each how many
// channels lie between it and the one before, and what it lost.
constexpr std::uint8_t kVersion = 1;
constexpr std::size_t kHeader = 7;
constexpr int kLevel = 6;  // measured: level 9 saves 1 % and takes twice as long
constexpr std::size_t kMaxBody = kChannelsPerRow * 24;
constexpr std::array kVerdicts{Verdict::healthy, Verdict::unknown, Verdict::congested, Verdict::degraded,
                               Verdict::failed};

void put_number(std::vector<std::byte>& out, std::uint64_t number) {
  for (; number >= 0x80; number >>= 7) out.push_back(static_cast<std::byte>(number | 0x80));
  out.push_back(static_cast<std::byte>(number));
}

std::uint64_t zigzag(std::uint64_t difference) { return difference << 1 ^ (0 - (difference >> 63)); }
std::uint64_t from_zigzag(std::uint64_t number) { return number >> 1 ^ (0 - (number & 1)); }

class Body {
 public:
  explicit Body(ByteSpan bytes) : bytes_(bytes) {}
  Result<std::uint8_t> byte() {
    if (at_ == bytes_.size())
      return fail(ErrorKind::invalid_input, "the body of a row of history is cut off");
    return std::to_integer<std::uint8_t>(bytes_[at_++]);
  }
  Result<std::uint64_t> number() {
    std::uint64_t number = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      WEFT_TRY(const auto next, byte());
      number |= static_cast<std::uint64_t>(next & 0x7f) << shift;
      if (next < 0x80) return number;
    }
    return fail(ErrorKind::invalid_input, "a number in a row of history has more than 64 bits");
  }
  bool at_end() const { return at_ == bytes_.size(); }

 private:
  ByteSpan bytes_;
  std::size_t at_ = 0;
};

/// More lost than sent is nonsense: what cannot be is not kept.
bool has_losses(const ChannelSample& channel) { return channel.lost > 0 && channel.sent > 0; }

std::vector<std::byte> body_of(std::span<const ChannelSample> channels) {
  std::vector<std::byte> body;
  body.reserve(channels.size() * 4);
  for (const auto& channel : channels) {
    const auto at = std::ranges::find(kVerdicts, channel.verdict) - kVerdicts.begin();
    body.push_back(static_cast<std::byte>(at));
  }
  std::array<std::uint64_t, 2> before{};
  for (std::size_t i = 0; i < channels.size(); ++i) {
    put_number(body, zigzag(channels[i].sent - before[i % 2]));
    before[i % 2] = channels[i].sent;
  }
  put_number(body, static_cast<std::uint64_t>(std::ranges::count_if(channels, has_losses)));
  std::size_t next = 0;
  for (std::size_t i = 0; i < channels.size(); ++i) {
    if (!has_losses(channels[i])) continue;
    put_number(body, i - next);
    put_number(body, std::min(channels[i].lost, channels[i].sent));
    next = i + 1;
  }
  return body;
}

Result<std::vector<ChannelSample>> channels_of(Body body, std::size_t count) {
  std::vector<ChannelSample> channels(count);
  for (auto& channel : channels) {
    WEFT_TRY(const auto verdict, body.byte());
    if (verdict >= kVerdicts.size())
      return fail(ErrorKind::invalid_input, "a row of history has a verdict {}", verdict);
    channel.verdict = kVerdicts.at(verdict);
  }
  std::array<std::uint64_t, 2> before{};
  for (std::size_t i = 0; i < count; ++i) {
    WEFT_TRY(const auto difference, body.number());
    channels[i].sent = before[i % 2] += from_zigzag(difference);
  }
  WEFT_TRY(const auto lossy, body.number());
  std::size_t at = 0;
  for (std::uint64_t n = 0; n < lossy; ++n) {
    WEFT_TRY(const auto between, body.number());
    WEFT_TRY(const auto lost, body.number());
    if (at >= count || between >= count - at || lost == 0 || lost > channels[at + between].sent)
      return fail(ErrorKind::invalid_input,
                  "a row of history has losses of no channel, or more than were sent");
    at += between;
    channels[at++].lost = lost;
  }
  if (!body.at_end()) return fail(ErrorKind::invalid_input, "a row of history is longer than it says");
  return channels;
}

}  // namespace

ChannelSample merged(const ChannelSample& a, const ChannelSample& b) {
  const auto known = [](Verdict verdict) { return verdict != Verdict::unknown; };
  return {.sent = a.sent + b.sent,
          .lost = a.lost + b.lost,
          .verdict = known(a.verdict) && known(b.verdict) ? std::max(a.verdict, b.verdict)
                     : known(a.verdict)                   ? a.verdict
                                                          : b.verdict};
}

std::vector<std::byte> pack_row(std::span<const ChannelSample> channels) {
  WEFT_CHECK(channels.size() <= kChannelsPerRow);
  const std::unique_ptr<libdeflate_compressor, decltype(&libdeflate_free_compressor)> compressor(
      libdeflate_alloc_compressor(kLevel), &libdeflate_free_compressor);
  WEFT_CHECK(compressor != nullptr);
  const auto body = body_of(channels);
  std::vector<std::byte> row(kHeader + libdeflate_deflate_compress_bound(compressor.get(), body.size()));
  store_u8(row, 0, kVersion);
  store_be16(row, 1, static_cast<std::uint16_t>(channels.size()));
  store_be32(row, 3, static_cast<std::uint32_t>(body.size()));
  const std::size_t packed = libdeflate_deflate_compress(compressor.get(), body.data(), body.size(),
                                                         row.data() + kHeader, row.size() - kHeader);
  WEFT_CHECK(packed > 0);
  row.resize(kHeader + packed);
  return row;
}

Result<std::vector<ChannelSample>> unpack_row(ByteSpan row) {
  WEFT_TRY_VOID(need_bytes(row, kHeader, "row of history"));
  if (load_u8(row, 0) != kVersion)
    return fail(ErrorKind::invalid_input, "a row of history is of version {}", load_u8(row, 0));
  const std::size_t count = load_be16(row, 1);
  const std::size_t size = load_be32(row, 3);
  if (count > kChannelsPerRow || size > kMaxBody)
    return fail(ErrorKind::invalid_input, "a row of history says that it has {} channels in {} bytes", count,
                size);
  const std::unique_ptr<libdeflate_decompressor, decltype(&libdeflate_free_decompressor)> decompressor(
      libdeflate_alloc_decompressor(), &libdeflate_free_decompressor);
  WEFT_CHECK(decompressor != nullptr);
  std::vector<std::byte> body(size);
  if (libdeflate_deflate_decompress(decompressor.get(), row.data() + kHeader, row.size() - kHeader,
                                    body.data(), body.size(), nullptr) != LIBDEFLATE_SUCCESS)
    return fail(ErrorKind::invalid_input, "a row of history cannot be unpacked");
  return channels_of(Body(body), count);
}

}  // namespace weft::store
