#include "tests/support/scratch_file.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

namespace weft {

ScratchFile::ScratchFile(std::string_view text) {
  std::string name = std::filesystem::temp_directory_path() / "weft-test-XXXXXX";
  const int handle = mkstemp(name.data());
  EXPECT_GE(handle, 0) << "no scratch file in " << std::filesystem::temp_directory_path();
  close(handle);
  path_ = name;
  std::ofstream(path_, std::ios::binary) << text;
}

ScratchFile::~ScratchFile() {
  std::error_code ignored;
  std::filesystem::remove(path_, ignored);
}

}  // namespace weft
