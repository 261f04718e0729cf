// What a NATS server keeps for standing agents and watchers: streams and a bucket, made when they are
// missing, and never changed when they are there.
#pragma once

#include <string>
#include <string_view>

#include "collectors/bus/kept_connection.hpp"

namespace weft::bus {

inline constexpr std::string_view kWindowStream = "WEFT_OBS";
inline constexpr std::string_view kEventStream = "WEFT_EVENTS";
/// Of a key-value bucket; the stream under it has "KV_" before.
inline constexpr std::string_view kBucket = "WEFT_WATCH";
inline constexpr std::string_view kBucketStream = "KV_WEFT_WATCH";

/// Of shared blacklists: whatever comes to the others, theirs stays. A fabric's subject keeps kLedgerChanges.
inline constexpr std::string_view kLedgerStream = "WEFT_BLACKLIST";
inline constexpr std::uint64_t kLedgerBytes = 128'000'000;
inline constexpr int kLedgerChanges = 2000;

/// In bytes on the server's disk; the oldest are discarded beyond.
struct StreamLimits {
  std::uint64_t windows = 512'000'000;
  std::uint64_t events = 256'000'000;
  friend bool operator==(const StreamLimits&, const StreamLimits&) = default;
};
inline constexpr std::uint64_t kBucketBytes = 64'000'000;

/// Errors: those of KeptConnection::request; not_supported (JetStream is off), absent (no room for them).
Result<void> ensure_streams(KeptConnection& connection, const StreamLimits& limits, Nanoseconds limit);

/// Made by who shares a blacklist alone. The same errors.
Result<void> ensure_ledger_stream(KeptConnection& connection, Nanoseconds limit);

/// Error: invalid_input (empty, or too long for a subject).
Result<void> check_names(std::string_view fabric, std::string_view participant);

}  // namespace weft::bus
