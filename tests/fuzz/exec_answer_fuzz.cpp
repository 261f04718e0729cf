// Whatever a program of the site answers: an error, or what stands at objects that were asked for, each once,
// and a mark of ours only where it has our form.
#include <cstdint>
#include <cstdlib>
#include <set>
#include <string_view>

#include "balancer/export/exec_target.hpp"
#include "balancer/export/slurm_node.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weft::exports;
  const std::vector<std::string> objects{"host1", "host1/p2", "leaf1--spine2"};
  const auto standings = parse_standings({reinterpret_cast<const char*>(data), size}, objects);
  if (!standings) return 0;
  std::set<std::string> seen;
  for (const Standing& standing : *standings) {
    if (!seen.insert(standing.object).second || seen.size() > objects.size()) std::abort();
    if ((standing.whose == Whose::weft) != standing.mark.has_value()) std::abort();
    if (standing.mark && mark_in_reason(standing.text) != standing.mark) std::abort();
  }
  return 0;
}
