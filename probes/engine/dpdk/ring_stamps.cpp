#include "probes/engine/dpdk/ring_stamps.hpp"

#include <linux/if_packet.h>
#include <sys/stat.h>

#include <algorithm>
#include <bit>
#include <fstream>
#include <iterator>
#include <string>

#include "topology/base/whole_number.hpp"

namespace weft::dpdk {
namespace {

constexpr std::uint32_t kTag = 4;  // of IEEE 802.1Q: the driver puts it back

}  // namespace

std::optional<std::uintptr_t> mapping_of(std::string_view maps, std::uint64_t inode, std::size_t bytes) {
  const std::string name = " socket:[" + std::to_string(inode) + "]";
  std::optional<std::uintptr_t> found;
  while (!maps.empty()) {
    const auto line = maps.substr(0, maps.find('\n'));
    maps.remove_prefix(std::min(line.size() + 1, maps.size()));
    if (!line.ends_with(name)) continue;
    const auto dash = line.find('-'), space = line.find(' ');
    if (found || dash == std::string_view::npos || dash > space) return std::nullopt;
    const auto begin = parse_whole_number<std::uintptr_t>(line.substr(0, dash), 16);
    const auto end = parse_whole_number<std::uintptr_t>(line.substr(dash + 1, space - dash - 1), 16);
    if (!begin || !end || *end < *begin || *end - *begin != bytes) return std::nullopt;
    found = begin;
  }
  return found;
}

std::optional<RingStamps> RingStamps::find(int socket, const RingShape& shape) {
  struct stat status {};
  if (shape.count == 0 || shape.frame < sizeof(tpacket2_hdr) || ::fstat(socket, &status) != 0)
    return std::nullopt;
  std::ifstream file("/proc/self/maps");
  const std::string maps(std::istreambuf_iterator<char>(file), {});
  const auto first = mapping_of(maps, status.st_ino, 2 * shape.frame * shape.count);
  if (!first) return std::nullopt;
  return RingStamps(std::bit_cast<const std::byte*>(*first), shape);
}

RingStamps::RingStamps(const std::byte* first, const RingShape& shape)
    : first_(first), next_(first), shape_(shape) {}

std::uint32_t RingStamps::look(std::uint32_t most) {
  if (!in_step_) return most;
  most = std::min({most, kMaxLooked, static_cast<std::uint32_t>(shape_.count)});
  const std::byte* const end = first_ + shape_.count * shape_.frame;
  const std::byte* place = next_;
  for (count_ = 0; count_ < most; ++count_) {
    const auto* const header = reinterpret_cast<const tpacket2_hdr*>(place);
    // The kernel writes all else before the status.
    if ((__atomic_load_n(&header->tp_status, __ATOMIC_ACQUIRE) & TP_STATUS_USER) == 0) break;
    looked_[count_] = {header->tp_sec * std::uint64_t{1'000'000'000} + header->tp_nsec, header->tp_snaplen};
    place += shape_.frame;
    if (place == end) place = first_;
  }
  return count_;
}

void RingStamps::stamp(std::span<WeftDpdkFrame> came) {
  if (!in_step_) return;
  in_step_ = came.size() <= count_;
  for (std::size_t i = 0; in_step_ && i < came.size(); ++i) {
    in_step_ = ((came[i].size - looked_[i].size) & ~kTag) == 0;  // the size, or a tag more
    if (in_step_) came[i].stamp = looked_[i].stamp;
  }
  next_ += came.size() * shape_.frame;
  const std::size_t ring = shape_.count * shape_.frame;
  if (next_ >= first_ + ring) next_ -= ring;
}

}  // namespace weft::dpdk
