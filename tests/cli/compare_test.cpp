// `weft compare` as a user calls it.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/commands.hpp"
#include "collectors/store/counter_readings.hpp"
#include "collectors/store/watch_store.hpp"
#include "tests/support/command.hpp"
#include "tests/support/schema.hpp"
#include "tests/support/scratch_file.hpp"
#include "topology/base/instant.hpp"
#include "topology/base/text.hpp"
#include "topology/model/clos.hpp"
#include "topology/os/scratch_directory.hpp"

namespace weft::cli {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

/// A table of two sizes with times near `time`, in microseconds.
std::string table(double time) {
  std::string text =
      "$ ./build/all_reduce_perf -b 1M -e 2M -f 2\n"
      "# size count type redop root time algbw busbw #wrong time algbw busbw #wrong\n";
  for (const int size : {1 << 20, 1 << 21})
    text += fmt::format("{} {} float sum -1 {:.2f} 1 1 0 {:.2f} 1 1 0\n", size, size / 4, time, time * 1.01);
  return text + "# Out of bounds values : 0 OK\n";
}

using Texts = std::vector<std::string>;

Texts tables(const std::vector<double>& times) {
  Texts texts;
  for (const double time : times) texts.push_back(table(time));
  return texts;
}

/// No text is another's: each has a line with its number.
Outcome compared_texts(const Texts& a, const Texts& b, const Arguments& more = {}) {
  std::deque<ScratchFile> files;
  const auto path_of = [&](const std::string& text) {
    return files.emplace_back(fmt::format("job {}\n{}", files.size(), text)).path();
  };
  Arguments words;
  for (const auto& text : a) words.push_back(path_of(text));
  words.push_back("--with");
  for (const auto& text : b) words.push_back(path_of(text));
  words.insert(words.end(), more.begin(), more.end());
  return call(compare_command, words);
}

Outcome compared(const std::vector<double>& a, const std::vector<double>& b, const Arguments& more = {}) {
  return compared_texts(tables(a), tables(b), more);
}

/// With `count` wrong results in its first row, out of place.
std::string with_wrong(std::string text, int count) {
  return text.replace(text.find("1 1 0 "), 6, fmt::format("1 1 {} ", count));
}

TEST(Compare, RunsThatAgreeAreEqualAndTheStatusIsZero) {
  const auto outcome = compared({100, 101, 99}, {100.5, 99.5, 101});
  EXPECT_EQ(outcome.status, 0) << outcome.out << outcome.err;
  EXPECT_THAT(outcome.out, testing::StartsWith("A and B are equal within 5 % in 4 cells\n"));
  EXPECT_THAT(outcome.out, HasSubstr("all cells: all_reduce float sum\n"));
  EXPECT_THAT(outcome.out, HasSubstr("without blocks: what drifted"));
  EXPECT_THAT(outcome.out, Not(HasSubstr("only in")));
}

TEST(Compare, ADifferenceIsToldWithItsSizeAndWhomItFavours) {
  const auto outcome = compared({100, 101, 99}, {120, 121, 119});
  EXPECT_EQ(outcome.status, 1) << outcome.out << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("A and B differ in 4 of 4 cells"));
  EXPECT_THAT(outcome.out, HasSubstr("A better by 20 %"));
  EXPECT_THAT(outcome.out, HasSubstr("1.200 ("));
}

TEST(Compare, OneRunASideIsUndecidedWithoutAnInterval) {
  const auto outcome = compared({100}, {120});
  EXPECT_EQ(outcome.status, 3) << outcome.out << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("undecided: 4 of 4 cells"));
  EXPECT_THAT(outcome.out, Not(HasSubstr("1.200 (")));
  EXPECT_THAT(outcome.out, HasSubstr("needed"));
}

TEST(Compare, FitsATerminalAndSaysNoNan) {
  for (const auto& outcome : {compared({100}, {120}), compared({100, 130, 99}, {101, 95, 140}),
                              compared({100, 101, 99}, {120, 121, 119})}) {
    std::istringstream lines(outcome.out);
    for (std::string line; std::getline(lines, line);) EXPECT_LE(columns_of(line), 80U) << line;
    EXPECT_THAT(outcome.out, Not(HasSubstr("nan")));
  }
}

