// Any bytes as a MAD: every decoder either takes them or says why not. Then a true probe, damaged where the
// input says: it counts only where nothing of it changed.
#include <cstdint>
#include <cstdlib>

#include "probes/mad/mad_attributes.hpp"
#include "probes/mad/mad_counters.hpp"
#include "probes/mad/mad_probe.hpp"

namespace {

constexpr weft::RunId kRun(0x1122334455667788);
constexpr weft::packet::RunKey kKey{std::byte{1}};

void damaged_probe(weft::ByteSpan damage) {
  const auto whole =
      weft::mad::encode_mad_probe({.run = kRun, .batch = weft::BatchId(3), .sequence = 9}, kKey);
  auto bytes = whole;
  for (std::size_t i = 0; i < std::min(bytes.size(), damage.size()); ++i) bytes[i] ^= damage[i];
  const bool counts = weft::mad::decode_mad_probe(bytes, kRun, kKey).has_value();
  // From its kind to its authenticator: bytes 40 to 83.
  if (counts && !std::equal(bytes.begin() + 40, bytes.begin() + 84, whole.begin() + 40)) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const weft::ByteSpan bytes(reinterpret_cast<const std::byte*>(data), size);
  (void)weft::mad::decode_mad_header(bytes);
  (void)weft::mad::decode_node_info(bytes);
  (void)weft::mad::decode_node_description(bytes);
  (void)weft::mad::decode_switch_info(bytes);
  (void)weft::mad::decode_port_info(bytes);
  (void)weft::mad::decode_port_counters(bytes);
  (void)weft::mad::decode_extended_counters(bytes);
  (void)weft::mad::decode_wide_errors(bytes);
  (void)weft::mad::decode_has_wide_errors(bytes);
  (void)weft::mad::decode_is_fdr10(bytes);
  (void)weft::mad::decode_adaptive_routing(bytes);
  (void)weft::mad::decode_general_info(bytes);
  (void)weft::mad::decode_fec_mode(bytes);
  (void)weft::mad::decode_fec_counters(bytes, weft::mad::FecMode::by_lane);
  (void)weft::mad::decode_fec_counters(bytes, weft::mad::FecMode::over_port);
  (void)weft::mad::decode_mad_probe(bytes, kRun, kKey);
  damaged_probe(bytes);
  return 0;
}
