// `weft balance --lab --run` between guests: assigned flows as RDMA writes through the kernel's ECMP.
#include <gmock/gmock.h>

#include "tests/rdma/queue_pairs_rig.hpp"

namespace weft {
namespace {

using testing::HasSubstr;
using Json = nlohmann::json;

/// Of the assigned labels: every packet arrived, and each link counted what was planned for it, to the byte.
/// A label that is not followed leaves bytes missing on its links, and brings some to others; what devices of
/// a busy machine send again only adds to the same links.
void expect_as_planned(Json& sending) {
  constexpr double kMaxSentAgain = 0.5;
  EXPECT_EQ(sending["labels"], "assigned");
  EXPECT_EQ(sending["unfinished"], 0) << sending.dump();
  EXPECT_EQ(sending["error"], nullptr);
  EXPECT_EQ(sending["received"], sending["packets"]);
  std::uint64_t more = 0;
  for (auto& link : sending["links"]) {
    const std::uint64_t planned = link["planned"];
    const std::uint64_t counted = link["counted"];
    EXPECT_GE(counted, planned) << link.dump();
    EXPECT_LE(static_cast<double>(counted), static_cast<double>(planned) * (1 + kMaxSentAgain))
        << link.dump();
    more += counted - planned;
  }
  if (more > 0) print_disturbance("bytes sent again", more);
}

/// Links between switches that carried data, not acknowledgements alone.
std::size_t links_with_data(Json& sending) {
  std::size_t count = 0;
  for (auto& link : sending["links"]) {
    const bool between_switches = link["channel"].get<std::string>().find("host") == std::string::npos;
    count += between_switches && link["planned"].get<std::uint64_t>() > 100'000 ? 1 : 0;
  }
  return count;
}

TEST_F(QueuePairs, CarryTheFlowsOfAJobOverTheLinksOfTheirAssignedLabelsAlsoAfterOneFailed) {
  const auto answer = rig().weft({"balance", "--lab=" + rig().name(), "--engine", "verbs", "--collective",
                                  "shift-1", "--hosts", "4", "--qps", "4", "--bytes", "2MB", "--run",
                                  "--repeat", "1", "--fail", "leaf1--spine2", "-o", "json"});
  ASSERT_LE(answer.status, 1) << answer.errors;
  expect_matches_schema(answer.output, "trial");
  Json document = Json::parse(answer.output, nullptr, false);
  EXPECT_GE(document["ratio"], 1.0);
  ASSERT_EQ(document["sendings"].size(), 2u) << answer.output;
  auto& assigned = document["sendings"][0];
  expect_as_planned(assigned);
  // Four queue pairs from each of four leaves, over four spines: each up and down link once.
  EXPECT_EQ(links_with_data(assigned), 32u) << assigned.dump();
  auto& after = document["after_failure"];
  EXPECT_GT(after["stuck"], 0) << after.dump();
  EXPECT_EQ(after["blamed"], Json::parse(R"(["leaf1--spine2"])")) << after.dump();
  EXPECT_GT(after["in_force_seconds"], 0.0);
  EXPECT_EQ(after["bytes_over_link"], 0);
  expect_as_planned(after["sending"]);
}

TEST_F(QueuePairs, AreWhatALabOfGuestsSendsByUnlessRawPacketsAreAskedFor) {
  const auto answer = rig().weft({"balance", "--lab=" + rig().name(), "--engine", "raw", "--collective",
                                  "ring", "--hosts", "4", "--run"});
  EXPECT_EQ(answer.status, 69) << answer.output;
  EXPECT_THAT(answer.errors, HasSubstr("use --engine verbs"));
}

}  // namespace
}  // namespace weft
