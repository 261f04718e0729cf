// Where the labs of this user are kept, and which of them an option means.
#pragma once

#include <filesystem>
#include <string>

namespace weft {

inline constexpr const char* kDefaultLabName = "default";

/// /run/weft/labs as root; $XDG_RUNTIME_DIR/weft/labs as a user, /tmp/weft-UID/labs where that is not set.
std::filesystem::path lab_state_root();
/// Where the InfiniBand labs (ibsim) of this user are kept: beside the others.
std::filesystem::path ib_lab_root();

}  // namespace weft
