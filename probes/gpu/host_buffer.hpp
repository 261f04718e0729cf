// HostBuffer: memory of the host for transfers, on huge pages where the system has them to spare.
#pragma once

#include <memory>
#include <span>

#include "probes/packet/transfer_buffer.hpp"

namespace weft::gpu {

class HostBuffer final : public packet::TransferBuffer {
 public:
  /// Zeroed memory, aligned to a page. Error: invalid size, or no memory (says how much was asked for).
  static Result<std::unique_ptr<HostBuffer>> allocate(Bytes size);
  ~HostBuffer() override;
  HostBuffer(const HostBuffer&) = delete;
  HostBuffer& operator=(const HostBuffer&) = delete;

  std::span<std::byte> memory() { return memory_; }

  Bytes size() const override { return Bytes(static_cast<std::int64_t>(memory_.size())); }
  std::vector<packet::MemoryPath> paths() const override { return {path_}; }
  Result<packet::MemoryReach> take(packet::MemoryPath path) override;
  packet::MemoryPath path() const override { return path_; }
  Result<void> before_send(packet::BufferRange) override { return {}; }
  Result<void> after_receive(packet::BufferRange) override { return {}; }
  Result<void> fill(packet::BufferRange range, std::uint64_t seed, std::uint64_t offset) override;
  Result<packet::PatternDifference> verify(packet::BufferRange range, std::uint64_t seed,
                                           std::uint64_t offset) override;

 private:
  HostBuffer(std::span<std::byte> memory, std::size_t mapped, packet::MemoryPath path)
      : memory_(memory), mapped_(mapped), path_(path) {}
  std::span<std::byte> memory_;
  std::size_t mapped_;
  packet::MemoryPath path_;
};

/// An Error when the range does not lie in `size`.
Result<void> check_range(packet::BufferRange range, Bytes size);

}  // namespace weft::gpu
