// Assignments and what agents say of themselves: whatever is read is written as what reads back the same.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "probes/watch/assignment_json.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weft::watch;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto assignment = read_assignment(text);
      assignment && read_assignment(to_json_text(*assignment)) != *assignment)
    std::abort();
  if (const auto speech = read_speech(text); speech && read_speech(to_json_text(*speech)) != *speech)
    std::abort();
  return 0;
}
