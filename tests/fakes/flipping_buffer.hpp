// FlippingBuffer: memory that loses one bit of whatever a transfer brought: after every check on the wire and
// in the NIC, before anybody reads it.
#pragma once

#include <cstddef>

#include "probes/packet/transfer_buffer.hpp"

namespace weft {

class FlippingBuffer final : public packet::TransferBuffer {
 public:
  /// Only what lies in this host's memory can change: of a GPU's buffer, its staged copy.
  explicit FlippingBuffer(std::unique_ptr<packet::TransferBuffer> memory) : memory_(std::move(memory)) {}

  Bytes size() const override { return memory_->size(); }
  std::vector<packet::MemoryPath> paths() const override { return memory_->paths(); }
  Result<packet::MemoryReach> take(packet::MemoryPath path) override {
    auto reach = memory_->take(path);
    if (reach) start_ = static_cast<std::byte*>(reach->address);
    return reach;
  }
  packet::MemoryPath path() const override { return memory_->path(); }
  Result<void> before_send(packet::BufferRange range) override { return memory_->before_send(range); }
  Result<void> after_receive(packet::BufferRange range) override {
    if (range.bytes > 0) start_[range.start + range.bytes / 2] ^= std::byte{0x10};
    return memory_->after_receive(range);
  }
  Result<void> fill(packet::BufferRange range, std::uint64_t seed, std::uint64_t offset) override {
    return memory_->fill(range, seed, offset);
  }
  Result<packet::PatternDifference> verify(packet::BufferRange range, std::uint64_t seed,
                                           std::uint64_t offset) override {
    return memory_->verify(range, seed, offset);
  }

 private:
  std::unique_ptr<packet::TransferBuffer> memory_;
  std::byte* start_ = nullptr;
};

}  // namespace weft
