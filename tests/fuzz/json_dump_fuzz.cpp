// Whatever the text, as one rank's dump of a job of two: an error of one harmless line, or a verdict that may
// be shown and names no link.
#include <cstdint>
#include <cstdlib>

#include "collectors/nccl/dump_tree.hpp"
#include "collectors/nccl/hang_report.hpp"
#include "topology/base/outside_text.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weft;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  nccl::DumpTree tree;
  if (!nccl::read_json_dump(text, tree)) return 0;
  const auto dump = nccl::parse_flight_dump(text, tree);
  if (!dump) return is_harmless(dump.error().message) ? 0 : (std::abort(), 0);
  nccl::HangInput input;
  input.dumps.push_back({0, "0", *dump});
  input.dumps.push_back({1, "1", *dump});
  const auto told = nccl::explain_hang(input, std::nullopt);
  if (!told.links.empty() || told.sentence.empty()) std::abort();
  for (const auto& shown : {nccl::hang_json(told, {.tool_version = "fuzz"}), nccl::hang_text(told, 80)})
    if (outside_text(shown, LineBreaks::kept) != shown) std::abort();
  return 0;
}
