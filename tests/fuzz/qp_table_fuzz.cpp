// Whatever the text: an error of one harmless line, or tables that are written and read back the same.
#include <cstdint>
#include <cstdlib>

#include "collectors/nccl/qp_table.hpp"
#include "topology/base/outside_text.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weft;
  const auto tables = nccl::parse_qp_tables({reinterpret_cast<const char*>(data), size}, "fuzz");
  if (!tables) return is_harmless(tables.error().message) ? 0 : (std::abort(), 0);
  const files::DocumentStamp stamp{.tool_version = "fuzz"};
  const auto text = nccl::qp_tables_json(*tables, stamp);
  const auto again = nccl::parse_qp_tables(text, "fuzz");
  if (!again || nccl::qp_tables_json(*again, stamp) != text) std::abort();
  return 0;
}