TEST(Compare, BlocksAreTheUnitAndMustFit) {
  const auto outcome = compared({100, 102, 104, 106, 108, 110}, {101, 101, 105, 105, 109, 109}, {"--blocks"});
  EXPECT_EQ(outcome.status, 0) << outcome.out << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("3 blocks A, B, B, A"));
  EXPECT_EQ(compared({100, 101, 99}, {100, 101, 99}, {"--blocks"}).status, 64);
}

TEST(Compare, TheDocumentMeetsItsSchemaInEveryVerdict) {
  for (const auto& outcome :
       {compared({100}, {120}, {"-o", "json"}), compared({100, 130, 99}, {101, 95, 140}, {"-o", "json"}),
        compared({100, 101, 99}, {120, 121, 119}, {"-o", "json"}),
        compared({100, 101, 99}, {100, 101, 99}, {"-o", "json"})}) {
    expect_matches_schema(outcome.out, "comparison");
    EXPECT_THAT(nlohmann::json::parse(outcome.out)["cells"], SizeIs(4));
  }
}

TEST(Compare, RowsHaveOneLineACellAndOneARemark) {
  const auto csv = compared({100, 101, 99}, {120, 121, 119}, {"-o", "csv"});
  EXPECT_EQ(std::ranges::count(csv.out, '\n'), 6);
  EXPECT_THAT(csv.out, HasSubstr("all_reduce float sum in-place,1048576,time,s,"));
  EXPECT_THAT(csv.out, HasSubstr(",remark,\"A and B differ in 4 of 4 cells"));
  EXPECT_THAT(compared({100}, {120}, {"-o", "jsonl"}).out, HasSubstr(R"("low":null)"));
}

TEST(Compare, AFabricWithWrongResultsOrCellsThatLackIsNotEqual) {
  const auto good = tables({100, 101, 99});
  EXPECT_EQ(compared_texts(good, good).status, 0);
  auto wrong = good;
  wrong[1] = with_wrong(wrong[1], 9);
  const auto outcome = compared_texts(good, wrong);
  EXPECT_EQ(outcome.status, 3) << outcome.out << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("1 row wrong in B"));
  auto lacking = good;  // the first size of each run
  for (auto& text : lacking) text = with_wrong(text, 9);
  const auto one_sided = compared_texts(lacking, good);
  EXPECT_EQ(one_sided.status, 3);
  EXPECT_THAT(one_sided.out, HasSubstr("1 cell only in B"));
  EXPECT_THAT(one_sided.out, HasSubstr("3 rows wrong in"));
  EXPECT_THAT(one_sided.out, HasSubstr("only in B: all_reduce float sum out-of-place 1 MiB"));
  EXPECT_THAT(one_sided.out, HasSubstr("line 4: wrong results"));
}

TEST(Compare, EveryFormatTellsWhatIsOnOneSideAloneAndRemarks) {
  const Texts a{with_wrong(table(100), 9)};
  const Texts b{table(100)};
  const auto json = compared_texts(a, b, {"-o", "json"});
  expect_matches_schema(json.out, "comparison");
  const auto tree = nlohmann::json::parse(json.out);
  EXPECT_THAT(tree["only_b"], SizeIs(1));
  EXPECT_EQ(tree["a"][0]["wrong_rows"], 1);
  EXPECT_THAT(tree["sentence"].get<std::string>(), HasSubstr("1 cell only in B, 1 row wrong in A"));
  const auto csv = compared_texts(a, b, {"-o", "csv"}).out;
  EXPECT_THAT(csv, HasSubstr("all_reduce float sum out-of-place,1048576,time,s,,,,,,,,,,,,only_b,\n"));
  EXPECT_THAT(csv, HasSubstr("line 4: wrong results"));
  const auto jsonl = compared_texts(a, b, {"-o", "jsonl"}).out;
  EXPECT_THAT(jsonl, HasSubstr(R"("row":"only_b")"));
  EXPECT_THAT(jsonl, HasSubstr("line 4: wrong results"));
}

