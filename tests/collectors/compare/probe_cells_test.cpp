// Where one side carries nothing but probes: what arrives is compared, what is impossible there is said.
#include "collectors/compare/probe_cells.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "collectors/compare/congestion_counts.hpp"
#include "collectors/compare/layers.hpp"

namespace weft::compare {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::Each;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

constexpr const char* kLossy = R"({"link":"leaf1--spine2","from":"leaf1","verdict":"failed","cause":"loss",
"confidence":0.99,"estimate":{"value":0.1,"low":0.09,"high":0.11}})";

std::string document(std::string_view links = "", std::string_view not_tested = "") {
  return fmt::format(
      R"({{"schema":"weft.diagnosis/1","generated_at":"2026-11-28T10:00:00Z","tool_version":"1","fabric":"f",
"verdict":"healthy","hosts":[],"links":[{}],"coverage":{{"channels":4,"probed":4,"paths":2,"not_tested":[{}]}},
"probes":{{"sent":100,"lost":1}}}})",
      links, not_tested);
}

std::string probes(std::string_view dst, std::string_view path, int sent, int lost,
                   std::string_view more = "") {
  return fmt::format(R"({{"path":[{}],"sent":{},"lost":{},"bytes":256,"src":"h1","dst":"{}","label":1{}}})",
                     path, sent, lost, dst, more) +
         "\n";
}

constexpr const char* kOverOne = R"("h1->leaf1","leaf1->spine1","spine1->leaf2","leaf2->h2")";
constexpr const char* kOverTwo = R"("h1->leaf1","leaf1->spine2","spine2->leaf2","leaf2->h3")";
constexpr const char* kMap = R"({"schema":"weft.pathmap/1","pairs":[
{"src":"h1","dst":"h2","paths":[{"path":[],"labels":[1]},{"path":[],"labels":[2]}]},
{"src":"h1","dst":"h3","paths":[{"path":[],"labels":[1]}]}]})";

MeasuredRun measured(std::string_view lines, std::string_view links = "", std::string_view not_tested = "") {
  auto run = read_measured_run("run", document(links, not_tested), lines, true);
  EXPECT_TRUE(run) << run.error().message;
  return run ? *run : MeasuredRun();
}

Cell arrived(const char* where) { return {{"probes that arrived", where}, Bytes(0), Metric::arrived}; }
const Cell kWorst = arrived("path with the most loss");
const Cell kReached{{"NICs that were reached"}, Bytes(0), Metric::arrived};

TEST(ProbeCells, AreWhatArrivesByDistanceAndOnTheWorstPath) {
  auto run = measured(probes("h2", kOverOne, 600, 0) + probes("h2", kOverOne, 400, 0) +
                      probes("h3", kOverTwo, 1000, 100));
  const auto cells = run_of(run).cells;
  EXPECT_DOUBLE_EQ(cells.at(arrived("4 hops")).number, 0.95);
  EXPECT_DOUBLE_EQ(cells.at(kWorst).number, 0.9);
  EXPECT_DOUBLE_EQ(cells.at(kReached).number, 1);
  EXPECT_EQ(cells.size(), 3U) << "and nothing of times or rates";
  EXPECT_NEAR(cells.at(kWorst).counted, 100 / (0.9 * 1000 * 1000), 1e-9);
}

TEST(ProbeCells, OfRunsThatCarryAllTheyAreNotKept) {
  const auto run = read_measured_run("run", document(), probes("h2", kOverOne, 600, 0));
  ASSERT_TRUE(run);
  EXPECT_TRUE(run->probed.empty());
  EXPECT_TRUE(run_of(*run).cells.empty());
}

TEST(ProbeCells, WhatAHostDroppedUnreadWasNotSent) {
  const auto run = measured(probes("h2", kOverOne, 1000, 100, R"(,"excused":100)"));
  EXPECT_DOUBLE_EQ(run_of(run).cells.at(kWorst).number, 1);
  const auto all = measured(probes("h2", kOverOne, 100, 100, R"(,"excused":100)"));
  EXPECT_TRUE(all.probed.empty());
}

TEST(ProbeCells, APathWithoutAnyAnswerHasARatioAllTheSame) {
  const auto run = measured(probes("h2", kOverOne, 1000, 1000) + probes("h3", kOverTwo, 1000, 0));
  const auto cells = run_of(run).cells;
  EXPECT_DOUBLE_EQ(cells.at(kWorst).number, 0.0005);
  EXPECT_DOUBLE_EQ(cells.at(kReached).number, 2.0 / 3) << "h2 answers nobody";
}

TEST(ProbeCells, NICsThatNobodyCouldAskCountAsNotReached) {
  const auto run = measured(probes("h2", kOverOne, 100, 0), "",
                            R"({"host":"h4","why":"no route"},{"host":"h5","nic":"h5/p1","why":"no route"})");
  EXPECT_DOUBLE_EQ(run_of(run).cells.at(kReached).number, 0.5);
}

