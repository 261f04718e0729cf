// What the memory of a plugged module says: who made it, how warm it is, the light and the current of each
// lane. SFF-8472 (SFP, SFP+, SFP28), SFF-8636 (QSFP+, QSFP28, QSFP56) and CMIS (QSFP-DD, OSFP). Pure over a
// seam that reads half pages.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "topology/base/result.hpp"
#include "topology/findings/nic_reading.hpp"

namespace weft::host {

inline constexpr std::size_t kHalfPage = 128;

/// Bank 0. `offset` 0: the lower memory; 128: the upper memory of `page`.
struct HalfPage {
  std::uint8_t page = 0, offset = 0;
  std::uint8_t i2c = 0x50;  // 0x51: the diagnostics of an SFP (SFF-8472, "A2h")
};
/// 128 bytes.
using ReadHalfPage = std::function<Result<std::vector<std::byte>>(const HalfPage& at)>;

/// Errors: those of the first half page; invalid_input (fewer bytes than asked for); not_supported (another
/// kind of module). A page further on that cannot be read leaves its values absent.
Result<ModuleState> read_module(const ReadHalfPage& read);

}  // namespace weft::host