TEST(Compare, FilesOfTheSameTextAreRefusedByName) {
  const ScratchFile one(table(100));
  const ScratchFile copy(table(100));
  const ScratchFile other(table(101));
  for (const Arguments& words : {Arguments{one.path(), "--with", other.path(), other.path()},
                                 {one.path(), "--with", one.path()},
                                 {one.path(), "--with", other.path(), copy.path()}}) {
    const auto outcome = call(compare_command, words);
    EXPECT_EQ(outcome.status, 64) << outcome.out;
    EXPECT_THAT(outcome.err, HasSubstr(words.back() + " have the same text"));
  }
  EXPECT_THAT(call(compare_command, {one.path(), "--with", copy.path()}).err,
              HasSubstr(one.path() + " and " + copy.path()));
}

TEST(Compare, TellsSmallNumbersAsTheyAre) {
  const auto outcome = compared({1e6}, {1});
  EXPECT_THAT(outcome.out, HasSubstr("1e-06"));
  EXPECT_THAT(outcome.out, Not(HasSubstr("0.000")));
  EXPECT_THAT(compared({100, 101}, {99, 102}, {"--blocks"}).out, HasSubstr("1 block A, B, B, A"));
}

TEST(Compare, WhatCannotBeComparedIsRefused) {
  const ScratchFile run(table(100));
  const ScratchFile other("# OSU MPI Bandwidth Test v5.9\n# Size Bandwidth (MB/s)\n8 2.50\n");
  const ScratchFile broken("# OSU MPI Bandwidth Test v5.9\n# Size Bandwidth (MB/s)\n8 2.50 3\n");
  const auto none = call(compare_command, {run.path(), "--with", other.path()});
  EXPECT_EQ(none.status, 64);
  EXPECT_THAT(none.err, HasSubstr("no cell is on both sides"));
  EXPECT_THAT(call(compare_command, {run.path(), "--with", broken.path()}).err,
              HasSubstr(broken.path() + ": line 3"));
  EXPECT_THAT(call(compare_command, {run.path()}).err, HasSubstr("no runs of B"));
  EXPECT_THAT(call(compare_command, {"--with", run.path()}).err, HasSubstr("no runs of A"));
  EXPECT_EQ(call(compare_command, {run.path(), "--with", "/no/such/file"}).status, 64);
  EXPECT_EQ(call(compare_command, {run.path(), "--with", run.path(), "--margin", "0%"}).status, 64);
}

/// Runs over six days on a fabric that is 4 % slower at noon: A around the clock, then B from ten to
/// fourteen.
struct DatedRuns {
  std::deque<ScratchFile> files;
  Arguments words;
  std::string times = "file,time,celsius\n";

  DatedRuns() {
    for (int day = 1; day <= 6; ++day)
      for (int i = 0; i < 6; ++i) {
        const bool is_b = day > 4;
        const double hour = is_b ? 10 + 0.8 * i : 4.0 * i;
        const double noon = (1 - std::cos(2 * M_PI * hour / 24)) / 2;
        const double noise = 0.2 * std::sin(7.0 * day + 3.0 * i);
        files.emplace_back(fmt::format("job {}\n{}", files.size(), table(100 * (1 + 0.04 * noon) + noise)));
        if (day == 5 && i == 0) words.emplace_back("--with");
        words.push_back(files.back().path());
        times += fmt::format("{},2026-03-0{}T{:02}:{:02}:00Z,\n", files.back().path(), day,
                             static_cast<int>(hour), static_cast<int>(hour * 60) % 60);
      }
  }
  Outcome compared(const Arguments& more) const {
    auto all = words;
    all.insert(all.end(), more.begin(), more.end());
    return call(compare_command, all);
  }
};

