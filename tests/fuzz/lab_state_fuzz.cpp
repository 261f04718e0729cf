// Whatever the bytes: an error, or a lab's state that is written and read back the same.
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "topology/lab/netns/state.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto state = weft::lab::lab_state_from_json(nlohmann::json::parse(data, data + size, nullptr, false));
  if (!state) return 0;
  const auto written = weft::lab::to_json(*state);
  const auto again = weft::lab::lab_state_from_json(written);
  if (!again || weft::lab::to_json(*again) != written || !weft::lab::same_fabric(*state, *again))
    std::abort();
  (void)weft::with_lab_rates(state->fabric, state->settings);
  return 0;
}
