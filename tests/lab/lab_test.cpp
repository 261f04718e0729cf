#include <gtest/gtest.h>

#include <unistd.h>

#include "topology/lab/lab_control.hpp"
#include "topology/model/clos.hpp"

namespace weft {
namespace {

TEST(Lab, ComesUpAndGoesDown) {
  const auto root = std::filesystem::temp_directory_path() / fmt::format("weft-lab-{}", getpid());
  const Fabric fabric = *make_clos({.leaves = 2, .spines = 2, .hosts_per_leaf = 2});
  const auto up = lab_up("t1", fabric, {}, root);
  ASSERT_TRUE(up) << up.error().message;
  auto ping = spawn_in(up->lab, *fabric.find_node("host1"), {.argv = {"true"}});
  ASSERT_TRUE(ping) << ping.error().message;
  EXPECT_TRUE(ping->wait()->success());
  const auto down = lab_down("t1", root);
  ASSERT_TRUE(down) << down.error().message;
  EXPECT_TRUE(*down);
  std::filesystem::remove_all(root);
}

}  // namespace
}  // namespace weft
