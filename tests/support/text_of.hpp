// text_of: what stands in a file of a test, empty where there is none.
#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace weft {

inline std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace weft
