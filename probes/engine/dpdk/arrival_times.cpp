#include "probes/engine/dpdk/arrival_times.hpp"

#include <array>
#include <thread>

#include "topology/os/clocks.hpp"

namespace weft::dpdk {
namespace {

/// rte_eth_read_clock's own example measures a frequency for 100 ms. In two parts, which must agree.
constexpr auto kMeasured = std::chrono::milliseconds(50);
/// Of a measured clock: a rate that is .01 % wrong is 10 us off by then.
constexpr auto kHoldMeasured = std::chrono::milliseconds(100);
/// The wall clock may be set at any time; until it is held again, what was stamped since is not believed, or
/// is off by 10 ms at most.
constexpr auto kHoldWall = std::chrono::milliseconds(1);
/// A reading that took longer says too little of when it was.
constexpr auto kReadWithin = std::chrono::microseconds(50);
constexpr int kReadings = 3;

/// The tightest of a few readings; nothing where none is tight, or the clock is not to be read.
std::optional<ClockPair> read_clock(const DpdkLibrary& library, WeftDpdkPort* port) {
  std::optional<ClockPair> best;
  Nanoseconds within = kReadWithin;
  for (int i = 0; i < kReadings; ++i) {
    std::uint64_t ticks = 0;
    const auto before = os::steady_now();
    if (library.clock(port, &ticks) != WEFT_DPDK_DONE) return std::nullopt;
    const auto took = os::steady_now() - before;
    if (took > within) continue;
    within = took;
    best = {ticks, before + took / 2};
  }
  return best;
}

ClockPair wall_clock() {
  const auto at = os::steady_now();
  return {static_cast<std::uint64_t>(os::wall_now().count()), at};
}

std::optional<StampClock> measure(const DpdkLibrary& library, WeftDpdkPort* port) {
  const auto first = read_clock(library, port);
  std::this_thread::sleep_for(kMeasured);
  const auto second = read_clock(library, port);
  std::this_thread::sleep_for(kMeasured);
  const auto third = read_clock(library, port);
  if (!first || !second || !third) return std::nullopt;
  auto clock = StampClock::measured(*first, *second);
  return clock && clock->hold(*third) ? clock : std::nullopt;
}

}  // namespace

std::string_view to_string(ArrivalTimes::Source source) {
  switch (source) {
    case ArrivalTimes::Source::device:
      return "device";
    case ArrivalTimes::Source::kernel:
      return "kernel";
    case ArrivalTimes::Source::host:
      return "host";
  }
  return "";
}

ArrivalTimes ArrivalTimes::of(const DpdkLibrary& library, WeftDpdkPort* port, const WeftDpdkAbilities& has,
                              bool nanoseconds, std::optional<RingStamps> ring) {
  ArrivalTimes times(library, port);
  if (has.queues != 1) return times;
  if (has.stamps != 0 && !nanoseconds) {
    if (has.reads_clock != 0) times.clock_ = measure(library, port);
    if (times.clock_) times.source_ = Source::device;
  } else if (has.stamps != 0 || ring) {
    times.clock_ = StampClock::of_nanoseconds(wall_clock());
    times.source_ = Source::kernel;
    if (has.stamps == 0) times.ring_ = ring;
  }
  return times;
}

std::uint32_t ArrivalTimes::look(std::uint32_t most) {
  if (!clock_) return most;
  if (drained_) clock_->all_read_until(looked_at_);
  looked_at_ = os::steady_now();
  looked_ = ring_ ? ring_->look(most) : most;
  drained_ = looked_ < most;
  return looked_;
}

void ArrivalTimes::read(std::span<WeftDpdkFrame> came) {
  if (!clock_) return;
  drained_ = ring_ ? drained_ && came.size() == looked_ : came.size() < looked_;
  if (came.empty()) return;
  if (ring_) ring_->stamp(came);
  hold_clock();
}

void ArrivalTimes::hold_clock() {
  const bool kernels = source_ == Source::kernel;
  if (looked_at_ - held_at_ < (kernels ? kHoldWall : kHoldMeasured)) return;
  held_at_ = looked_at_;
  const auto pair = kernels ? std::optional(wall_clock()) : read_clock(*library_, port_);
  if (pair && !clock_->hold(*pair)) clock_.reset();
}

}  // namespace weft::dpdk
