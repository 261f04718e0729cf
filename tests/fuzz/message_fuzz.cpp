// Messages of the bus: whatever decodes must encode to something that decodes to the same.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "probes/session/messages_json.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto message = weft::session::decode_to_agent(text);
      message && weft::session::decode_to_agent(weft::session::encode(*message)) != *message)
    std::abort();
  if (const auto message = weft::session::decode_to_coordinator(text);
      message && weft::session::decode_to_coordinator(weft::session::encode(*message)) != *message)
    std::abort();
  return 0;
}
