// ArrivalTimes: when frames of a device came in, on the port's clock: by the device's stamps, by the
// kernel's in the ring of its socket, or else by when they are read. One thread at a time, the one that polls
// the device.
#pragma once

#include <optional>
#include <span>

#include "probes/engine/dpdk/dpdk_library.hpp"
#include "probes/engine/dpdk/ring_stamps.hpp"
#include "probes/engine/dpdk/stamp_clock.hpp"

namespace weft::dpdk {

class ArrivalTimes {
 public:
  enum class Source { device, kernel, host };

  /// Of an opened device, with one queue; those of several are not stamped. `nanoseconds`: its driver's
  /// stamps are the kernel's, of the wall clock; else they are ticks of a clock that is measured here, which
  /// takes .1 s. `ring`: of its one socket, where it has one.
  static ArrivalTimes of(const DpdkLibrary& library, WeftDpdkPort* port, const WeftDpdkAbilities& has,
                         bool nanoseconds, std::optional<RingStamps> ring);

  Source source() const { return source_; }

  /// How many frames are to be received at once, `most` at most.
  std::uint32_t look(std::uint32_t most);
  /// What came of them; then time_of() of each.
  void read(std::span<WeftDpdkFrame> came);
  /// When a frame came that is read at `now`: that, where its stamp is none or not believed.
  Nanoseconds time_of(const WeftDpdkFrame& frame, Nanoseconds now) {
    if (!clock_ || frame.stamp == 0) return now;
    return clock_->time_of(frame.stamp, now).value_or(now);
  }

 private:
  ArrivalTimes(const DpdkLibrary& library, WeftDpdkPort* port) : library_(&library), port_(port) {}
  void hold_clock();

  const DpdkLibrary* library_;
  WeftDpdkPort* port_;
  Source source_ = Source::host;
  std::optional<StampClock> clock_;
  std::optional<RingStamps> ring_;
  Nanoseconds looked_at_{};
  std::uint32_t looked_ = 0;  // how many frames were to be received then
  bool drained_ = false;      // and none was left
  Nanoseconds held_at_{};
};

std::string_view to_string(ArrivalTimes::Source source);

}  // namespace weft::dpdk
