#include "cli/stamp.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>

#include "cli/options.hpp"

namespace weft::cli {

files::DocumentStamp stamp_now() {
  return {std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now()),
          std::string(tool_version())};
}

std::string who_asks() {
  for (const char* name : {"SUDO_USER", "USER"})
    if (const char* user = std::getenv(name); user != nullptr && *user != '\0') return user;
  return fmt::format("uid {}", getuid());
}

}  // namespace weft::cli
