#include "tests/support/command.hpp"

#include <gtest/gtest.h>

namespace weft {

Outcome call(int (*command)(const cli::Arguments&), const cli::Arguments& words) {
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  const int status = command(words);
  return {status, testing::internal::GetCapturedStdout(), testing::internal::GetCapturedStderr()};
}

}  // namespace weft