TEST(ProbeCells, AFabricOfWhichNoNicIsReachedIsComparedAllTheSame) {
  const auto none = measured("", "", R"({"host":"h1","why":"no route"},{"host":"h2","why":"no route"})");
  const auto all = measured(probes("h2", kOverOne, 20000, 0));
  const std::vector<compare::Run> a(6, run_of(all)), b(6, run_of(none));
  const auto comparison = compare(a, b, {.design = Design::blocks});
  ASSERT_TRUE(comparison);
  EXPECT_EQ(comparison->decision(), Decision::differs);
  EXPECT_DOUBLE_EQ(comparison->cells.front().b.mean, 0.25);
}

TEST(ProbeCells, ThereAndBackIsADistanceOfItsOwnAndFewPacketsAreNoWorstPath) {
  const auto run = measured(probes("h2", kOverOne, 99, 50) +
                            probes("h3", kOverTwo, 200, 20, R"(,"back":["h3->leaf2","leaf2->h1"])"));
  const auto cells = run_of(run).cells;
  EXPECT_DOUBLE_EQ(cells.at(kWorst).number, 0.9);
  EXPECT_NEAR(cells.at(arrived("4 hops")).number, 49.0 / 99, 1e-12);
}

TEST(ProbeCells, WhatOneOfSeveralPathsLostCountsThoughNobodyKnowsWhich) {
  const auto lines =
      probes("h2", kOverOne, 1000, 0) +
      fmt::format(
          R"({{"paths":[[{}],[{}]],"sent":1000,"lost":1000,"bytes":256,"src":"h1","dst":"h3","label":2}})",
          kOverOne, kOverTwo);
  const auto cells = run_of(measured(lines)).cells;
  EXPECT_NEAR(cells.at(arrived("4 hops")).number, 0.5, 1e-3);
  EXPECT_LT(cells.at(kWorst).number, 0.01);
}

TEST(ProbeCells, WhatCameDamagedHasNotArrived) {
  const auto run = measured(probes("h2", kOverOne, 1000, 100, R"(,"corrupt":50)"));
  EXPECT_DOUBLE_EQ(run_of(run).cells.at(kWorst).number, 0.85);
}

TEST(ProbeCells, APathThatPassesNothingIsTheWorstThoughASweepSoonSendsNoMore) {
  const auto silent = measured(probes("h2", kOverOne, 1000, 0) + probes("h3", kOverTwo, 58, 58));
  EXPECT_LT(run_of(silent).cells.at(kWorst).number, 0.01);
  const auto few = measured(probes("h2", kOverOne, 1000, 0) + probes("h3", kOverTwo, 19, 19));
  EXPECT_DOUBLE_EQ(run_of(few).cells.at(kWorst).number, 1) << "chance";
}

TEST(ProbeCells, WaysAreCountedFromThePathMap) {
  auto run = measured(probes("h2", kOverOne, 100, 0));
  ASSERT_TRUE(read_ways(kMap, run));
  EXPECT_DOUBLE_EQ(run_of(run).cells.at({{"ways between two NICs"}, Bytes(0), Metric::ways}).number, 1.5);
  for (const char* broken :
       {"", "[]", "{}", R"({"pairs":7})", R"({"pairs":[{}]})", R"({"pairs":[{"paths":1}]})"}) {
    const auto read = read_ways(broken, run);
    ASSERT_FALSE(read) << broken;
    EXPECT_THAT(read.error().message, HasSubstr("run: path map"));
  }
}

TEST(ProbeCells, CountsThatCannotBeAreRefusedWithTheLine) {
  for (const std::string& line :
       {probes("h2", kOverOne, 10, 11), probes("h2", kOverOne, 10, 1, R"(,"excused":2)"),
        probes("h2", kOverOne, 10, -1), probes("h2", kOverOne, 10, 5, R"(,"corrupt":6)"),
        std::string(R"({"path":["a->b"],"sent":18446744073709551615,"lost":0})"),
        std::string(R"({"path":["a->b"],"sent":3})"),
        std::string(R"({"path":["a->b"],"sent":3,"lost":0,"src":7,"dst":"h"})")}) {
    const auto run = read_measured_run("run", document(), "\n" + line, true);
    ASSERT_FALSE(run) << line;
    EXPECT_THAT(run.error().message, HasSubstr("line 2"));
  }
}

TEST(ProbeCells, RowsOfOnePathDoNotAddUpBeyondWhatCanBeSent) {
  const auto most = probes("h2", kOverOne, 1, 0) +
                    R"({"path":["h1->leaf1"],"sent":1000000000000000,"lost":0,"bytes":256,)"
                    R"("src":"h1","dst":"h2","label":1})";
  const auto run = read_measured_run("run", document(), most, true);
  ASSERT_FALSE(run);
  EXPECT_THAT(run.error().message, HasSubstr("more than 1000000000000000 packets of a path"));
}

TEST(ProbeCells, ARunWithoutProbesHasNone) {
  const auto run = measured("");
  EXPECT_TRUE(run_of(run).cells.empty());
  EXPECT_TRUE(arrived_cells(MeasuredRun(), {}).empty());
}

struct Sides {
  std::vector<MeasuredRun> of_a, of_b;
  Comparison comparison;
};

