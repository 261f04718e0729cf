// Whatever the bytes: an error, or switches whose hosts stand under one switch each.
#include <cstdint>
#include <cstdlib>
#include <set>
#include <string_view>

#include "topology/files/switch_tree.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto tree = weft::files::parse_switch_tree({reinterpret_cast<const char*>(data), size}, "fuzz");
  if (!tree) return 0;
  std::set<std::string> hosts;
  if (tree->switches.empty()) std::abort();
  for (const auto& one : tree->switches) {
    if (one.name.empty() || one.hosts.empty()) std::abort();
    for (const auto& host : one.hosts)
      if (!hosts.insert(host).second) std::abort();
  }
  return 0;
}
