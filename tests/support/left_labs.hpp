// What test programs that were killed left behind: labs (t<PID>-N, ibtest-<PID>), their network namespaces
// and scratch directories (weft-test-<PID>-N). A program that makes labs calls this before its first.
#pragma once

#include <gtest/gtest.h>

namespace weft {

/// Takes away what is named after a process that has gone, of this user alone. That a pid is in use again
/// keeps what is named after it; the pids are those of this PID namespace.
void remove_left_labs();

class RemovesLeftLabs : public testing::Environment {
  void SetUp() override { remove_left_labs(); }
};

}  // namespace weft
