#include "tests/support/command.hpp"

#include <gtest/gtest.h>

#include <regex>

namespace weft {

Outcome call(int (*command)(const cli::Arguments&), const cli::Arguments& words) {
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  const int status = command(words);
  return {status, testing::internal::GetCapturedStdout(), testing::internal::GetCapturedStderr()};
}

std::string unwrapped(const std::string& text) { return std::regex_replace(text, std::regex("\n *"), " "); }

}  // namespace weft
