#include "cli/lab_place.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>

#include "topology/lab/netns/lab_control.hpp"

namespace weft {

std::filesystem::path lab_state_root() {
  if (geteuid() == 0) return kLabsOfRoot;
  if (const char* runtime = std::getenv("XDG_RUNTIME_DIR"); runtime != nullptr && *runtime == '/')
    return std::filesystem::path(runtime) / "weft/labs";
  return fmt::format("/tmp/weft-{}/labs", geteuid());
}

std::filesystem::path ib_lab_root() { return lab_state_root().parent_path() / "ib-labs"; }

}  // namespace weft
