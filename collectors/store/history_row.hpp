// What a time bucket counted of up to a thousand channels, packed into one row of the database: about a byte
// a channel. Versioned; a row that is damaged is an error, never a figure.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "topology/base/bytes.hpp"
#include "topology/findings/verdict.hpp"

namespace weft::store {

inline constexpr std::size_t kChannelsPerRow = 1000;

/// Of one channel in one bucket of time.
struct ChannelSample {
  std::uint64_t sent = 0;  // probes and echoes that crossed it
  std::uint64_t lost = 0;  // of these, lost on any channel of their path
  Verdict verdict = Verdict::unknown;
  friend bool operator==(const ChannelSample&, const ChannelSample&) = default;
};

/// Two buckets as one: counts add up; the verdict is the worse of those that are known.
ChannelSample merged(const ChannelSample& a, const ChannelSample& b);

/// At most kChannelsPerRow.
std::vector<std::byte> pack_row(std::span<const ChannelSample> channels);
/// Error: invalid_input, what is wrong with it.
Result<std::vector<ChannelSample>> unpack_row(ByteSpan row);

}  // namespace weft::store
