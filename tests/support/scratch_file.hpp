// A file with a name of its own that ends with the test.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace weft {

class ScratchFile {
 public:
  explicit ScratchFile(std::string_view text);
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;
  ~ScratchFile();
  std::string path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace weft
