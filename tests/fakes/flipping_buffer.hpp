// FlippingBuffer: memory that loses one bit of whatever a transfer brought: after every check on the wire and
// in the NIC, before anybody reads it.
#pragma once

#include <cstddef>

#include "probes/packet/transfer_buffer.hpp"

namespace weft {

class FlippingBuffer final : public TransferBuffer {
 public:
  /// Only what lies in this host's memory can change: of a GPU's buffer, its staged copy.
  explicit FlippingBuffer(std::unique_ptr<TransferBuffer> memory) : memory_(std::move(memory)) {}

  Bytes size() const override { return memory_->size(); }
  std::vector<MemoryPath> paths() const override { return memory_->paths(); }
  Result<MemoryReach> take(MemoryPath path) override {
    auto reach = memory_->take(path);
    if (reach) start_ = static_cast<std::byte*>(reach->address);
    return reach;
  }
  MemoryPath path() const override { return memory_->path(); }
  Result<void> before_send(BufferRange range) override { return memory_->before_send(range); }
  Result<void> after_receive(BufferRange range) override {
    if (range.bytes > 0) start_[range.start + range.bytes / 2] ^= std::byte{0x10};
    return memory_->after_receive(range);
  }
  Result<void> fill(BufferRange range, std::uint64_t seed, std::uint64_t offset) override {
    return memory_->fill(range, seed, offset);
  }
  Result<PatternDifference> verify(BufferRange range, std::uint64_t seed, std::uint64_t offset) override {
    return memory_->verify(range, seed, offset);
  }

 private:
  std::unique_ptr<TransferBuffer> memory_;
  std::byte* start_ = nullptr;
};

}  // namespace weft
