#include "probes/packet/transfer_buffer.hpp"

#include "topology/base/check.hpp"

namespace weft::packet {

std::string_view to_string(MemoryPath path) {
  switch (path) {
    case MemoryPath::host_huge_pages:
      return "host memory, huge pages";
    case MemoryPath::host:
      return "host memory";
    case MemoryPath::dma_buf:
      return "GPU memory by dma-buf";
    case MemoryPath::peer_memory:
      return "GPU memory by peer memory";
    case MemoryPath::staged:
      return "GPU memory by a staged copy";
  }
  WEFT_CHECK(false);
  return "";
}

}  // namespace weft::packet