TEST(Compare, ARemarkOfManyRunsStandsOnce) {
  Texts unnamed = tables({100, 101, 99});  // no command line, so no collective
  for (std::string& text : unnamed) text.erase(0, text.find('\n') + 1);
  const std::string remark = "the table does not name its collective";
  const auto rows = compared_texts(unnamed, unnamed, {"-o", "csv"}).out;
  EXPECT_THAT(rows, HasSubstr("in 6 runs ("));
  EXPECT_EQ(rows.find(remark), rows.rfind(remark)) << rows;
}

TEST(Compare, TheHelpPageShowsRunAndAMistypedRunIsToldAsOne) {
  EXPECT_THAT(call(compare_command, {"--help"}).out, HasSubstr("\n       weft compare run (A.yaml B.yaml"));
  const auto mistyped = call(compare_command, {"rum", "f.yaml"});
  EXPECT_EQ(mistyped.status, 64);
  EXPECT_EQ(mistyped.err, "weft: rum: no such file; did you mean `weft compare run`?\n");
  EXPECT_THAT(call(compare_command, {"other"}).err, HasSubstr("no runs of B"));
}

TEST(Compare, WithTimesTheHourOfDayIsNotInTheRatioAndIsShown) {
  const DatedRuns runs;
  const ScratchFile times(runs.times);
  EXPECT_THAT(runs.compared({"--margin", "1%"}).out, HasSubstr("A and B differ")) << "noon is in the ratio";
  const auto outcome = runs.compared({"--margin", "1%", "--times", times.path()});
  EXPECT_EQ(outcome.status, 0) << outcome.out << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("B/A is without the hour of day"));
  EXPECT_THAT(outcome.out, HasSubstr("up and down"));
  std::istringstream lines(outcome.out);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(columns_of(line), 80U) << line;
  const auto json = runs.compared({"--times", times.path(), "-o", "json"});
  expect_matches_schema(json.out, "comparison");
  const auto cycle = nlohmann::json::parse(json.out)["cells"][0]["cycle"];
  EXPECT_NEAR(cycle["swing"]["share"].get<double>(), 0.04, 0.01);
  EXPECT_NEAR(cycle["highest_at"].get<double>(), 12, 1) << "times are longest at noon";
}

TEST(Compare, TimesThatCannotBeReadAreRefusedAndThoseThatLackAreSaid) {
  const DatedRuns runs;
  EXPECT_EQ(runs.compared({"--times", "/no/such/file"}).status, 64);
  const ScratchFile wrong("file,when\n"), few("file,time\nnobody.log,2026-03-01T00:00:00Z\n"),
      short_one(runs.times.substr(0, runs.times.rfind('\n', runs.times.size() - 2) + 1));
  EXPECT_THAT(runs.compared({"--times", wrong.path()}).err, HasSubstr("line 1: expected the columns"));
  EXPECT_EQ(runs.compared({"--times", wrong.path()}).status, 64);
  EXPECT_THAT(runs.compared({"--times", wrong.path(), "--blocks"}).err, HasSubstr("leave one out"));
  EXPECT_THAT(runs.compared({"--times", few.path()}).err, HasSubstr("none of these runs"));
  EXPECT_THAT(runs.compared({"--times", short_one.path()}).out, HasSubstr("of 1 run nobody says"));
}

/// The database of a watch whose only agent told a temperature each two hours of these days.
struct WarmedWatch {
  os::ScratchDirectory directory = os::ScratchDirectory::make().value();
  std::string file = (directory.path() / "watch.db").string();

  explicit WarmedWatch(int days, double celsius = 41.5) {
    const Fabric fabric = make_clos({.leaves = 1, .spines = 1, .hosts_per_leaf = 1}).value();
    EXPECT_TRUE(store::WatchStore::open(file, fabric));
    std::map<Nanoseconds, std::string> texts;
    const Nanoseconds first = parse_instant("2026-03-01T00:00:00Z").value();
    for (int hour = 0; hour < 24 * days; hour += 2)
      texts[first + std::chrono::hours(hour)] = fmt::format(
          "{{\"schema\":\"weft.counters/1\"}}\n{{\"at\":\"{}\",\"source\":\"agent "
          "host1\",\"port\":\"host1/p1\","
          "\"celsius\":{},\"counters\":{{}}}}\n",
          instant_text(first + std::chrono::hours(hour)), celsius);
    auto database = store::Database::open(file, store::Database::Access::write).value();
    EXPECT_TRUE(store::keep_counter_readings(database, texts, first, first + std::chrono::hours(24 * days)));
  }
};

