// Whatever the lines: an error of one harmless line, or a report whose every line is harmless.
#include <cstdint>
#include <cstdlib>

#include "collectors/nccl/slow.hpp"
#include "topology/base/outside_text.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weft;
  const auto profile = nccl::parse_profile({reinterpret_cast<const char*>(data), size}, "fuzz");
  if (!profile) return is_harmless(profile.error().message) ? 0 : (std::abort(), 0);
  const auto told = nccl::explain_slow({*profile, *profile});
  if (outside_text(nccl::slow_text(told, 80, 10), LineBreaks::kept) != nccl::slow_text(told, 80, 10))
    std::abort();
  static_cast<void>(nccl::slow_json(told, {.tool_version = "fuzz"}));
  return 0;
}
