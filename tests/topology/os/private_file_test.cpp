// Files with a secret: read where nobody else could, written as a whole.
#include "topology/os/private_file.hpp"
#include "tests/support/text_of.hpp"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "topology/os/scratch_directory.hpp"

namespace weft::os {
namespace {

using testing::HasSubstr;

class PrivateFile : public ::testing::Test {
 protected:
  void SetUp() override {
    auto made = ScratchDirectory::make();
    ASSERT_TRUE(made);
    scratch_ = std::move(*made);
  }
  std::filesystem::path in(const char* name) const { return scratch_->path() / name; }
  static Result<std::string> read(const std::filesystem::path& path, std::size_t most = 100) {
    return read_private_file(path, "the key", most);
  }

  std::optional<ScratchDirectory> scratch_;
};

TEST_F(PrivateFile, WhatIsWrittenIsReadAndIsTheOwnersAlone) {
  ASSERT_TRUE(write_whole_file(in("a"), "secret", 0600, Existing::refused));
  EXPECT_EQ(read(in("a")).value(), "secret");
  struct stat about {};
  ASSERT_EQ(stat(in("a").c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 07777, 0600u);
  EXPECT_EQ(read(in("a"), 6).value(), "secret");
  EXPECT_EQ(read(in("a"), 5).error().kind, ErrorKind::invalid_input);
}

TEST_F(PrivateFile, OfOneLineIsTakenWithoutItsEnd) {
  for (const char* text : {"a b", "a b\n", "a b\r\n", "a b\n\n"}) EXPECT_EQ(without_line_end(text), "a b");
  EXPECT_EQ(without_line_end("a\nb"), "a\nb");
  EXPECT_EQ(without_line_end("\n"), "");
}

TEST_F(PrivateFile, IsReplacedAsAWholeOrRefused) {
  ASSERT_TRUE(write_whole_file(in("a"), "one", 0600, Existing::replaced));
  EXPECT_EQ(write_whole_file(in("a"), "two", 0600, Existing::refused).error().kind, ErrorKind::conflict);
  EXPECT_EQ(read(in("a")).value(), "one");
  ASSERT_TRUE(write_whole_file(in("a"), "two", 0600, Existing::replaced));
  EXPECT_EQ(read(in("a")).value(), "two");
  EXPECT_EQ(write_whole_file(in("no/a"), "x", 0600, Existing::replaced).error().kind, ErrorKind::absent);
  int files = 0;
  for ([[maybe_unused]] const auto& each : std::filesystem::directory_iterator(scratch_->path())) ++files;
  EXPECT_EQ(files, 1) << "nothing is left beside";
}

TEST_F(PrivateFile, ALinkThatAnotherUserLeftBesideIsNotWrittenThrough) {
  std::ofstream(in("victim")) << "kept";
  auto beside = in("a");
  beside += ".new-" + std::to_string(getpid());
  std::filesystem::create_symlink(in("victim"), beside);
  ASSERT_TRUE(write_whole_file(in("a"), "new", 0600, Existing::replaced));
  EXPECT_EQ(text_of(in("victim")), "kept");
}

TEST_F(PrivateFile, OfRootAGroupMayReadAsOfACredentialOfAService) {
  if (geteuid() != 0) GTEST_SKIP() << "only root has files of root";
  ASSERT_TRUE(write_whole_file(in("a"), "secret", 0440, Existing::refused));
  EXPECT_TRUE(read(in("a")));
  for (const mode_t mode : {0444, 0460, 0602}) {
    ASSERT_EQ(chmod(in("a").c_str(), mode), 0);
    EXPECT_THAT(read(in("a")).error().message, HasSubstr("chmod 600")) << mode;
  }
}

}  // namespace
}  // namespace weft::os