TEST(Compare, TemperaturesComeFromWhatAWatchKept) {
  const DatedRuns runs;
  const ScratchFile times(runs.times);
  const auto with = [&](const std::string& database) {
    return runs.compared({"--times", times.path(), "--db", database});
  };
  const WarmedWatch watch(7), young(3), none(0);
  EXPECT_THAT(unwrapped(with(watch.file).out), HasSubstr("all runs were taken within a degree"));
  EXPECT_THAT(unwrapped(with(young.file).out), HasSubstr("of 36 runs have none"));
  EXPECT_THAT(with(none.file).err, HasSubstr("no temperature of a NIC or GPU is kept there"));
  EXPECT_THAT(runs.compared({"--db", watch.file}).err, HasSubstr("name a table with --times"));
  EXPECT_EQ(runs.compared({"--blocks", "--db", watch.file}).status, 64);
  EXPECT_NE(with("/no/such/watch.db").status, 0);
}

TEST(Compare, TwoFabricsThatAreWatchedEachHaveADatabaseEach) {
  const DatedRuns runs;
  const ScratchFile times(runs.times);
  const auto with = [&](const Arguments& databases) {
    Arguments words{"--times", times.path()};
    for (const std::string& each : databases) words.insert(words.end(), {"--db", each});
    return runs.compared(words);
  };
  const WarmedWatch watch(7, 41.5), warmer(7, 61.5), none(0);
  const auto one = with({"A:" + watch.file});
  EXPECT_THAT(unwrapped(one.out), HasSubstr("of 36 runs have none")) << "those of B";
  const auto both = with({"A:" + watch.file, "B:" + warmer.file});
  EXPECT_THAT(unwrapped(both.out), testing::Not(HasSubstr("runs have none"))) << both.err;
  EXPECT_THAT(unwrapped(both.out), testing::Not(HasSubstr("within a degree")));
  EXPECT_THAT(with({"A:" + watch.file, "B:" + none.file}).err, HasSubstr(none.file + ": no temperature"));
  for (const Arguments& wrong : {Arguments{"A:"}, Arguments{watch.file, "B:" + warmer.file},
                                 Arguments{"A:" + watch.file, "A:" + warmer.file}})
    EXPECT_EQ(with(wrong).status, 64);
  EXPECT_EQ(runs.compared({"--db", "B:" + warmer.file, "--html", warmer.file}).status, 64);
}

TEST(Compare, ASweepsDocumentIsARunAndTellsItsTime) {
  const auto document = [](int day, int rate) {
    return fmt::format(
        R"({{"schema":"weft.diagnosis/1","generated_at":"2026-11-{:02}T10:00:00Z","tool_version":"1","fabric":"f",
"verdict":"healthy","hosts":[],"links":[],"coverage":{{"channels":2,"probed":2,"paths":1}},"probes":{{"sent":1,"lost":0}},
"flows":{{"pattern":"all-pairs","flows":[{{"round":0,"src":"h1","dst":"h2","path":["h1->l1","l1->h2"],"wanted":1000,
"delivered":{}}}]}}}})",
        day, rate);
  };
  std::deque<ScratchFile> files;
  Arguments words;
  for (int i = 0; i < 6; ++i) {
    if (i == 3) words.emplace_back("--with");
    words.push_back(files.emplace_back(document(i + 1, i < 3 ? 900 + i : 500 + i)).path());
  }
  const auto sweeps = call(compare_command, words);
  EXPECT_EQ(sweeps.status, 1) << sweeps.out << sweeps.err;
  EXPECT_THAT(sweeps.out, HasSubstr("all-pairs flow over 2 hops"));
  EXPECT_THAT(sweeps.out, HasSubstr("6 runs are too few"));
}

}  // namespace
}  // namespace weft::cli
