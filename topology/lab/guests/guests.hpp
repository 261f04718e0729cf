// Guests: hosts of a lab that are machines of their own under QEMU (emulated, no KVM), with a kernel that has
// soft-RoCE, so that verbs run over real packets. The host's namespace stays as the wall socket: it joins
// each cable to a tap, shapes it and takes its faults. A guest ends with its lab, like any process in it.
#pragma once

#include <stop_token>

#include "topology/lab/netns/lab.hpp"

namespace weft::lab {

/// Where a guest takes commands, on its management address.
inline constexpr std::uint16_t kGuestCommandPort = 7791;

/// In a lab's state directory: their consoles and pid files.
inline constexpr const char* kGuestFiles = "guests";

/// Boots all guests of the lab at once and waits until each takes commands (three minutes at most). Consoles
/// and pid files go to `directory`. Errors: absent (no image, no QEMU: says how to get them), timeout (with
/// the end of the console), conflict (stopped).
Result<void> boot_guests(const Lab& lab, const std::filesystem::path& directory, std::stop_token stop);

/// Of these guests those that run no more, by the pid files in `directory`.
std::vector<std::string> ended_guests(const std::vector<std::string>& guests,
                                      const std::filesystem::path& directory);

/// What to start here so that `spec` runs in the guest.
os::ChildSpec in_guest(const Lab& lab, NodeId guest, os::ChildSpec spec);

/// QEMU's command line for a guest. Pure.
std::vector<std::string> guest_command(const Lab& lab, NodeId guest, const std::filesystem::path& image);

}  // namespace weft::lab
