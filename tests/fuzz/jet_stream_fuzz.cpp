// What a server answers, and the subjects it puts on messages: any bytes are read without harm.
#include <cstdint>
#include <string_view>

#include "collectors/bus/jet_stream.hpp"
#include "collectors/bus/under_way.hpp"
#include "probes/session/watch_subjects.hpp"
#include "topology/base/check.hpp"
#include "topology/base/outside_text.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weft;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto ack = bus::read_ack(text);
  if (!ack) WEFT_CHECK(is_harmless(ack.error().message));
  WEFT_CHECK(bus::is_kept(text, "WEFT_OBS") == (ack && ack->stream == "WEFT_OBS"));
  (void)bus::read_pulled_at(text);
  if (const auto name = session::name_in(text, session::kSay, "pod.1"))
    WEFT_CHECK(name->size() < text.size());
  const auto cut = text.substr(0, size / 2);
  const auto rest = text.substr(size / 2);
  WEFT_CHECK(session::name_in(session::watch_subject(session::kSay, cut, rest), session::kSay, cut) == rest);
  return 0;
}
