// Whatever the bytes: an error of one harmless line, or a dump whose entries lead to groups and operations
// that it has.
#include <cstdint>
#include <cstdlib>

#include "collectors/nccl/dump_tree.hpp"
#include "collectors/nccl/flight_dump.hpp"
#include "topology/base/outside_text.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weft;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  nccl::DumpTree tree;
  static_cast<void>(nccl::read_pickle(text, tree));
  const auto dump = nccl::parse_flight_dump(text, tree);
  if (!dump) return is_harmless(dump.error().message) ? 0 : (std::abort(), 0);
  for (const auto& entry : dump->entries)
    if (entry.group >= dump->groups.size() || entry.operation >= dump->operations.size()) std::abort();
  for (const auto& group : dump->groups)
    if (!is_harmless(group.name + group.description)) std::abort();
  for (const auto& operation : dump->operations)
    if (!is_harmless(to_string(operation))) std::abort();
  return 0;
}
