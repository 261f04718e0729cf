#include "probes/gpu/cuda_buffer.hpp"

namespace weft::gpu {
namespace {

// A dma-buf covers whole pages; CUDA aligns whole 2 MiB to 2 MiB, which every host page size divides.
constexpr std::int64_t kGranule = std::int64_t{2} << 20;

std::int64_t whole_granules(Bytes size) { return (size.count() + kGranule - 1) / kGranule * kGranule; }

}  // namespace

Result<std::shared_ptr<const CudaContext>> CudaContext::open(std::shared_ptr<const CudaLibrary> library,
                                                             int device) {
  WeftCudaError error{};
  WeftCudaDevice described{};
  WEFT_TRY_VOID(cuda_result(library->describe(device, &described, &error), error));
  WeftCudaContext* context = nullptr;
  WEFT_TRY_VOID(cuda_result(library->open(device, &context, &error), error));
  return std::shared_ptr<const CudaContext>(
      new CudaContext(std::move(library), context, described.exports_dma_buf != 0));
}

Result<std::unique_ptr<CudaBuffer>> CudaBuffer::allocate(std::shared_ptr<const CudaContext> context,
                                                         Bytes size, const std::filesystem::path& sysfs) {
  if (size.count() <= 0)
    return fail(ErrorKind::usage, "a buffer of {} bytes: expected at least 1", size.count());
  WeftCudaError error{};
  void* memory = nullptr;
  const auto bytes = static_cast<std::uint64_t>(whole_granules(size));
  const auto allocated =
      cuda_result(context->library().allocate(context->get(), bytes, &memory, &error), error);
  if (!allocated) return pass_on(allocated, fmt::format("a buffer of {} bytes on the GPU", size.count()));
  std::error_code ignored;
  const bool has_peer_memory = std::filesystem::exists(sysfs / "module/nvidia_peermem", ignored);
  return std::unique_ptr<CudaBuffer>(
      new CudaBuffer(std::move(context), static_cast<std::byte*>(memory), size, has_peer_memory));
}

std::vector<packet::MemoryPath> CudaBuffer::paths() const {
  std::vector<packet::MemoryPath> paths;
  if (context_->exports_dma_buf()) paths.push_back(packet::MemoryPath::dma_buf);
  if (has_peer_memory_) paths.push_back(packet::MemoryPath::peer_memory);
  paths.push_back(packet::MemoryPath::staged);
  return paths;
}

Result<packet::MemoryReach> CudaBuffer::take(packet::MemoryPath path) {
  dma_buf_ = os::FileDescriptor();
  staging_.reset();
  path_ = path;
  switch (path) {
    case packet::MemoryPath::dma_buf:
      return take_dma_buf();
    case packet::MemoryPath::peer_memory:
      if (!has_peer_memory_)
        return fail(ErrorKind::not_supported, "nvidia_peermem is not loaded: modprobe nvidia_peermem");
      return packet::MemoryReach{memory_};
    case packet::MemoryPath::staged:
      return take_staged();
    case packet::MemoryPath::host:
    case packet::MemoryPath::host_huge_pages:
      break;
  }
  return fail(ErrorKind::not_supported, "this is memory of a GPU, not {}", to_string(path));
}

Result<packet::MemoryReach> CudaBuffer::take_dma_buf() {
  WeftCudaError error{};
  int descriptor = -1;
  WEFT_TRY_VOID(cuda_result(
      context_->library().dma_buf(context_->get(), memory_, static_cast<std::uint64_t>(whole_granules(size_)),
                                  &descriptor, &error),
      error));
  dma_buf_ = os::FileDescriptor(descriptor);
  return packet::MemoryReach{memory_, descriptor};
}

Result<packet::MemoryReach> CudaBuffer::take_staged() {
  auto staging = HostBuffer::allocate(size_);
  if (!staging) return pass_on(staging, "a staged copy of GPU memory");
  staging_ = std::move(*staging);
  return packet::MemoryReach{staging_->memory().data()};
}

Result<void> CudaBuffer::copy(void* to, const void* from, std::uint64_t bytes) {
  WeftCudaError error{};
  return cuda_result(context_->library().copy(context_->get(), to, from, bytes, &error), error);
}

Result<void> CudaBuffer::before_send(packet::BufferRange range) {
  if (const auto fits = check_range(range, size_); !fits || !staging_) return fits;
  return copy(staging_->memory().data() + range.start, memory_ + range.start, range.bytes);
}

Result<void> CudaBuffer::after_receive(packet::BufferRange range) {
  if (const auto fits = check_range(range, size_); !fits || !staging_) return fits;
  return copy(memory_ + range.start, staging_->memory().data() + range.start, range.bytes);
}

Result<void> CudaBuffer::fill(packet::BufferRange range, std::uint64_t seed, std::uint64_t offset) {
  if (const auto fits = check_range(range, size_); !fits) return fits;
  WeftCudaError error{};
  return cuda_result(
      context_->library().fill(context_->get(), memory_ + range.start, range.bytes, seed, offset, &error),
      error);
}

Result<packet::PatternDifference> CudaBuffer::verify(packet::BufferRange range, std::uint64_t seed,
                                                     std::uint64_t offset) {
  WEFT_TRY_VOID(check_range(range, size_));
  WeftCudaError error{};
  WeftCudaDifference raw{};
  WEFT_TRY_VOID(cuda_result(context_->library().verify(context_->get(), memory_ + range.start, range.bytes,
                                                       seed, offset, &raw, &error),
                            error));
  packet::PatternDifference difference{.bytes = raw.bytes};
  for (std::size_t i = 0; i < packet::kFirstDifferences && i < raw.bytes; ++i)
    difference.first.push_back(raw.first[i]);
  return difference;
}

}  // namespace weft::gpu
