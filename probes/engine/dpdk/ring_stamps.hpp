// RingStamps: the kernel's stamps in the receive ring of a packet socket that DPDK's net_af_packet driver
// reads (packet(7), TPACKET_V2). The driver of DPDK 22.11 hands on frames without them. The ring is the
// driver's, found where it has it mapped, and only read here: as long as the device is open. One thread at a
// time, the one that receives.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "probes/engine/dpdk/dpdk_module.h"

namespace weft::dpdk {

struct RingShape {
  std::size_t frame = 0;  // bytes of a place
  std::size_t count = 0;  // places for what comes in; as many follow for what is sent
};

/// Where /proc/PID/maps has the socket of this inode mapped, by so many bytes: its first byte. Nothing where
/// it has it not, or twice.
std::optional<std::uintptr_t> mapping_of(std::string_view maps, std::uint64_t inode, std::size_t bytes);

class RingStamps {
 public:
  /// Of this process's socket; nothing where its ring is not to be found.
  static std::optional<RingStamps> find(int socket, const RingShape& shape);
  /// The ring begins at `first`, and nothing of it was read yet.
  RingStamps(const std::byte* first, const RingShape& shape);

  static constexpr std::uint32_t kMaxLooked = 64;
  /// How many frames wait in the ring, `most` and kMaxLooked at most: no more of them are to be received
  /// until stamp().
  std::uint32_t look(std::uint32_t most);
  /// Gives the frames that were received since look() their stamps: nanoseconds of the wall clock. Where they
  /// are not those that were looked at, none has one from then on.
  void stamp(std::span<WeftDpdkFrame> came);

 private:
  struct Looked {
    std::uint64_t stamp = 0;
    std::uint32_t size = 0;
  };
  const std::byte* first_;
  const std::byte* next_;  // the place that is read next
  RingShape shape_;
  std::array<Looked, kMaxLooked> looked_;
  std::uint32_t count_ = 0;  // of those
  bool in_step_ = true;
};

}  // namespace weft::dpdk
