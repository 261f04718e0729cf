// SimRow: what becomes of the packets of one spec, there and back. Where nothing on the way varies, by a few
// draws for all of them; else packet by packet, each at its time.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <vector>

#include "probes/engine/sim/random_stream.hpp"
#include "probes/engine/sim/sim_schedule.hpp"
#include "probes/engine/sim/sim_world.hpp"

namespace weft {

/// The two ways of a row; one that does not arrive swallows all.
struct RowWays {
  PortId from;
  PortId to;
  std::span<const ChannelId> there;
  std::span<const ChannelId> back;
  bool arrives = false;
  bool returns = false;
  Bytes size;
  std::uint32_t count = 0;
  TimeWindow window;
};

/// In the order in which it may happen to a packet.
enum class Fate : std::uint8_t {
  answered,
  lost_there,
  dropped_there,  // by the host it was for
  corrupt_there,
  lost_back,
  dropped_back,
  corrupt_back
};
inline constexpr std::size_t kFates = 7;

struct RowOutcome {
  std::array<std::uint32_t, kFates> packets{};  // by fate
  std::optional<std::vector<LossRun>> missing;  // there, up to the last that came; absent: not known
  std::vector<LossRun> unanswered;              // empty where there are some: not known
  /// Round trips of the answered, without waits: what the middle one and the slowest hundredth take.
  Nanoseconds fixed_p50{};
  Nanoseconds fixed_p99{};

  std::uint32_t of(Fate fate) const { return packets[static_cast<std::size_t>(fate)]; }
};

/// Scratch space of a thread, used again row by row.
class RowSimulation {
 public:
  explicit RowSimulation(const SimWorld& world) : world_(world) {}

  /// `order` draws which packets were lost where that has no bearing on how many were.
  RowOutcome run(const RowWays& ways, RandomStream& random, RandomStream order);

 private:
  struct Look;  // the ways at one time
  bool varies(const RowWays& ways) const;
  RowOutcome all_at_once(const RowWays& ways, RandomStream& random) const;
  RowOutcome one_by_one(const RowWays& ways, RandomStream& random);
  Look look(const RowWays& ways, Nanoseconds at, RandomStream& random);
  void scatter(const RowOutcome& outcome, std::uint32_t count, RandomStream& order);
  void read_runs(RowOutcome& outcome, std::uint32_t count) const;

  const SimWorld& world_;
  std::vector<Fate> fates_;  // of the packets, in the order in which they are sent
  std::vector<ChannelState> states_;
};

}  // namespace weft
