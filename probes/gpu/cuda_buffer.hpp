// CudaBuffer: memory of a GPU for transfers: by dma-buf where the driver gives it out, by peer memory where
// nvidia_peermem is loaded, else through a staged copy on the host. Filled and verified by CUDA kernels.
#pragma once

#include <filesystem>
#include <memory>

#include "probes/gpu/cuda_library.hpp"
#include "probes/gpu/host_buffer.hpp"
#include "topology/os/file_descriptor.hpp"

namespace weft::gpu {

/// One opened GPU; its buffers keep it open.
class CudaContext {
 public:
  static Result<std::shared_ptr<const CudaContext>> open(std::shared_ptr<const CudaLibrary> library,
                                                         int device);
  ~CudaContext() { library_->close(context_); }
  CudaContext(const CudaContext&) = delete;
  CudaContext& operator=(const CudaContext&) = delete;

  const CudaLibrary& library() const { return *library_; }
  WeftCudaContext* get() const { return context_; }
  bool exports_dma_buf() const { return exports_dma_buf_; }

 private:
  CudaContext(std::shared_ptr<const CudaLibrary> library, WeftCudaContext* context, bool exports_dma_buf)
      : library_(std::move(library)), context_(context), exports_dma_buf_(exports_dma_buf) {}
  std::shared_ptr<const CudaLibrary> library_;
  WeftCudaContext* context_;
  bool exports_dma_buf_;
};

class CudaBuffer final : public packet::TransferBuffer {
 public:
  /// `sysfs`: /sys, or a captured one; it says whether nvidia_peermem is loaded. Errors: no memory, a device
  /// error.
  static Result<std::unique_ptr<CudaBuffer>> allocate(std::shared_ptr<const CudaContext> context, Bytes size,
                                                      const std::filesystem::path& sysfs = "/sys");
  ~CudaBuffer() override { context_->library().free(context_->get(), memory_); }
  CudaBuffer(const CudaBuffer&) = delete;
  CudaBuffer& operator=(const CudaBuffer&) = delete;

  Bytes size() const override { return size_; }
  std::vector<packet::MemoryPath> paths() const override;
  Result<packet::MemoryReach> take(packet::MemoryPath path) override;
  packet::MemoryPath path() const override { return path_; }
  Result<void> before_send(packet::BufferRange range) override;
  Result<void> after_receive(packet::BufferRange range) override;
  Result<void> fill(packet::BufferRange range, std::uint64_t seed, std::uint64_t offset) override;
  Result<packet::PatternDifference> verify(packet::BufferRange range, std::uint64_t seed,
                                           std::uint64_t offset) override;

 private:
  CudaBuffer(std::shared_ptr<const CudaContext> context, std::byte* memory, Bytes size, bool has_peer_memory)
      : context_(std::move(context)), memory_(memory), size_(size), has_peer_memory_(has_peer_memory) {}
  Result<packet::MemoryReach> take_dma_buf();
  Result<packet::MemoryReach> take_staged();
  Result<void> copy(void* to, const void* from, std::uint64_t bytes);

  std::shared_ptr<const CudaContext> context_;
  std::byte* memory_;
  Bytes size_;
  bool has_peer_memory_;
  packet::MemoryPath path_ = packet::MemoryPath::staged;
  os::FileDescriptor dma_buf_;
  std::unique_ptr<HostBuffer> staging_;
};

}  // namespace weft::gpu
