#include "collectors/report/audit.hpp"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "collectors/report/audit_json.hpp"
#include "collectors/report/audit_table.hpp"
#include "tests/support/schema.hpp"
#include "topology/model/clos.hpp"

namespace weft::report {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::json;

/// host1 and host2 with two paths, of which the queue pairs' ports 50000 and 50001 take the first.
class AuditOfTwoPaths : public ::testing::Test {
 protected:
  AuditOfTwoPaths() {
    adopt(50'000, "spine1");
    adopt(50'001, "spine1");
    adopt(50'002, "spine2");
  }
  void adopt(std::uint32_t label, const std::string& spine) {
    std::vector<ChannelId> path;
    for (const auto& name :
         {std::string("host1->leaf1"), "leaf1->" + spine, spine + "->leaf2", std::string("leaf2->host2")})
      path.push_back(*fabric_.find_channel(name));
    const std::vector<std::vector<ChannelId>> ways{path};
    learner_.adopt(src_, dst_, PathLabel(label), ways);
  }
  Audit audit(const std::vector<std::uint32_t>& labels) const {
    std::vector<datapath::AuditedQp> qps;
    for (const auto label : labels) qps.push_back({PathLabel(label)});
    return audit_of(src_, dst_, learner_, qps);
  }
  /// From the port to the other, by the drained state.
  static datapath::AuditedQp moved(std::uint32_t from, std::uint32_t to) {
    return {PathLabel(from), PathLabel(to), datapath::LabelChange{true, "by the drained state"}};
  }
  Audit moving(const std::vector<datapath::AuditedQp>& qps) const {
    Audit audit = audit_of(src_, dst_, learner_, qps);
    audit.move = move_of(src_, dst_, learner_, qps);
    return audit;
  }
  std::string json(const Audit& audit) const {
    return audit_json(fabric_, table_, audit, {*parse_utc("2026-01-31T12:00:00Z"), "0.1.0"});
  }

  Fabric fabric_ = *make_clos({.name = "f", .leaves = 2, .spines = 2, .hosts_per_leaf = 1});
  AddressBook addresses_;
  PathTable table_;
  plan::PathLearner learner_{fabric_, addresses_, table_};
  PortId src_ = *fabric_.find_nic("host1");
  PortId dst_ = *fabric_.find_nic("host2");
};

TEST_F(AuditOfTwoPaths, SaysHowManyTakeEachAndWhichNoneTakes) {
  const auto text = audit_table(fabric_, table_, audit({50'000, 50'000, 50'001}));
  EXPECT_THAT(text, HasSubstr("3 queue pairs with default settings use 2 ports"));
  EXPECT_THAT(text, HasSubstr("   3 queue pairs host1->leaf1->spine1"));
  EXPECT_THAT(text, HasSubstr("   0 queue pairs host1->leaf1->spine2"));
  EXPECT_THAT(text, HasSubstr("the busiest path carries 3; spread evenly it would be 1.5"));
}

TEST_F(AuditOfTwoPaths, IsADocumentToo) {
  const auto text = json(audit({50'000, 50'000, 50'001}));
  expect_matches_schema(text, "audit");
  const auto document = Json::parse(text);
  EXPECT_EQ(document["schema"], "weft.audit/1");
  EXPECT_EQ(document["src"], "host1");
  EXPECT_EQ(document["ports"],
            Json::parse(R"([{"port":50000,"queue_pairs":2},{"port":50001,"queue_pairs":1}])"));
  ASSERT_EQ(document["ways"].size(), 2u);
  EXPECT_EQ(document["ways"][0]["queue_pairs"], 3);
  EXPECT_EQ(document["ways"][0]["paths"][0][1], "leaf1->spine1");
  EXPECT_EQ(document["ways"][1]["queue_pairs"], 0);
}

TEST_F(AuditOfTwoPaths, WithoutAQueuePairSaysSoAndIsStillADocument) {
  EXPECT_EQ(audit_table(fabric_, table_, audit({})), "no queue pair told which port it uses\n");
  const plan::PathLearner nothing(fabric_, addresses_, table_);
  const Audit none = audit_of(src_, dst_, nothing, {});
  expect_matches_schema(json(none), "audit");
  const std::vector<datapath::AuditedQp> one{{PathLabel(50'000)}};
  EXPECT_THAT(audit_table(fabric_, table_, audit_of(src_, dst_, nothing, one)),
              HasSubstr("1 queue pair with default settings use 1 port"))
      << "not one path was traced";
}

TEST_F(AuditOfTwoPaths, SaysHowManyMovedByWhichWayAndTheSpreadBeforeAndAfter) {
  EXPECT_EQ(audit_table(fabric_, table_,
                        moving({moved(50'000, 50'000), moved(50'001, 50'002), moved(50'000, 50'001),
                                moved(50'001, 50'002)})),
            "4 queue pairs with default settings use 2 ports\n"
            "4 of 4 moved to another port while they lived, 2 to another path\n"
            "    4 by the drained state\n"
            "  BEFORE  AFTER  PATH\n"
            "       4      2  host1->leaf1->spine1->leaf2->host2\n"
            "       0      2  host1->leaf1->spine2->leaf2->host2\n"
            "the busiest path carries 2, before 4; spread evenly it would be 2.0\n");
}

TEST_F(AuditOfTwoPaths, NamesEveryReasonOnceAndCountsWhoLivesOnWhereItWas) {
  const datapath::LabelChange refused{false,
                                      "rxe_p1: a queue pair does not become drained: Invalid argument"};
  const std::vector<datapath::AuditedQp> qps{
      moved(50'000, 50'002),
      {PathLabel(50'000), PathLabel(50'002), refused},
      {PathLabel(50'001), PathLabel(50'002), refused},
      {PathLabel(50'001), PathLabel(50'002), datapath::LabelChange{true, "by the drained state"},
       "status 12"},
      {PathLabel(50'001), PathLabel(50'002), std::nullopt, "status 12"}};
  const Audit audit = moving(qps);
  const auto text = audit_table(fabric_, table_, audit, 64);
  EXPECT_THAT(text, HasSubstr("1 of 5 moved"));
  EXPECT_THAT(
      text,
      HasSubstr("    2 did not: rxe_p1: a queue pair does not become drained:\n    Invalid argument\n"));
  EXPECT_THAT(text, HasSubstr("    1 did not: moved, then broke: status 12\n"));
  EXPECT_THAT(text, HasSubstr("    1 did not: status 12\n"));
  EXPECT_THAT(text, HasSubstr("       5      2  host1")) << "those that broke are nowhere";
  const auto document_text = json(audit);
  expect_matches_schema(document_text, "audit");
  const auto document = Json::parse(document_text);
  EXPECT_EQ(document["move"]["moved"], 1);
  EXPECT_EQ(document["move"]["to_another_path"], 1);
  EXPECT_EQ(document["move"]["manners"],
            Json::parse(R"([{"manner":"by the drained state","queue_pairs":1}])"));
  EXPECT_EQ(document["move"]["failures"].size(), 3u);
  EXPECT_EQ(document["move"]["ports"],
            Json::parse(R"([{"port":50000,"queue_pairs":1},{"port":50001,"queue_pairs":1},)"
                        R"({"port":50002,"queue_pairs":1}])"));
  EXPECT_EQ(document["move"]["ways"][1]["queue_pairs"], 1);
}

TEST_F(AuditOfTwoPaths, WhoseQueuePairsAllSaySomethingElseStaysReadable) {
  std::vector<datapath::AuditedQp> qps;
  for (int i = 0; i < 50; ++i)
    qps.push_back(
        {PathLabel(50'000), PathLabel(50'002), datapath::LabelChange{false, fmt::format("reason {}", i)}});
  EXPECT_THAT(audit_table(fabric_, table_, moving(qps)), HasSubstr("    and 40 more reasons\n"));
  EXPECT_THAT(audit_table(fabric_, table_, moving({{PathLabel(50'000)}})),
              HasSubstr("1 did not: no label is known to take one path and reach the peer"));
}

}  // namespace
}  // namespace weft::report
