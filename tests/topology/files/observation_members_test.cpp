#include "topology/files/observation_members.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace weft::files {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::string_view kWhole =
    R"({"path":["a->b","b->c"],"back":["c->b"],"sent":1000,"lost":3,"bytes":128,"corrupt":1,)"
    R"("rtt_us":{"p50":1.5,"p99":9},"excused":1,"held":5,"window":{"start_us":10,"length_us":20},)"
    R"("runs":[[4,2],[9,1]],"src":"host1","dst":"host2","label":49152,"row":7})";

TEST(ScanProbeLine, ReadsEveryMemberOfTheUsualLine) {
  ProbeLine line;
  ASSERT_TRUE(scan_probe_line(kWhole, line));
  EXPECT_THAT(line.path, ElementsAre("a->b", "b->c"));
  EXPECT_TRUE(line.has_back);
  EXPECT_THAT(line.back, ElementsAre("c->b"));
  EXPECT_EQ(line.sent, 1000u);
  EXPECT_EQ(line.lost, 3u);
  EXPECT_EQ(line.bytes, 128u);
  EXPECT_EQ(line.corrupt, 1u);
  EXPECT_EQ(line.p50_us, 1.5);
  EXPECT_EQ(line.p99_us, 9.0);
  EXPECT_EQ(line.excused, 1u);
  EXPECT_EQ(line.held, 5u);
  EXPECT_EQ(line.start_us, 10.0);
  EXPECT_EQ(line.length_us, 20.0);
  EXPECT_THAT(line.runs, ElementsAre(LossRun{4, 2}, LossRun{9, 1}));
  EXPECT_EQ(line.src, "host1");
  EXPECT_EQ(line.label, 49'152u);
  EXPECT_EQ(line.row, 7u);
}

TEST(ScanProbeLine, NothingOfTheLineBeforeStays) {
  ProbeLine line;
  ASSERT_TRUE(scan_probe_line(kWhole, line));
  ASSERT_TRUE(scan_probe_line(R"( { "lost" : 0 , "sent" : 5 , "path" : [ "x->y" ] } )", line));
  EXPECT_THAT(line.path, ElementsAre("x->y"));
  EXPECT_FALSE(line.has_back);
  EXPECT_THAT(line.back, IsEmpty());
  EXPECT_EQ(line.bytes + line.corrupt + line.excused + line.held, 0u);
  EXPECT_FALSE(line.p50_us || line.p99_us || line.start_us || line.length_us || line.label || line.row);
  EXPECT_THAT(line.runs, IsEmpty());
  EXPECT_EQ(line.src, "");
}

TEST(ScanProbeLine, LeavesWhatIsOutOfTheOrdinaryToJson) {
  ProbeLine line;
  for (const char* text :
       {"", "{}", R"({"path":["a->b"],"sent":5})", R"({"sent":5,"lost":0})",
        R"({"path":[],"sent":5,"lost":0})", R"({"path":["a->b"],"sent":5,"lost":0,"kind":"load"})",
        R"({"path":[["a->b"],["c->d"]],"sent":5,"lost":0})", R"({"path":["a\u002d>b"],"sent":5,"lost":0})",
        R"({"path":["a->b"],"sent":5.5,"lost":0})", R"({"path":["a->b"],"sent":5e3,"lost":0})",
        R"({"path":["a->b"],"sent":-5,"lost":0})",
        R"({"path":["a->b"],"sent":99999999999999999999999,"lost":0})",
        R"({"path":["a->b"],"sent":5,"lost":0,"rtt_us":{"p50":1}})",
        R"({"path":["a->b"],"sent":5,"lost":0,"window":{"start_us":1,"length_us":1e13}})",
        R"({"path":["a->b"],"sent":5,"lost":0,"label":4294967296})",
        R"({"path":["a->b"],"sent":5,"lost":0,"runs":[[1]]})", R"({"path":["a->b"],"sent":5,"lost":0} {)",
        R"({"path":["a->b"],"sent":5,"lost":0)", R"({"path":["a->b)"})
    EXPECT_FALSE(scan_probe_line(text, line)) << text;
}

struct Line {
  explicit Line(std::string_view text) : json(nlohmann::json::parse(text)) {}
  nlohmann::json json;
  JsonView view{json, "line 1"};
};

TEST(ObservationMembers, ACountIsWholeAndNoMoreThanAnyRunCounts) {
  const Line line(R"({"ok":1000000000000000,"much":1000000000000001,"below":-1,"part":1.5})");
  EXPECT_EQ(read_count(line.view, "ok", std::nullopt).value(), kMaxPackets);
  for (const char* wrong : {"much", "below", "part"}) EXPECT_FALSE(read_count(line.view, wrong, 0)) << wrong;
  EXPECT_EQ(read_count(line.view, "absent", 7).value(), 7u);
  EXPECT_FALSE(read_count(line.view, "absent", std::nullopt));
}

TEST(ObservationMembers, ANumberOutOfItsRangeIsNamedWithItsPlace) {
  const Line line(R"({"ok":10,"over":10.5,"below":-0.1})");
  EXPECT_EQ(read_number(line.view, "ok", 10).value(), 10);
  EXPECT_FALSE(read_number(line.view, "below", 10));
  const auto over = read_number(line.view, "over", 10);
  ASSERT_FALSE(over);
  EXPECT_THAT(over.error().message, HasSubstr("over: expected a number from 0 to 10"));
}

TEST(ObservationMembers, AWindowIsAbsentOrWhole) {
  EXPECT_EQ(read_window(Line("{}").view).value(), std::nullopt);
  const auto whole = read_window(Line(R"({"window":{"start_us":1.5,"length_us":2}})").view);
  ASSERT_TRUE(whole);
  EXPECT_EQ((*whole)->start, std::chrono::nanoseconds(1500));
  EXPECT_FALSE(read_window(Line(R"({"window":{"start_us":1.5}})").view));
  EXPECT_FALSE(read_window(Line(R"({"window":{"start_us":0,"length_us":2e12}})").view));
}

TEST(ObservationMembers, WhatContradictsTheCountsIsRefused) {
  const auto refused = [](std::string_view order) {
    Observation seen;
    seen.sent = 100;
    seen.lost = 3;
    return !read_order(Line(order).view, seen);
  };
  EXPECT_FALSE(refused(R"({"excused":3,"runs":[[4,2],[9,1]]})"));
  EXPECT_TRUE(refused(R"({"excused":4})")) << "more than were lost";
  EXPECT_TRUE(refused(R"({"runs":[[4,2]]})")) << "fewer than were lost";
  EXPECT_TRUE(refused(R"({"runs":[[9,1],[4,2]]})")) << "not ascending";
  EXPECT_TRUE(refused(R"({"runs":[[99,3]]})")) << "behind the last that was sent";
  EXPECT_TRUE(refused(R"({"runs":[[4,2,1]]})"));
}

TEST(ObservationMembers, WhoSentIsATextAndALabelHas32Bits) {
  const auto told = read_labelled(Line(R"({"src":"host1","label":4294967295})").view);
  ASSERT_TRUE(told);
  EXPECT_EQ(told->src, "host1");
  EXPECT_EQ(told->dst, std::nullopt);
  EXPECT_EQ(told->label, 4'294'967'295u);
  EXPECT_FALSE(read_labelled(Line(R"({"src":1})").view));
  EXPECT_FALSE(read_labelled(Line(R"({"label":4294967296})").view));
}

}  // namespace
}  // namespace weft::files
