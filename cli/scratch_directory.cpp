#include "cli/scratch_directory.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace weft {

Result<ScratchDirectory> ScratchDirectory::make() {
  std::error_code error;
  const auto place = std::filesystem::temp_directory_path(error);
  if (error)
    return fail(ErrorKind::absent, "no directory for temporary files: {}: set TMPDIR to one that is there",
                error.message());
  auto pattern = (place / "weft-XXXXXX").string();
  if (!mkdtemp(pattern.data()))
    return fail(ErrorKind::permission, "no scratch directory {}: {}", pattern, std::strerror(errno));
  return ScratchDirectory(pattern);
}

ScratchDirectory::~ScratchDirectory() {
  std::error_code ignored;  // nothing can be done about it here
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

}  // namespace weft
