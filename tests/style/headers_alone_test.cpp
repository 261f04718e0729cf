// Each header compiles alone. The build itself shows it of a header that some .cpp includes first; only the
// others are compiled here, without making code, two at a time.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <atomic>
#include <cstdio>
#include <thread>

#include "tests/places.hpp"
#include "tests/style/rules.hpp"

namespace weft::style {
namespace {

constexpr unsigned kAtOnce = 2;

/// What the compiler says of this header alone; empty: nothing, it compiles.
std::string complaints_about(const std::string& header) {
  const std::string root = WEFT_SOURCE_DIR;
  // `nice`: labs run beside it, and what they time is not to be the compiler.
  const std::string command = "nice -n 19 timeout 240 " WEFT_CXX " -std=c++20 -fsyntax-only -w -x c++ -I'" +
                              root + "' -include '" + root + "/" + header + "' /dev/null 2>&1";
  std::FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return "cannot start the compiler";
  std::string said;
  char buffer[4096];
  for (std::size_t n = 0; (n = std::fread(buffer, 1, sizeof buffer, pipe)) > 0;) said.append(buffer, n);
  const int status = pclose(pipe);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
  return said.empty() ? "the compiler failed without a word" : said;
}

TEST(Style, EachHeaderCompilesAlone) {
  const auto headers = headers_never_first(read_code(WEFT_SOURCE_DIR));
  ASSERT_FALSE(headers.empty());
  std::vector<std::string> said(headers.size());
  std::atomic<std::size_t> next = 0;
  {
    std::vector<std::jthread> workers;
    for (unsigned w = 0; w < kAtOnce; ++w)
      workers.emplace_back([&] {
        for (std::size_t i = next++; i < headers.size(); i = next++) said[i] = complaints_about(headers[i]);
      });
  }
  for (std::size_t i = 0; i < headers.size(); ++i) EXPECT_EQ(said[i], "") << headers[i];
}

}  // namespace
}  // namespace weft::style
