// Whatever stands in the file that weft gate reads: a verdict with words that can be shown, and a refusal
// only where a line of this host says so.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "balancer/export/gate.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weft;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const UtcTime now(std::chrono::seconds(1'800'000'000));
  const auto said = exports::read_gate(text, "gpu001", now, std::chrono::hours(48));
  for (const char c : said.text)
    if (c < 0x20 || c > 0x7e) std::abort();
  if (said.verdict == Verdict::failed && text.find("\ngpu001 failed") == std::string_view::npos) std::abort();
  return 0;
}
