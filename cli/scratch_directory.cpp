#include "cli/scratch_directory.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace weft {

Result<ScratchDirectory> ScratchDirectory::make() {
  auto pattern = (std::filesystem::temp_directory_path() / "weft-XXXXXX").string();
  if (!mkdtemp(pattern.data()))
    return fail(ErrorKind::permission, "no scratch directory {}: {}", pattern, std::strerror(errno));
  return ScratchDirectory(pattern);
}

ScratchDirectory::~ScratchDirectory() {
  std::error_code ignored;  // nothing can be done about it here
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

}  // namespace weft
