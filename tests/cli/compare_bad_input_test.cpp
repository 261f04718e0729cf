// What `weft compare` is given by mistake or by somebody who means ill, through the command: an answer that
// says so, or an error that names file and line.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <deque>
#include <fstream>
#include <nlohmann/json.hpp>

#include "cli/commands.hpp"
#include "tests/support/command.hpp"
#include "tests/support/schema.hpp"
#include "tests/support/scratch_file.hpp"
#include "tests/support/text_of.hpp"
#include "topology/os/scratch_directory.hpp"

namespace weft::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kHeader = "# OSU MPI Latency Test v5.9\n# Size Latency (us)\n";

/// Runs of a side, in a directory of their own.
class Runs {
 public:
  std::string add(const std::string& name, const std::string& text) {
    const auto path = directory_.path() / name;
    std::ofstream(path) << text;
    return path;
  }
  /// Three runs near `base` microseconds, of sizes 8 and 16, with `more` behind the rows of the last.
  Arguments three(const std::string& side, int base, const std::string& more = "") {
    Arguments files;
    for (int i = 0; i < 3; ++i)
      files.push_back(add(fmt::format("{}{}.log", side, i),
                          fmt::format("job {}{}\n{}8 {}.{}0\n16 {}.{}0\n{}", side, i, kHeader, base, i, base,
                                      i + 1, i == 2 ? more : "")));
    return files;
  }
  std::filesystem::path path() const { return directory_.path(); }

 private:
  os::ScratchDirectory directory_ = os::ScratchDirectory::make().value();
};

Outcome compared(Arguments a, const Arguments& b, const Arguments& more = {}) {
  a.emplace_back("--with");
  a.insert(a.end(), b.begin(), b.end());
  a.insert(a.end(), more.begin(), more.end());
  return call(compare_command, a);
}

TEST(CompareBadInput, ATableThatIsCutLeavesItsSideIncomplete) {
  Runs runs;
  const auto a = runs.three("a", 100);
  auto b = runs.three("b", 100);
  const auto whole = compared(a, b);
  EXPECT_EQ(whole.status, 0) << whole.out << whole.err;
  std::ofstream(b[1]) << kHeader << "8 100.10\n16 10";  // in the middle of a number
  const auto cut = compared(a, b);
  EXPECT_EQ(cut.status, 3) << cut.out << cut.err;
  EXPECT_THAT(cut.out, AllOf(HasSubstr("1 run incomplete in B"), HasSubstr("line 4: the table is cut")));
}

TEST(CompareBadInput, ZerosNegativeAndInfiniteValuesDoNotCount) {
  Runs runs;
  const auto a = runs.three("a", 100);
  const auto b = runs.three("b", 100, "32 0.00\n64 -1.00\n128 inf\n256 nan\n512 1e999\n1024 1e-999\n");
  const auto some = compared(a, b, {"-o", "json"});
  EXPECT_EQ(some.status, 0) << some.out << some.err;
  expect_matches_schema(some.out, "comparison");
  const auto document = nlohmann::json::parse(some.out);
  EXPECT_EQ(document["cells"].size(), 2U);
  EXPECT_TRUE(document["only_b"].empty()) << document["only_b"];
  EXPECT_THAT(document["b"].dump(), AllOf(HasSubstr("0.00 has no ratio"), HasSubstr("1e999 has no")));
  const auto none = runs.add("none.log", std::string(kHeader) + "8 0.00\n16 inf\n");
  const auto refused = compared(a, {none});
  EXPECT_EQ(refused.status, 64);
  EXPECT_THAT(refused.err, AllOf(HasSubstr(none + ": no results"), HasSubstr("has no ratio")));
}

/// When runs were taken by their clock, which is `ahead` hours: seven hours apart, from the first of a month.
std::string clocked(const Arguments& files, const char* day, int ahead) {
  std::string lines;
  for (std::size_t i = 0; i < files.size(); ++i) {
    const int hours = static_cast<int>(i) * 7 + ahead;
    lines += fmt::format("{},{}-{:02}T{:02}:00:00Z\n", files[i], day, 1 + hours / 24, hours % 24);
  }
  return lines;
}

