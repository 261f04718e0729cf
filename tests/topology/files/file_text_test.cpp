#include "topology/files/file_text.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <fstream>
#include <thread>

namespace weft::files {
namespace {

constexpr Bytes kMaxBytes(100'000);

class NamedPipe {
 public:
  NamedPipe() { EXPECT_EQ(mkfifo(path_.c_str(), 0600), 0); }
  NamedPipe(const NamedPipe&) = delete;
  NamedPipe& operator=(const NamedPipe&) = delete;
  ~NamedPipe() { unlink(path_.c_str()); }
  const std::string& path() const { return path_; }

 private:
  std::string path_ = testing::TempDir() + "weft_pipe_" + std::to_string(getpid());
};

TEST(FileText, ANamedPipeThatNobodyWritesToIsRefusedSoon) {
  const NamedPipe pipe;
  const auto began = std::chrono::steady_clock::now();
  const auto text = read_text_file(pipe.path(), kMaxBytes);
  ASSERT_FALSE(text);
  EXPECT_THAT(text.error().message, testing::HasSubstr(pipe.path() + " is a pipe, and nobody writes to it"));
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(10));
}

TEST(FileText, ANamedPipeWithAWriterIsReadToItsEnd) {
  const NamedPipe pipe;
  const std::string all(90'000, 'x');  // more than a pipe holds
  std::jthread writer([&] { std::ofstream(pipe.path()) << all; });
  EXPECT_EQ(read_text_file(pipe.path(), kMaxBytes).value_or(""), all);
}

TEST(FileText, APipeOfAShellIsWaitedFor) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  std::jthread writer([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(2300));  // longer than a named one may take
    EXPECT_EQ(::write(ends[1], "late", 4), 4);
    close(ends[1]);
  });
  EXPECT_EQ(read_text_file("/dev/fd/" + std::to_string(ends[0]), kMaxBytes).value_or(""), "late");
  writer.join();
  EXPECT_EQ(read_text_file("/dev/fd/" + std::to_string(ends[0]), kMaxBytes).value_or("none"), "");
  close(ends[0]);
}

TEST(FileText, WhatNeverEndsIsBoundedAndAFolderIsNamed) {
  EXPECT_THAT(read_text_file("/dev/zero", kMaxBytes).error().message, testing::HasSubstr("larger than"));
  EXPECT_THAT(read_text_file("/tmp", kMaxBytes).error().message, testing::HasSubstr("is a folder"));
  EXPECT_EQ(read_text_file("/no/such", kMaxBytes).error().kind, ErrorKind::not_found);
}

std::string text_of(const std::string& path) {
  return read_text_file(path, kMaxBytes).value_or("unreadable");
}

TEST(FileText, ALinkIsFollowedAndWhatIsNoOrdinaryFileStaysWhatItIs) {
  const std::string place = testing::TempDir() + "weft_written_" + std::to_string(getpid());
  std::filesystem::create_directory(place);
  const std::string target = place + "/target", link = place + "/link", dangling = place + "/dangling";
  ASSERT_TRUE(write_text_file(target, "old"));
  std::filesystem::create_symlink("target", link);
  std::filesystem::create_symlink("made", dangling);
  EXPECT_TRUE(write_text_file(link, "new"));
  EXPECT_TRUE(write_text_file(dangling, "first"));
  EXPECT_TRUE(std::filesystem::is_symlink(link) && std::filesystem::is_symlink(dangling));
  EXPECT_EQ(text_of(target), "new");
  EXPECT_EQ(text_of(place + "/made"), "first");
  if (geteuid() == 0) {  // a link that another user made leads nowhere
    const std::string foreign = place + "/foreign";
    std::filesystem::create_symlink("target", foreign);
    ASSERT_EQ(lchown(foreign.c_str(), 65534, 65534), 0);
    EXPECT_TRUE(write_text_file(foreign, "not there"));
    EXPECT_FALSE(std::filesystem::is_symlink(foreign));
    EXPECT_EQ(text_of(target), "new");
  }
  const auto folder = write_text_file(place, "x");
  ASSERT_FALSE(folder);
  EXPECT_THAT(folder.error().message, testing::HasSubstr("is a folder"));
  std::filesystem::remove_all(place);

  const NamedPipe pipe;
  EXPECT_FALSE(write_text_file(pipe.path(), "nobody reads it"));
  std::string came;
  {
    const std::jthread reader([&] { came = text_of(pipe.path()); });
    for (int i = 0; i < 200 && !write_text_file(pipe.path(), "through"); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_EQ(came, "through");
  EXPECT_TRUE(std::filesystem::is_fifo(pipe.path()));
}

TEST(FileText, MoreThanAPipeHoldsIsWrittenToItsEnd) {
  const std::string all(1'000'000, 'x');
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  std::string came;
  {
    const std::jthread reader([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));  // it is full by then
      came = read_text_file("/dev/fd/" + std::to_string(ends[0]), Bytes(2'000'000)).value_or("");
    });
    EXPECT_TRUE(write_text_file("/dev/fd/" + std::to_string(ends[1]), all));
    close(ends[1]);
  }
  close(ends[0]);
  EXPECT_EQ(came.size(), all.size());
}

}  // namespace
}  // namespace weft::files
