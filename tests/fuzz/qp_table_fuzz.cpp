// Whatever the text: an error of one harmless line, or a table that is written and read back the same.
#include <cstdint>
#include <cstdlib>

#include "collectors/nccl/qp_table.hpp"
#include "topology/base/outside_text.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weft;
  const auto table = nccl::parse_qp_table({reinterpret_cast<const char*>(data), size}, "fuzz");
  if (!table) return is_harmless(table.error().message) ? 0 : (std::abort(), 0);
  const files::DocumentStamp stamp{.tool_version = "fuzz"};
  const auto text = nccl::qp_table_json(*table, stamp);
  const auto again = nccl::parse_qp_table(text, "fuzz");
  if (!again || nccl::qp_table_json(*again, stamp) != text) std::abort();
  return 0;
}
