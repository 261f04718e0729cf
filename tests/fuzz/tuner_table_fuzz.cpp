// Whatever the text: an error of one harmless line, or a table that is written as it was read.
#include <cstdint>
#include <cstdlib>

#include "balancer/steer/tuner_table.hpp"
#include "topology/base/outside_text.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weft;
  // The fuzzer does not find a checksum: it is put there.
  std::string text(reinterpret_cast<const char*>(data), size);
  if (text.ends_with(':')) text += fmt::format("{:016x}", steer::tuner_checksum(text));
  const auto table = steer::decode_tuner(text);
  if (!table) return is_harmless(table.error().message) ? 0 : (std::abort(), 0);
  const auto again = steer::encode_tuner(*table);
  if (!again || steer::decode_tuner(*again).value() != *table) std::abort();
  return 0;
}
