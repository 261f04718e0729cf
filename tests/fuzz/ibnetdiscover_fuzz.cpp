// Any bytes as an ibnetdiscover dump: read, made a fabric, written, and read again without loss.
#include <cstdint>
#include <cstdlib>

#include "topology/files/ibnetdiscover.hpp"
#include "topology/model/fabric.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto subnet = weft::files::parse_ibnetdiscover(text);
  if (!subnet) return 0;
  const auto built = weft::build_infiniband_fabric(*subnet, "fuzz");
  if (!built) std::abort();
  if (built->inventory.ports.size() != built->fabric.port_count()) std::abort();
  if (built->inventory.nodes.size() != built->fabric.node_count()) std::abort();
  if (built->fabric.node_count() == 0) return 0;
  const auto again =
      weft::files::parse_ibnetdiscover(weft::files::write_ibnetdiscover(built->fabric, built->inventory));
  if (!again && built->fabric.link_count() > 0) std::abort();
  return 0;
}
