// Mads over libibumad: one port of one local HCA (/dev/infiniband/umadN), or of ibsim when its preload
// library stands in. The kernel matches answers to what was sent and reports what got none.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "probes/mad/mads.hpp"

namespace weft::umad {

struct UmadPort {
  std::optional<Guid> guid = std::nullopt;  // of the port; the two below are then found by it
  std::string device;                       // empty: the first with an active InfiniBand port
  std::uint8_t port = 0;                    // 0: the device's first active port
  /// Takes the requests of these classes of weft's own that others send here.
  std::vector<mad::MadClass> answers = {};
  /// Says that a subnet manager is here, for as long as it is open: ibsim hands requests to those alone (and
  /// crashes its preload library when one comes before the classes are registered). Never on a real fabric.
  bool in_ibsim = false;
};

/// An Error names what is missing: no device, no port with that GUID, no right to open it, a build without
/// libibumad.
Result<std::unique_ptr<mad::Mads>> open_umad(const UmadPort& port);

}  // namespace weft::umad
