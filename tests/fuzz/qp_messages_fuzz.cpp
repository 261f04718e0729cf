// What a peer says about queue pairs: whatever decodes must encode to something that decodes to the same.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "probes/engine/verbs/qp_messages.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto question = weft::verbs::decode_qp_question(text);
      question && weft::verbs::decode_qp_question(weft::verbs::encode(*question)) != *question)
    std::abort();
  if (const auto answer = weft::verbs::decode_qps_connected(text);
      answer && weft::verbs::decode_qps_connected(weft::verbs::encode(*answer)) != *answer)
    std::abort();
  return 0;
}
