// DeviceClock: the time stamps that an RDMA device puts on completions, ticks of its own clock that wrap, as
// time that goes on. Of use for differences only: it agrees with no other clock. Pure.
#pragma once

#include <cstdint>
#include <optional>

#include "topology/base/units.hpp"

namespace weft {

class DeviceClock {
 public:
  /// `mask`: the bits a stamp has (ibv_query_device_ex(3), completion_timestamp_mask, hca_core_clock in kHz).
  DeviceClock(std::uint64_t kilohertz, std::uint64_t mask) : kilohertz_(kilohertz), mask_(mask) {}
  /// Absent where the device counts no such time.
  static std::optional<DeviceClock> make(std::uint64_t kilohertz, std::uint64_t mask) {
    if (kilohertz == 0 || mask == 0) return std::nullopt;
    return DeviceClock(kilohertz, mask);
  }

  /// Since the first stamp read. Stamps may come a little out of order, but never half a turn of the counter.
  Nanoseconds read(std::uint64_t ticks) {
    if (!last_) last_ = ticks & mask_;
    const std::uint64_t forward = (ticks - *last_) & mask_;
    const bool back = forward > mask_ / 2;
    const auto step = static_cast<std::int64_t>(back ? mask_ - forward + 1 : forward);
    total_ += back ? -step : step;
    last_ = ticks & mask_;
    constexpr double kNanosecondsByKilohertz = 1e6;
    return Nanoseconds(static_cast<std::int64_t>(static_cast<double>(total_) * kNanosecondsByKilohertz /
                                                 static_cast<double>(kilohertz_)));
  }

 private:
  std::uint64_t kilohertz_;
  std::uint64_t mask_;
  std::optional<std::uint64_t> last_;
  std::int64_t total_ = 0;  // ticks
};

}  // namespace weft
