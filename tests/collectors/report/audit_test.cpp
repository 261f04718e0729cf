#include "collectors/report/audit.hpp"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "tests/support/schema.hpp"
#include "topology/model/clos.hpp"

namespace weft {
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
    std::vector<PathLabel> chosen;
    for (const auto label : labels) chosen.emplace_back(label);
    return audit_of(src_, dst_, learner_, chosen);
  }

  Fabric fabric_ = *make_clos({.name = "f", .leaves = 2, .spines = 2, .hosts_per_leaf = 1});
  AddressBook addresses_;
  PathTable table_;
  PathLearner learner_{fabric_, addresses_, table_};
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
  const auto text = audit_json(fabric_, table_, audit({50'000, 50'000, 50'001}),
                               {*parse_utc("2026-01-31T12:00:00Z"), "0.1.0"});
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
  const PathLearner nothing(fabric_, addresses_, table_);
  const Audit none = audit_of(src_, dst_, nothing, {});
  expect_matches_schema(audit_json(fabric_, table_, none, {*parse_utc("2026-01-31T12:00:00Z"), "0.1.0"}),
                        "audit");
  EXPECT_THAT(audit_table(fabric_, table_, audit_of(src_, dst_, nothing, {PathLabel(50'000)})),
              HasSubstr("1 queue pair with default settings use 1 port"))
      << "not one path was traced";
}

}  // namespace
}  // namespace weft
