// Questions of the exchange by addresses: any bytes are read as a question without harm, and what reads is
// written to the same; so is the offer of queue pairs in it.
#include <cstdint>
#include <string_view>

#include "probes/engine/verbs/addressed_exchange.hpp"
#include "probes/engine/verbs/qp_messages.hpp"
#include "topology/base/check.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view message(reinterpret_cast<const char*>(data), size);
  const auto question = weft::verbs::decode_addressed(message);
  if (!question) return 0;
  const auto written = weft::verbs::encode_addressed(*question);
  const auto again = weft::verbs::decode_addressed(written);
  WEFT_CHECK(again && again->from == question->from && again->text == question->text);
  WEFT_CHECK(written.size() <= message.size());  // "007 " is NIC 7
  if (const auto asked = weft::verbs::decode_qp_question(question->text)) {
    const auto same = weft::verbs::decode_qp_question(weft::verbs::encode(*asked));
    WEFT_CHECK(same && weft::verbs::encode(*same) == weft::verbs::encode(*asked));
  }
  return 0;
}
