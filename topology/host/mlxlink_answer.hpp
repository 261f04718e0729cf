// What `mlxlink -m -c --rx_fec_histogram --show_histogram --json` of NVIDIA's firmware tools prints of one
// device: counts and the module. Its bit error rates are figures ("15E-255": none) and not read. The form is
// that of MFT 4.34, as others published it of a ConnectX-7; it was never run on a device here. Pure.
#pragma once

#include <optional>
#include <string_view>

#include "topology/base/result.hpp"
#include "topology/findings/nic_reading.hpp"

namespace weft::host {

struct MlxlinkAnswer {
  /// "mlxlink_symbol_errors" (behind the correction), "mlxlink_raw_errors_lane0" on (before it),
  /// "mlxlink_link_down"; where the device tells its histogram, "mlxlink_fec_bin0" on.
  NamedCounts counts;
  std::optional<ModuleState> module = std::nullopt;
};

/// What is not told, or no number, is left out. Errors: invalid_input (no such document, too large);
/// not_supported, with its own words (its status is not zero).
Result<MlxlinkAnswer> read_mlxlink(std::string_view text);

}  // namespace weft::host
