// Requests for labels and their answers: whatever is read is written as what reads back the same.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "probes/watch/label_messages.hpp"
#include "topology/base/outside_text.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weft;
  const auto bytes = std::as_bytes(std::span(data, size));
  if (const auto request = watch::decode_request(bytes)) {
    const auto again = watch::encode_request(*request);
    if (!again || watch::decode_request(*again) != *request) std::abort();
    if (watch::peek_request_id(bytes) != request->id) std::abort();
  }
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto answer = watch::read_answer(text);
  if (answer && watch::read_answer(watch::answer_text(*answer)) != *answer) std::abort();
  // A reason of any bytes becomes an answer that is read.
  const watch::LabelAnswer refused{.id = 1, .refused = std::string(text)};
  const auto told = watch::read_answer(watch::answer_text(refused));
  if (!told || !is_harmless(told->refused)) std::abort();
  return 0;
}
