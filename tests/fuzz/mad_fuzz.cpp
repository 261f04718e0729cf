// Any bytes as a MAD: every decoder either takes them or says why not.
#include <cstdint>

#include "probes/wire/mad_attributes.hpp"
#include "probes/wire/mad_counters.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const weft::ByteSpan bytes(reinterpret_cast<const std::byte*>(data), size);
  (void)weft::decode_mad_header(bytes);
  (void)weft::decode_node_info(bytes);
  (void)weft::decode_node_description(bytes);
  (void)weft::decode_switch_info(bytes);
  (void)weft::decode_port_info(bytes);
  (void)weft::decode_port_counters(bytes);
  (void)weft::decode_extended_counters(bytes);
  (void)weft::decode_wide_errors(bytes);
  (void)weft::decode_has_wide_errors(bytes);
  (void)weft::decode_is_fdr10(bytes);
  (void)weft::decode_adaptive_routing(bytes);
  (void)weft::decode_general_info(bytes);
  (void)weft::decode_fec_mode(bytes);
  (void)weft::decode_fec_counters(bytes, weft::FecMode::by_lane);
  (void)weft::decode_fec_counters(bytes, weft::FecMode::over_port);
  return 0;
}
