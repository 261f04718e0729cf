#include "balancer/export/link_standings.hpp"

namespace weft::exports {

std::vector<Standing> link_standings(const Fabric& fabric, std::span<const std::string> objects,
                                     const SeeLink& see) {
  std::vector<bool> asked(fabric.link_count(), false);
  std::vector<Standing> standings;
  for (const std::string& object : objects) {
    if (fabric.find_node(object)) continue;  // a host
    const auto link = fabric.find_link(object);
    if (!link) {
      standings.push_back({.object = object, .text = link.error().message, .is_known = false});
      continue;
    }
    const auto seen = see(*link);
    if (!seen) continue;
    asked[link->value()] = true;
    standings.push_back({.object = object,
                         .whose = seen->is_off ? Whose::weft : Whose::nobody,
                         .text = seen->text,
                         .is_known = seen->is_known});
  }
  for (std::uint32_t i = 0; i < fabric.link_count(); ++i) {
    if (asked[i]) continue;
    if (const auto seen = see(LinkId(i)); seen && seen->is_off)
      standings.push_back({.object = fabric.name_of(LinkId(i)), .whose = Whose::others, .text = seen->text});
  }
  return standings;
}

}  // namespace weft::exports
