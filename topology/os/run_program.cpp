#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "topology/os/child_process.hpp"

namespace weft {
namespace {

constexpr std::size_t kWordsShown = 400;  // characters of a failed program's stderr: two or three lines

std::string read_all(const FileDescriptor& file) {
  std::string text;
  char block[4096];
  ssize_t got = 0;
  while ((got = pread(file.get(), block, sizeof block, static_cast<off_t>(text.size()))) > 0)
    text.append(block, static_cast<std::size_t>(got));
  return text;
}

std::string shown(std::string words) {
  if (words.size() > kWordsShown) words = words.substr(0, kWordsShown) + " ...";
  while (!words.empty() && words.back() == '\n') words.pop_back();
  std::ranges::replace(words, '\n', ';');
  return words;
}

std::string command_line(const std::vector<std::string>& argv) {
  return fmt::format("{}", fmt::join(argv, " "));
}

}  // namespace

Result<std::string> run_program(const std::vector<std::string>& argv, std::string_view input,
                                Nanoseconds limit) {
  const FileDescriptor output(memfd_create("weft-output", MFD_CLOEXEC));
  const FileDescriptor errors(memfd_create("weft-errors", MFD_CLOEXEC));
  if (!output || !errors) return fail(ErrorKind::internal, "memfd_create: {}", std::strerror(errno));
  WEFT_TRY(auto child, ChildProcess::start({.argv = argv,
                                            .input = std::string(input),
                                            .output = ToDescriptor{output.get()},
                                            .errors = ToDescriptor{errors.get()}}));
  const auto ended = child.wait_for(limit);
  if (!ended) return pass_on(ended, command_line(argv));
  if (!*ended)
    return fail(ErrorKind::timeout, "'{}' did not end within {}", command_line(argv), to_string(limit));
  if (!(*ended)->success())
    return fail(ErrorKind::internal, "'{}' failed ({}): {}", command_line(argv), to_string(**ended),
                shown(read_all(errors)));
  return read_all(output);
}

}  // namespace weft
