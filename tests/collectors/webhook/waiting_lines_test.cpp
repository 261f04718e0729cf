// Lines for a file and for standard output while their disk is full.
#include "collectors/webhook/waiting_lines.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <unistd.h>

#include <fstream>

#include "topology/os/file_descriptor.hpp"
#include "topology/os/scratch_directory.hpp"

namespace weft::webhook {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> lines_of(const std::filesystem::path& path) {
  std::vector<std::string> lines;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) lines.push_back(file.eof() ? line + " (cut)" : line);
  return lines;
}

/// A disk of 64 KB.
class TinyDisk : public ::testing::Test {
 protected:
  void SetUp() override {
    if (mount("tmpfs", directory_.path().c_str(), "tmpfs", 0, "size=64k") != 0)
      GTEST_SKIP() << "a test with a full disk needs to mount one: root";
    is_mounted_ = true;
  }
  void TearDown() override {
    if (is_mounted_) umount2(directory_.path().c_str(), MNT_DETACH);
  }
  void fill() const {
    std::ofstream(path("ballast")) << std::string(100'000, 'x');  // as much as goes
    std::ofstream(path("ballast"), std::ios::app) << std::string(4'096, 'x');
  }
  void make_room() const { std::filesystem::remove(path("ballast")); }
  std::filesystem::path path(std::string_view name) const { return directory_.path() / name; }

 private:
  os::ScratchDirectory directory_ = os::ScratchDirectory::make().value();
  bool is_mounted_ = false;
};

TEST_F(TinyDisk, LosesDoublesAndCutsNoLineOfAFile) {
  WaitingLines lines(file_sink(path("events")));
  ASSERT_TRUE(lines.add("one\n"));
  fill();
  const std::string longer(9'000, '2');  // of which the first page is there: a part fits
  const auto full = lines.add(longer + "\n");
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().kind, ErrorKind::absent);
  EXPECT_FALSE(lines.add("three\n"));
  EXPECT_FALSE(lines.flush());
  EXPECT_EQ(lines.waiting(), 2u);
  EXPECT_THAT(lines_of(path("events")), ElementsAre("one"));
  make_room();
  ASSERT_TRUE(lines.flush());
  EXPECT_THAT(lines_of(path("events")), ElementsAre("one", longer, "three"));
}

TEST_F(TinyDisk, LosesAndDoublesNothingOfAnOutputThatIsAFile) {
  const os::FileDescriptor output(open(path("out").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  WaitingLines lines(descriptor_sink(output.get()));
  ASSERT_TRUE(lines.add("one\n"));
  fill();
  const std::string longer(9'000, '2');
  EXPECT_FALSE(lines.add(longer + "\n"));
  EXPECT_FALSE(lines.add("three\n"));
  make_room();
  ASSERT_TRUE(lines.flush());
  EXPECT_THAT(lines_of(path("out")), ElementsAre("one", longer, "three"));
}

TEST(WaitingLines, FollowARotationAndSayWhatFails) {
  const auto directory = os::ScratchDirectory::make().value();
  const auto file = directory.path() / "events";
  WaitingLines lines(file_sink(file));
  ASSERT_TRUE(lines.add("one\n"));
  std::filesystem::rename(file, directory.path() / "events.1");
  ASSERT_TRUE(lines.add("two\n"));
  EXPECT_THAT(lines_of(file), ElementsAre("two"));
  EXPECT_THAT(WaitingLines(file_sink("/nowhere/events")).add("one\n").error().message,
              HasSubstr("/nowhere/events"));
  EXPECT_THAT(WaitingLines(file_sink("/dev/full")).add("one\n").error().message, HasSubstr("No space left"));
}

TEST(WaitingLines, AreBoundedTheOldestIsDroppedAndCounted) {
  std::string taken;
  std::size_t room = 2;
  WaitingLines lines(
      [&](std::string_view text) -> Result<std::size_t> {
        if (room == 0) return fail(ErrorKind::absent, "full");
        const auto some = text.substr(0, room);
        room -= some.size(), taken += some;
        return some.size();
      },
      3);
  for (const char* line : {"aaa\n", "bbb\n", "ccc\n", "ddd\n", "eee\n"}) EXPECT_FALSE(lines.add(line));
  EXPECT_EQ(lines.waiting(), 3u);
  EXPECT_EQ(lines.dropped(), 2u);
  room = 1000;
  ASSERT_TRUE(lines.flush());
  EXPECT_EQ(taken, "aaa\nddd\neee\n") << "what is begun is ended";
}

}  // namespace
}  // namespace weft::webhook