TEST(CompareBadInput, ClocksThatDisagreeInventNoDifference) {
  Runs runs;
  Arguments a, b;
  for (int i = 0; i < 12; ++i) {
    const auto text = [&](char side, double off) {
      return fmt::format("job {}{}\n{}8 {:.2f}\n", side, i, kHeader, 100 + std::sin(5.0 * i + off));
    };
    a.push_back(runs.add(fmt::format("a{}.log", i), text('a', 0)));
    b.push_back(runs.add(fmt::format("b{}.log", i), text('b', 1)));
  }
  // By half a day, by years, and so that both sides say the same moment, or one moment alone.
  for (const auto& [day, ahead] :
       {std::pair("2026-03", 12), {"1970-01", 0}, {"2262-03", 5}, {"2026-03", 0}}) {
    const ScratchFile times("file,time\n" + clocked(a, "2026-03", 0) + clocked(b, day, ahead));
    const auto outcome = compared(a, b, {"--times", times.path(), "-o", "json"});
    EXPECT_EQ(outcome.status, 0) << day << ": " << outcome.out << outcome.err;
    expect_matches_schema(outcome.out, "comparison");
    EXPECT_THAT(outcome.out, Not(HasSubstr("nan")));
  }
  std::string one = "file,time\n";
  for (const auto& files : {a, b})
    for (const auto& file : files) one += file + ",2026-03-01T00:00:00Z\n";
  const ScratchFile times(one);
  const auto outcome = compared(a, b, {"--times", times.path()});
  EXPECT_EQ(outcome.status, 0) << outcome.out << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("hour"));
}

TEST(CompareBadInput, NamesWithMarkupAndControlCharactersAreHarmless) {
  Runs runs;
  const auto text = [](int i) {
    return fmt::format(
        "$ ./all_reduce_perf\n# size count type redop time algbw busbw error\n"
        "8 2 <b>\x1b[31m <script>alert(2)</script> 10{}.00 1 1 0\n# Out of bounds values : 0 OK\n",
        i);
  };
  const std::string folder = "a<script>alert(1)<";  // a name holds no slash: it is that of the end tag
  std::filesystem::create_directory(runs.path() / folder);
  const Arguments a{runs.add(folder + "/script>\x1b[31m.log", text(0))}, b{runs.add("b.log", text(1))};
  const auto page = (runs.path() / "page.html").string();
  const auto outcome = compared(a, b, {"--html", page});
  EXPECT_EQ(outcome.status, 3) << outcome.out << outcome.err;
  EXPECT_THAT(outcome.out + outcome.err, Not(HasSubstr("\x1b")));
  EXPECT_THAT(outcome.out, HasSubstr("<b>\\x1b[31m"));
  EXPECT_THAT(text_of(page), AllOf(Not(HasSubstr("<script>alert")), Not(HasSubstr("\x1b")),
                                   HasSubstr("&lt;script&gt;alert(2)")));
  for (const char* form : {"json", "csv", "jsonl"})
    EXPECT_THAT(compared(a, b, {"-o", form}).out, Not(HasSubstr("\x1b"))) << form;
}

TEST(CompareBadInput, MoreResultsThanARunHasAreRefusedWithTheirLine) {
  Runs runs;
  const auto a = runs.three("a", 100);
  const auto hole = runs.add("hole.log", std::string(kHeader) + "8 1.00\n");
  std::filesystem::resize_file(hole, 1'000'000'000);
  const auto line = compared(a, {hole});
  EXPECT_EQ(line.status, 64);
  EXPECT_THAT(line.err, HasSubstr(hole + ": line 4 is longer than"));
  std::string rows = kHeader;
  for (int i = 0; i <= 2'000'000; ++i) rows += "8 1.00\n";
  const auto many = runs.add("many.log", rows);
  const auto values = compared(a, {many});
  EXPECT_EQ(values.status, 64);
  EXPECT_THAT(values.err, HasSubstr(many + ": line 2000003: more than 2000000 values"));
  const auto document = runs.add("document.json", "{\"results\":[");
  std::filesystem::resize_file(document, 1'000'000'000);
  EXPECT_THAT(compared(a, {document}).err, HasSubstr("a document of more than 67108864 bytes"));
}

}  // namespace
}  // namespace weft::cli
