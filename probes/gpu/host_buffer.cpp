#include "probes/gpu/host_buffer.hpp"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>

namespace weft::gpu {
namespace {

// The huge page of x86-64 and of most arm64 kernels.
constexpr std::size_t kHugePage = std::size_t{2} << 20;

/// A zeroed mapping, or null.
void* map(std::size_t bytes, int flags) {
  void* address = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
  return address == MAP_FAILED ? nullptr : address;
}

/// On huge pages that are there indeed: those promised may still be refused as they are touched, by a limit
/// on the agent's control group. Null: there are none.
void* map_huge(std::size_t bytes) {
  void* address = map(bytes, MAP_HUGETLB);
  if (address == nullptr || madvise(address, bytes, MADV_POPULATE_WRITE) == 0) return address;
  if (errno == EINVAL) return address;  // a kernel before 5.14, which cannot be asked
  munmap(address, bytes);
  return nullptr;
}

}  // namespace

Result<void> check_range(packet::BufferRange range, Bytes size) {
  const auto end = static_cast<std::uint64_t>(size.count());
  if (range.start <= end && range.bytes <= end - range.start) return {};
  return fail(ErrorKind::usage, "bytes {} to {} do not lie in a buffer of {}", range.start,
              range.start + range.bytes, end);
}

Result<std::unique_ptr<HostBuffer>> HostBuffer::allocate(Bytes size) {
  if (size.count() <= 0)
    return fail(ErrorKind::usage, "a buffer of {} bytes: expected at least 1", size.count());
  const auto bytes = static_cast<std::size_t>(size.count());
  const auto make = [&](void* address, std::size_t mapped, packet::MemoryPath path) {
    return std::unique_ptr<HostBuffer>(
        new HostBuffer({static_cast<std::byte*>(address), bytes}, mapped, path));
  };
  const auto whole = (bytes + kHugePage - 1) / kHugePage * kHugePage;
  if (bytes >= kHugePage)
    if (void* huge = map_huge(whole)) return make(huge, whole, packet::MemoryPath::host_huge_pages);
  void* address = map(bytes, 0);
  if (address == nullptr)
    return fail(ErrorKind::absent, "no host memory for a buffer of {} bytes: {}", bytes,
                std::strerror(errno));
  madvise(address, bytes, MADV_HUGEPAGE);  // a wish; the kernel may not have it
  return make(address, bytes, packet::MemoryPath::host);
}

HostBuffer::~HostBuffer() { munmap(memory_.data(), mapped_); }

Result<packet::MemoryReach> HostBuffer::take(packet::MemoryPath path) {
  if (path != path_)
    return fail(ErrorKind::not_supported, "this is {}, not {}", to_string(path_), to_string(path));
  return packet::MemoryReach{memory_.data()};
}

Result<void> HostBuffer::fill(packet::BufferRange range, std::uint64_t seed, std::uint64_t offset) {
  if (const auto fits = check_range(range, size()); !fits) return fits;
  packet::fill_pattern(memory_.subspan(range.start, range.bytes), seed, offset);
  return {};
}

Result<packet::PatternDifference> HostBuffer::verify(packet::BufferRange range, std::uint64_t seed,
                                                     std::uint64_t offset) {
  WEFT_TRY_VOID(check_range(range, size()));
  return packet::verify_pattern(memory_.subspan(range.start, range.bytes), seed, offset);
}

}  // namespace weft::gpu
