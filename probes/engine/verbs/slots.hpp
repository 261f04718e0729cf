// Slots: registered memory cut into equal pieces, one for each message that may be under way.
#pragma once

#include <algorithm>
#include <memory>

#include "probes/rdma/queue_pair.hpp"
#include "topology/base/bytes.hpp"

namespace weft::verbs {

/// What queue pairs send from and receive into. The host writes and reads the notes of probes, so their
/// memory is its own.
struct VerbsMemory {
  packet::BufferFactory flows;
  packet::BufferFactory probes;
};

class Slots {
 public:
  static Result<std::unique_ptr<Slots>> make(std::shared_ptr<const rdma::VerbsDevice> device,
                                             const packet::BufferFactory& buffers, std::size_t count,
                                             Bytes size) {
    const auto each = static_cast<std::size_t>(size.count());
    WEFT_TRY(auto buffer, buffers(Bytes(static_cast<std::int64_t>(std::max<std::size_t>(count, 1) * each))));
    WEFT_TRY(auto region, rdma::MemoryRegion::register_buffer(std::move(device), *buffer));
    return std::unique_ptr<Slots>(new Slots(std::move(buffer), std::move(region), each));
  }

  rdma::MemoryPiece piece(std::size_t slot, std::size_t bytes) const {
    return {region_->address() + slot * each_, static_cast<std::uint32_t>(std::min(bytes, each_)),
            region_->local_key()};
  }
  std::span<std::byte> bytes(std::size_t slot) const { return {region_->address() + slot * each_, each_}; }
  packet::TransferBuffer& buffer() { return *buffer_; }
  const rdma::MemoryRegion& region() const { return *region_; }

 private:
  Slots(std::unique_ptr<packet::TransferBuffer> buffer, std::unique_ptr<rdma::MemoryRegion> region,
        std::size_t each)
      : buffer_(std::move(buffer)), region_(std::move(region)), each_(each) {}
  std::unique_ptr<packet::TransferBuffer> buffer_;
  std::unique_ptr<rdma::MemoryRegion> region_;
  std::size_t each_;
};

/// The first bytes of a probe and of its answer.
struct ProbeNote {
  std::uint64_t sequence = 0;        // spec_number
  std::uint64_t previous = 0;        // of an answer: the probe that the next field speaks of
  std::uint64_t previous_delay = 0;  // ns from its arrival to its answer's departure
  static constexpr std::size_t kSize = 24;
};
inline void store(MutableByteSpan to, const ProbeNote& note) {
  store_be64(to, 0, note.sequence);
  store_be64(to, 8, note.previous);
  store_be64(to, 16, note.previous_delay);
}
inline ProbeNote load_note(ByteSpan from) {
  return {load_be64(from, 0), load_be64(from, 8), load_be64(from, 16)};
}

/// Of one thing of a spec: its 24th probe, say.
constexpr std::uint64_t spec_number(std::uint32_t spec, std::uint64_t low) {
  return std::uint64_t{spec} << 32U | low;
}
constexpr std::uint32_t spec_of(std::uint64_t number) { return static_cast<std::uint32_t>(number >> 32U); }

/// Flows carry this pattern (probes/packet/pattern.hpp), each from an offset of its own, so that the receiver
/// can tell what it should have got.
inline constexpr std::uint64_t kFlowPattern = 0x77656674;
inline std::uint64_t flow_pattern_offset(std::uint32_t spec, std::size_t depth, std::size_t message) {
  return std::uint64_t{spec} * depth * message;
}

/// Every message that is sent carries what stands in its place: it is written once.
inline Result<void> fill_to_send(packet::TransferBuffer& buffer) {
  const packet::BufferRange all{0, static_cast<std::uint64_t>(buffer.size().count())};
  WEFT_TRY_VOID(buffer.fill(all, kFlowPattern, 0));
  return buffer.before_send(all);
}

/// What is said of bytes that were acknowledged and differ from the pattern.
inline constexpr const char* kChangedInMemory =
    "silent corruption: what came into memory passed every checksum and is not what was sent";

}  // namespace weft::verbs
