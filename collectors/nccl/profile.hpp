// What NCCL's proxies waited for, as libweft-nccl.so writes it: weft.nccl_profile/1, JSON Lines, a file a
// process. Its texts come from a job and are as outside_text gives them. Pure.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "topology/base/ids.hpp"
#include "topology/base/result.hpp"
#include "topology/base/units.hpp"

namespace weft::nccl {

/// Of a receiving proxy `data` is the peer or the network: the sender's record tells which.
enum class Wait : std::uint8_t { gpu, peer, network, data, flush };
inline constexpr std::size_t kWaits = 5;
std::string_view to_string(Wait wait);

struct ProfileCommunicator {
  std::string id;
  std::string name;  // empty: the job gave none
  std::uint64_t pid = 0;
  std::int64_t rank = -1;  // -1: an NCCL that does not say
  std::uint64_t ranks = 0;
  std::uint64_t every = 1;
  std::string tuner;  // checksum of its tuner table; empty: none
  std::string host;   // as the queue pairs' tables have it; empty: not told
  std::optional<std::uint32_t> job_rank;
};

/// Of the steps of an operation those that went by one queue pair.
struct ProfileQp {
  QpNum number;
  std::uint64_t steps = 0;
  Nanoseconds network{};  // that they waited for it, in all
};

/// One operation of a proxy: of a collective, a channel, a peer and a direction.
struct ProfileOperation {
  std::size_t collective = 0;  // in RankProfile::collectives
  std::int64_t peer = 0;
  std::uint32_t channel = 0;
  bool sends = false;
  std::uint64_t steps = 0;
  std::uint64_t bytes = 0;
  Nanoseconds took{};
  std::array<Nanoseconds, kWaits> waited{};  // of all steps, of which several wait at a time
  std::vector<ProfileQp> qps;                // of a sender; empty: not told
  /// The part of `took` that goes to this wait.
  double seconds(Wait wait) const;
};

struct ProfileCollective {
  std::size_t communicator = 0;  // in RankProfile::communicators
  std::string function;
  std::uint64_t sequence = 0;
  std::uint64_t count = 0;
  std::string type;
  std::string algorithm;  // empty: a send or receive
  std::string protocol;
};

/// A step that has waited for seconds: the last line of its operation.
struct ProfileWaiting {
  std::size_t collective = 0;
  std::int64_t peer = 0;
  std::uint32_t channel = 0;
  bool sends = false;
  Wait wait = Wait::gpu;
  Nanoseconds since{};
};

struct RankProfile {
  std::string file;
  std::vector<ProfileCommunicator> communicators;
  std::vector<ProfileCollective> collectives;
  std::vector<ProfileOperation> operations;
  std::vector<ProfileWaiting> waiting;  // of operations that did not end
  std::uint64_t dropped = 0;            // events that found no room
  std::size_t unread = 0;               // lines that are torn, or say nothing known
};

inline constexpr std::size_t kMaxProfileLines = 4'000'000;

/// Lines that cannot be read are counted: a process that is killed leaves half a one. Errors: invalid_input
/// (no line of a communicator; too many lines).
Result<RankProfile> parse_profile(std::string_view text, std::string_view file);

}  // namespace weft::nccl
