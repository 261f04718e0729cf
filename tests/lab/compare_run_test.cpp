// `weft compare run` over two labs, real packets: one cable of the second at half its rate is named as what
// makes it slower.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/support/lab_user.hpp"
#include "tests/support/schema.hpp"
#include "tests/support/text_of.hpp"

namespace weft {
namespace {

using testing::HasSubstr;
using Json = nlohmann::json;

constexpr const char* kFabric =
    "fabric: small\nkind: roce\nclos: {leaves: 3, spines: 2, hosts_per_leaf: 2}\nlab: {link_rate: 50M}\n";

TEST(CompareRun, TwoLabsDifferAndTheCableThatMakesBSlowerIsNamed) {
  const LabUser user(kFabric);
  ASSERT_EQ(user.up().status, 0);
  const std::string other = user.lab + "b";
  ASSERT_EQ(user.weft({"lab", "up", user.fabric_file(), "--name", other}).status, 0);
  ASSERT_EQ(user.weft({"lab", "fault", "leaf1--spine2", "--name", other, "--rate", "25M"}).status, 0);
  const auto page = user.directory() / "report.html";
  auto running =
      user.start({"compare", "run", "--lab=" + user.lab, "--lab=" + other, "--blocks", "3", "--only",
                  "slowest flow", "--each", "budget=1s", "--html", page.string(), "-o", "json"});
  const auto answer = running.wait(std::chrono::minutes(3));
  user.weft({"lab", "down", "--name", other});
  ASSERT_EQ(answer.status, 1) << answer.output << answer.errors;
  expect_matches_schema(answer.output, "comparison");
  const auto document = Json::parse(answer.output);
  EXPECT_THAT(document["sentence"].get<std::string>(), HasSubstr("leaf1--spine2 (rate)"));
  ASSERT_FALSE(document["named_b"].empty());
  EXPECT_EQ(document["named_b"][0]["place"], "leaf1--spine2");
  EXPECT_NEAR(document["named_b"][0]["value"].get<double>(), 0.5, 0.1);
  EXPECT_TRUE(document["named_a"].empty()) << document["named_a"];
  EXPECT_THAT(text_of(page), HasSubstr(R"("place":"leaf1--spine2","cause":"rate")"));
}

TEST(CompareRun, SimulatedFabricsTellAQueueFromIdleRoundTrips) {
  const LabUser user(kFabric);
  const auto answer =
      user.weft({"compare", "run", "--simulate", user.fabric_file(), "--variant", "budget=1s", "--variant",
                 "fault=leaf1--spine2:rate=40G,budget=1s", "--blocks", "6", "-o", "json"});
  ASSERT_EQ(answer.status, 1) << answer.output << answer.errors;
  expect_matches_schema(answer.output, "comparison");
  const auto document = Json::parse(answer.output);
  bool found = false;
  for (const Json& reasons : document["reasons"]) {
    if (reasons["cell"].get<std::string>().find("round trip under load") == std::string::npos) continue;
    found = true;
    EXPECT_EQ(reasons["layers"][0]["layer"], "queueing") << reasons;
  }
  EXPECT_TRUE(found) << document;
}

TEST(CompareRun, SimulatedFabricsAreSweptAndTheSlowCableIsNamed) {
  const LabUser user(kFabric);
  const auto answer =
      user.weft({"compare", "run", "--simulate", user.fabric_file(), "--variant", "budget=1s", "--variant",
                 "fault=leaf1--spine2:rate=200G,budget=1s", "--blocks", "6", "-o", "json"});
  ASSERT_EQ(answer.status, 1) << answer.output << answer.errors;
  expect_matches_schema(answer.output, "comparison");
  EXPECT_THAT(Json::parse(answer.output)["sentence"].get<std::string>(), HasSubstr("leaf1--spine2 (rate)"));
}

}  // namespace
}  // namespace weft