Sides compared(std::string_view a, std::string_view b, std::string_view links_of_b, int blocks = 3) {
  Sides sides;
  std::vector<compare::Run> runs_a, runs_b;
  for (int i = 0; i < 2 * blocks; ++i) {
    sides.of_a.push_back(measured(a)), sides.of_b.push_back(measured(b, links_of_b));
    runs_a.push_back(run_of(sides.of_a.back())), runs_b.push_back(run_of(sides.of_b.back()));
  }
  sides.comparison = *compare(runs_a, runs_b, {.design = Design::blocks});
  return sides;
}

TEST(ProbeCells, ALossyCableDiffersAndHasTheShare) {
  const auto clean = probes("h2", kOverOne, 20000, 0) + probes("h3", kOverTwo, 20000, 0);
  const auto lossy = probes("h2", kOverOne, 20000, 0) + probes("h3", kOverTwo, 20000, 2000);
  const auto sides = compared(clean, lossy, kLossy);
  EXPECT_EQ(sides.comparison.decision(), Decision::differs);
  const auto reasons = reasons_of(sides.of_a, sides.of_b, sides.comparison);
  ASSERT_EQ(reasons.size(), 2U);
  for (const Reasons& reason : reasons) {
    EXPECT_EQ(reason.layers.front().layer, Layer::losses);
    EXPECT_NEAR(reason.layers.front().share, 1, 0.01);
    EXPECT_THAT(reason.layers.front().places, Contains("B: leaf1--spine2 (loss)"));
  }
}

TEST(ProbeCells, NothingLostOfManyIsEqualAndOfFewIsNot) {
  const auto few = probes("h2", kOverOne, 300, 0), many = probes("h2", kOverOne, 30000, 0);
  EXPECT_EQ(compared(many, many, "").comparison.decision(), Decision::equal);
  const auto undecided = compared(few, few, "");
  EXPECT_EQ(undecided.comparison.decision(), Decision::undecided);
  for (const CellResult& cell : undecided.comparison.cells)
    if (cell.decision == Decision::undecided) {
      EXPECT_TRUE(cell.needed) << "more blocks would decide";
    }
}

TEST(ProbeCells, ALossBelowTheMarginOfRatesIsADifferenceAllTheSame) {
  const auto sides = compared(probes("h2", kOverOne, 100000, 0), probes("h2", kOverOne, 100000, 1000), "");
  EXPECT_EQ(sides.comparison.decision(), Decision::differs) << "1 % of loss is below 5 %";
}

TEST(ProbeCells, DistancesOfOneSideAloneAreNoLossOfTheOther) {
  const std::string near = probes("h4", R"("h1->leaf1","leaf1->h4")", 20000, 0);
  const std::string far = probes("h2", kOverOne, 20000, 0);
  std::vector<compare::Run> a(6, run_of(measured(near + far))), b(6, run_of(measured(far)));
  EXPECT_THAT(drop_distances_of_one_side(a, b),
              testing::ElementsAre("probes over 2 hops were sent in A alone, and are not compared"));
  EXPECT_EQ(compare(a, b, {.design = Design::blocks})->decision(), Decision::equal);
  EXPECT_THAT(drop_distances_of_one_side(a, b), IsEmpty());
  std::vector<compare::Run> none;
  EXPECT_EQ(drop_distances_of_one_side(a, none).size(), 1U);
}

TEST(ProbeCells, WhatIsImpossibleInALabIsSaidOfItsSide) {
  constexpr auto kNo = ProbesAlone::no, kLab = ProbesAlone::infiniband_lab;
  EXPECT_THAT(impossible_things(kNo, kNo), IsEmpty());
  EXPECT_THAT(impossible_things(kLab, kLab), Each(StartsWith("A and B: ")));
  EXPECT_THAT(impossible_things(kLab, kLab), Contains(HasSubstr("ibsim has no delays")));
  EXPECT_THAT(impossible_things(kNo, kLab), Contains(HasSubstr("B: transfers, rates and collisions")));
  EXPECT_THAT(impossible_things(kNo, kLab), Contains(HasSubstr("none of A are compared")));
  EXPECT_THAT(impossible_things(kLab, kNo), Contains(StartsWith("B: ways between two NICs")));
  EXPECT_THAT(impossible_things(kNo, ProbesAlone::simulated_infiniband), Each(Not(HasSubstr("ibsim"))));
  const auto live = impossible_things(ProbesAlone::live_infiniband, kNo);
  EXPECT_THAT(live, Each(AllOf(Not(HasSubstr("ibsim")), Not(HasSubstr("simulated")))));
  EXPECT_THAT(live, Contains(AllOf(StartsWith("A: transfers"), HasSubstr("its sweep sends"))));
  EXPECT_THAT(live, Contains(AllOf(StartsWith("A: by queue pairs"), HasSubstr("engine=verbs"))));
  const std::vector<MeasuredRun> runs(2, MeasuredRun{.is_probes_alone = true});
  EXPECT_THAT(not_told(runs, runs), IsEmpty()) << "nobody is asked to load what carries no load";
}

}  // namespace
}  // namespace weft::compare
