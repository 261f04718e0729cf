// Whatever a file of marks holds: an error, or links that are shut at ports whose names mean themselves in a
// path and in a line, each with a mark of ours.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "balancer/export/port_target.hpp"
#include "balancer/export/slurm_node.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weft::exports;
  const auto marks = parse_port_marks({reinterpret_cast<const char*>(data), size}, "marks.json", "f");
  if (!marks) return 0;
  for (const auto& [link, shut] : *marks) {
    const bool is_port =
        port_text(PortDialect::sonic, shut.port, true) || port_text(PortDialect::cumulus, shut.port, true);
    if (!is_port || !mark_in_reason(shut.mark)) std::abort();
    if (shut.node.find('/') != std::string::npos) std::abort();
  }
  return 0;
}
