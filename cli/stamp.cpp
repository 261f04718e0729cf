#include "cli/stamp.hpp"

#include <chrono>

#include "cli/options.hpp"

namespace weft::cli {

files::DocumentStamp stamp_now() {
  return {std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now()),
          std::string(tool_version())};
}

}  // namespace weft::cli
