// What another user put where the labs of an ordinary user stand is neither read nor acted on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "topology/lab/ibsim/ib_lab.hpp"
#include "topology/lab/netns/state.hpp"
#include "topology/os/processes.hpp"
#include "topology/os/scratch_directory.hpp"

namespace weft::lab {
namespace {

constexpr uid_t kAnother = 12345;
constexpr uid_t kNobody = 65534;

/// A directory of another user with the lab `mine` in it, whose list of processes names one of ours.
class OthersState : public testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "only root can make a directory of another user";
    std::filesystem::permissions(place_->path(), std::filesystem::perms::all);
    std::filesystem::create_directories(root_ / "mine");
    victim_ = os::ChildProcess::start({.argv = {"/bin/sleep", "60"}}).value();
    const auto mark = os::mark_of(victim_->pid());
    std::ofstream(root_ / "mine" / "processes") << mark->pid << ' ' << mark->start << '\n';
    ASSERT_EQ(chown(root_.c_str(), kAnother, kAnother), 0);
    ASSERT_EQ(seteuid(kNobody), 0);
  }
  void TearDown() override {
    if (geteuid() == kNobody) {
      ASSERT_EQ(seteuid(0), 0);
    }
  }

  Result<os::ScratchDirectory> place_ = os::ScratchDirectory::make();
  std::filesystem::path root_ = place_->path() / "labs";
  std::optional<os::ChildProcess> victim_;
};

TEST_F(OthersState, OfAnInfinibandLabIsNotReadAndItsProcessesAreNotEnded) {
  const auto opened = ib_lab_open("mine", root_);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().kind, ErrorKind::permission);
  EXPECT_THAT(opened.error().message, testing::HasSubstr("belongs to another user"));
  const auto ended = ib_lab_down("mine", root_);
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().kind, ErrorKind::permission);
  ASSERT_EQ(seteuid(0), 0);
  EXPECT_TRUE(victim_->running());
  EXPECT_TRUE(std::filesystem::exists(root_ / "mine" / "processes"));
}

TEST_F(OthersState, OfALabOfNamespacesIsNotRead) {
  const auto read = read_lab_state(root_, "mine");
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().kind, ErrorKind::permission);
}

}  // namespace
}  // namespace weft::lab
