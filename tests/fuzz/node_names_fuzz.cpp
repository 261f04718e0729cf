// Any bytes as a node-name map: read, or named what is wrong and where.
#include <cstdint>

#include "topology/model/ib_subnet.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  (void)weft::parse_node_names(std::string_view(reinterpret_cast<const char*>(data), size));
  return 0;
}
