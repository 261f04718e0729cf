// What a killed test program leaves is taken away by the next one.
#include "tests/support/left_labs.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <filesystem>

#include "cli/lab_place.hpp"
#include "tests/support/infiniband_lab.hpp"
#include "tests/support/test_lab.hpp"
#include "topology/base/check.hpp"
#include "topology/model/clos.hpp"

namespace weft {
namespace {

/// Calls `make` in a process of its own and kills that while what it made stands; the text that `make` gives
/// of it.
template <class Make>
std::string made_by_a_killed_process(Make&& make) {
  std::array<int, 2> pipe_ends{};
  WEFT_CHECK(pipe(pipe_ends.data()) == 0);
  const pid_t child = fork();
  WEFT_CHECK(child >= 0);
  if (child == 0) {
    make([&](const std::string& text) {
      WEFT_CHECK(write(pipe_ends[1], text.data(), text.size()) == static_cast<ssize_t>(text.size()));
      while (true) pause();
    });
    _exit(1);
  }
  close(pipe_ends[1]);
  std::array<char, 256> text{};
  const auto size = read(pipe_ends[0], text.data(), text.size());
  close(pipe_ends[0]);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  return {text.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0))};
}

std::size_t namespaces_of(const std::string& lab) {
  std::size_t found = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/run/netns"))
    found += entry.path().filename().string().starts_with("weft-" + lab + "-");
  return found;
}

Fabric small() { return make_clos({.leaves = 2, .spines = 1, .hosts_per_leaf = 1}).value(); }

/// The directory of its state, in the scratch directory of its test.
std::filesystem::path lab_of_a_killed_process() {
  return made_by_a_killed_process([](auto&& say) {
    const TestLab lab(small());
    say((lab.root() / lab->name()).string());
  });
}

TEST(LeftLabs, OfAKilledTestGoAndThoseOfALivingOneStay) {
  const TestLab mine(small());
  const auto left = lab_of_a_killed_process();
  ASSERT_GT(namespaces_of(left.filename()), 0u) << left;
  remove_left_labs();
  EXPECT_EQ(namespaces_of(left.filename()), 0u);
  EXPECT_FALSE(std::filesystem::exists(left.parent_path()));
  EXPECT_GT(namespaces_of(mine->name()), 0u);
  EXPECT_TRUE(std::filesystem::exists(mine.root()));
}

TEST(LeftLabs, GoWhereTheirStateIsLost) {
  const auto left = lab_of_a_killed_process();
  std::filesystem::remove_all(left.parent_path());
  ASSERT_GT(namespaces_of(left.filename()), 0u) << left;
  remove_left_labs();
  EXPECT_EQ(namespaces_of(left.filename()), 0u);
}

using LeftInfinibandLabs = InfinibandLabTest;

TEST_F(LeftInfinibandLabs, OfAKilledTestGo) {
  const std::string left = made_by_a_killed_process([](auto&& say) {
    const InfinibandLab lab("{}");
    say(lab.name());
  });
  ASSERT_TRUE(lab::ib_lab_exists(left, cli::ib_lab_root())) << left;
  ASSERT_TRUE(std::filesystem::exists("/tmp/weft-" + left + ".yaml"));
  remove_left_labs();
  EXPECT_FALSE(lab::ib_lab_exists(left, cli::ib_lab_root()));
  EXPECT_FALSE(std::filesystem::exists("/tmp/weft-" + left + ".yaml"));
}

}  // namespace
}  // namespace weft
