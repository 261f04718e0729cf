#include "topology/lab/netns/hosts_text.hpp"

#include <fmt/format.h>

#include "topology/model/fabric.hpp"

namespace weft::lab {

std::string hosts_text(const Fabric& fabric, const AddressBook& addresses) {
  std::string text;
  for (std::uint32_t n = 0; n < fabric.node_count(); ++n) {
    const std::string& name = fabric.name_of(NodeId(n));
    bool is_named = false;
    if (const auto own = addresses.address_of(NodeId(n))) {
      text += fmt::format("{} {}\n", to_string(*own), name);
      is_named = true;
    }
    for (const PortId port : fabric.ports_of(NodeId(n)))
      if (const auto address = addresses.address_of(port)) {
        text += fmt::format("{} {}p{}.{}\n", to_string(*address), is_named ? "" : name + " ",
                            fabric.port(port).number.value(), name);
        is_named = true;
      }
  }
  return text;
}

}  // namespace weft::lab
