// VerbsDevice: the RDMA device and port that serve one address of this host, opened. Queue pairs, completion
// queues and memory made of it keep it open. Freely shared between threads.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "probes/packet/transfer_buffer.hpp"
#include "probes/rdma/gid_choice.hpp"
#include "probes/rdma/verbs_library.hpp"
#include "topology/base/ids.hpp"
#include "topology/base/ip.hpp"
#include "topology/base/units.hpp"
#include "topology/model/infiniband.hpp"

namespace weft::rdma {

/// The time stamps that an RDMA device puts on completions, ticks of its own clock that wrap, as time that
/// goes on. Of use for differences only: it agrees with no other clock. Pure.
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

/// ReadLimits: how many RDMA reads of one queue pair may be under way. A device serves only so many of a
/// peer's at a time, and asks for only so many of its own; both ends must be connected with what both can.
/// Pure.
struct ReadLimits {
  std::uint8_t asks = 1;    // of its own, on their way (max_qp_init_rd_atom of ibv_query_device(3))
  std::uint8_t serves = 1;  // of the peer's, at a time (max_qp_rd_atom)
  friend bool operator==(const ReadLimits&, const ReadLimits&) = default;
};

/// What a queue pair of this side is to be connected with; `of_use`: messages that are ever under way.
inline ReadLimits agree(const ReadLimits& ours, const ReadLimits& theirs, std::uint32_t of_use) {
  const auto least = [of_use](std::uint8_t one, std::uint8_t other) {
    return static_cast<std::uint8_t>(std::min<std::uint32_t>({one, other, of_use}));
  };
  return {.asks = least(ours.asks, theirs.serves), .serves = least(ours.serves, theirs.asks)};
}

/// What a peer must know of a port to reach it.
struct PortAddress {
  Gid gid{};
  Lid lid;               // InfiniBand: the base LID; 0 on RoCE
  std::uint8_t lmc = 0;  // InfiniBand: it has 2^lmc LIDs
  LidRange lids() const { return {lid, lmc}; }
  friend bool operator==(const PortAddress&, const PortAddress&) = default;
};

/// Whose driver it is, as far as weft does something else for it.
enum class RdmaDriver : std::uint8_t { other, mlx5, soft_roce };

class VerbsDevice {
 public:
  /// Errors: absent (no RDMA device at all) and those of choose_gid; permission (the device files: none of
  /// them may be opened).
  static Result<std::shared_ptr<const VerbsDevice>> open(std::shared_ptr<const VerbsLibrary> library,
                                                         const GidWish& wish);
  ~VerbsDevice();
  VerbsDevice(const VerbsDevice&) = delete;
  VerbsDevice& operator=(const VerbsDevice&) = delete;

  const VerbsLibrary& library() const { return *library_; }
  ibv_context* context() const { return context_; }
  ibv_pd* pd() const { return pd_; }
  const std::string& name() const { return name_; }
  std::uint8_t port() const { return gid_.entry.port; }
  std::uint8_t gid_index() const { return static_cast<std::uint8_t>(gid_.entry.index); }
  const GidChoice& gid() const { return gid_; }
  /// Error: absent, when the device has gone, its port is down, or the GID that was chosen is not in the
  /// table any more (its address was removed).
  Result<void> check_standing() const;
  const PortAddress& address() const { return address_; }
  Bytes path_mtu() const { return path_mtu_; }
  /// The clock by which it stamps completions; absent: it stamps none.
  const std::optional<DeviceClock>& clock() const { return clock_; }
  /// Of each of its queue pairs; where it does not say, one read at a time, which every device does.
  const ReadLimits& reads() const { return reads_; }
  RdmaDriver driver() const { return driver_; }
  bool is_infiniband() const { return address_.lid != Lid(0); }

 private:
  VerbsDevice() = default;
  Result<void> find_port(const GidWish& wish);
  Result<void> read_port();
  void read_abilities();

  std::shared_ptr<const VerbsLibrary> library_;
  ibv_context* context_ = nullptr;
  ibv_pd* pd_ = nullptr;
  std::string name_;
  RdmaDriver driver_ = RdmaDriver::other;
  GidChoice gid_;
  PortAddress address_;
  Bytes path_mtu_ = Bytes(1024);
  std::optional<DeviceClock> clock_;
  ReadLimits reads_;
};

/// Memory that the device may read and write, by whichever path its owner offers and the device accepts.
class MemoryRegion {
 public:
  /// `buffer` outlives it. Errors: permission (locked memory: says the limit and how to raise it),
  /// not_supported (no path that the device accepts: with every reason).
  static Result<std::unique_ptr<MemoryRegion>> register_buffer(std::shared_ptr<const VerbsDevice> device,
                                                               packet::TransferBuffer& buffer);
  ~MemoryRegion();
  MemoryRegion(const MemoryRegion&) = delete;
  MemoryRegion& operator=(const MemoryRegion&) = delete;

  std::byte* address() const { return address_; }
  std::uint32_t local_key() const;
  std::uint32_t remote_key() const;

 private:
  MemoryRegion(std::shared_ptr<const VerbsDevice> device, ibv_mr* mr, std::byte* address)
      : device_(std::move(device)), mr_(mr), address_(address) {}
  std::shared_ptr<const VerbsDevice> device_;
  ibv_mr* mr_;
  std::byte* address_;
};

}  // namespace weft::rdma
