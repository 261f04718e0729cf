// The tests of this folder make network namespaces. As an ordinary user run them under
// `unshare -Urnm --propagation private`, with a tmpfs on /run/netns.
#include <gtest/gtest.h>

#include "tests/support/left_labs.hpp"
#include "topology/lab/netns/holder.hpp"

namespace weft {
namespace {

class NeedsRoot : public testing::Environment {
  void SetUp() override {
    if (!lab::may_build_as_root())
      GTEST_SKIP() << "needs root, or a user namespace of its own, to build labs";
    remove_left_labs();
  }
};

const auto* const kNeedsRoot = testing::AddGlobalTestEnvironment(new NeedsRoot);

}  // namespace
}  // namespace weft
