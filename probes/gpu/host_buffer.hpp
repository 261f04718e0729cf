// HostBuffer: memory of the host for transfers, on huge pages where the system has them to spare.
#pragma once

#include <memory>
#include <span>

#include "probes/packet/transfer_buffer.hpp"

namespace weft {

class HostBuffer final : public TransferBuffer {
 public:
  /// Zeroed memory, aligned to a page. Error: invalid size, or no memory (says how much was asked for).
  static Result<std::unique_ptr<HostBuffer>> allocate(Bytes size);
  ~HostBuffer() override;
  HostBuffer(const HostBuffer&) = delete;
  HostBuffer& operator=(const HostBuffer&) = delete;

  std::span<std::byte> memory() { return memory_; }

  Bytes size() const override { return Bytes(static_cast<std::int64_t>(memory_.size())); }
  std::vector<MemoryPath> paths() const override { return {path_}; }
  Result<MemoryReach> take(MemoryPath path) override;
  MemoryPath path() const override { return path_; }
  Result<void> before_send(BufferRange) override { return {}; }
  Result<void> after_receive(BufferRange) override { return {}; }
  Result<void> fill(BufferRange range, std::uint64_t seed, std::uint64_t offset) override;
  Result<PatternDifference> verify(BufferRange range, std::uint64_t seed, std::uint64_t offset) override;

 private:
  HostBuffer(std::span<std::byte> memory, std::size_t mapped, MemoryPath path)
      : memory_(memory), mapped_(mapped), path_(path) {}
  std::span<std::byte> memory_;
  std::size_t mapped_;
  MemoryPath path_;
};

/// An Error when the range does not lie in `size`.
Result<void> check_range(BufferRange range, Bytes size);

}  // namespace weft
