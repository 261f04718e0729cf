// --dpdk-args: any text is refused with a reason, or gives words for DPDK that are known ones and rings that
// hold a whole frame.
#include <cstdint>
#include <string_view>

#include "probes/engine/dpdk/dpdk_arguments.hpp"
#include "topology/base/check.hpp"
#include "topology/base/outside_text.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weft;
  constexpr std::size_t kMtu = 4200;
  const auto arguments = dpdk::parse_dpdk_arguments({reinterpret_cast<const char*>(data), size});
  if (!arguments) {
    WEFT_CHECK(is_harmless(arguments.error().message));
    return 0;
  }
  for (const std::string& word : arguments->start)
    WEFT_CHECK(word != "-d" && word != "-h" && word != "--help");
  const auto device = device_for(*arguments, "p1");
  if (!device) return 0;
  const auto sized = sized_for(*device, kMtu);
  if (sized) WEFT_CHECK(sized->frame > kMtu && sized->queues >= 1 && sized->queues <= dpdk::kMaxQueues);
  return 0;
}
