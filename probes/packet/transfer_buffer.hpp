// TransferBuffer: the seam for the memory that queue pairs send from and receive into: of the host or of a
// GPU. An engine takes paths in the order in which the buffer offers them until its device accepts one; which
// one it was belongs into the result. Around every transfer it calls before_send and after_receive: a staged
// copy moves the bytes there, the other paths do nothing. Not thread-safe.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "probes/packet/pattern.hpp"
#include "topology/base/result.hpp"
#include "topology/base/units.hpp"

namespace weft::packet {

/// How a device reaches the memory, best first within each kind.
enum class MemoryPath {
  host_huge_pages,
  host,
  dma_buf,      // GPU memory, given out by the driver as a dma-buf (ibv_reg_dmabuf_mr)
  peer_memory,  // GPU memory by its address; nvidia_peermem translates (ibv_reg_mr)
  staged,       // host memory; bytes are copied to and from the GPU
};
std::string_view to_string(MemoryPath path);

/// What to register. The buffer owns the memory and the descriptor.
struct MemoryReach {
  void* address = nullptr;
  std::optional<int> dma_buf = std::nullopt;  // the memory stands at its offset 0
};

/// GPUs fill and verify in units of this: ranges of their memory and offsets of the pattern are multiples.
inline constexpr Bytes kMemoryUnit(16);

/// A part of a buffer.
struct BufferRange {
  std::uint64_t start = 0;
  std::uint64_t bytes = 0;
};

class TransferBuffer {
 public:
  virtual ~TransferBuffer() = default;
  virtual Bytes size() const = 0;
  /// What may be tried, best first; at least one.
  virtual std::vector<MemoryPath> paths() const = 0;
  /// Takes one of paths(), which is from then on the path in use; what was taken before is void.
  virtual Result<MemoryReach> take(MemoryPath path) = 0;
  virtual MemoryPath path() const = 0;

  virtual Result<void> before_send(BufferRange range) = 0;
  virtual Result<void> after_receive(BufferRange range) = 0;

  /// Writes the pattern to the range, from `offset` of the pattern on, or compares the range with it. GPU
  /// memory wants range.start and offset to be multiples of kMemoryUnit. Offsets of differences count from
  /// range.start.
  virtual Result<void> fill(BufferRange range, std::uint64_t seed, std::uint64_t offset) = 0;
  virtual Result<PatternDifference> verify(BufferRange range, std::uint64_t seed, std::uint64_t offset) = 0;
};

/// Makes the memory that queue pairs use: of the host or of a GPU.
using BufferFactory = std::function<Result<std::unique_ptr<TransferBuffer>>(Bytes size)>;

}  // namespace weft::packet
