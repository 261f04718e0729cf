// `weft sweep --counters` in a lab: what the ports count, beside real probes that are too few to see it.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/support/lab_user.hpp"
#include "tests/support/sweep_document.hpp"

namespace weft {
namespace {

constexpr const char* kFabric = "fabric: small\nclos: {leaves: 2, spines: 2, hosts_per_leaf: 2}\n";

/// Four readings of spine1/p1, a minute apart, of a link of 50 Mbit/s: by the frames 1.3 in 10,000 are bad,
/// and where `coding`, so are as many by the codewords, which another source tells of.
std::string readings(bool coding) {
  std::string text = "{\"schema\":\"weft.counters/1\",\"source\":\"script\"}\n";
  for (int minute = 0; minute < 4; ++minute) {
    text += fmt::format(
        R"({{"at":"2026-11-28T07:0{}:00Z","port":"spine1/p1","counters":{{"frames_in":{},"fcs_errors":{})",
        minute, 30'000 * minute + 5, 4 * minute);
    text += "}}\n";
    if (coding)
      text += fmt::format(
          R"({{"at":"2026-11-28T07:0{}:00Z","source":"phy","port":"spine1/p1","counters":{{"fec_codewords":{},)"
          R"("fec_uncorrectable":{}}}}})"
          "\n",
          minute, 586'000 * minute, 5 * minute);
  }
  return text;
}

class CountedLab : public LabUser {
 public:
  CountedLab() : LabUser(kFabric) {
    const auto answer = up();
    EXPECT_EQ(answer.status, 0) << answer.errors;
  }
  nlohmann::json sweep(bool coding) const {
    const auto file = directory() / "counters.jsonl";
    std::ofstream(file) << readings(coding);
    return document_of(weft({"sweep", "--lab=" + lab, "--load", "none", "--budget", "2s", "--counters",
                             file.string(), "-o", "json"}));
  }
};

TEST(SweepCounters, OfTwoLayersNameTheCableAndItsDirectionWhereProbesAreTooFew) {
  const CountedLab lab;
  const auto document = lab.sweep(true);
  EXPECT_EQ(document["verdict"], "degraded") << document.dump(1);
  ASSERT_EQ(document["links"].size(), 1u) << document.dump(1);
  EXPECT_EQ(document["links"][0]["link"], "leaf1--spine1");
  EXPECT_EQ(document["links"][0]["cause"], "counter");
  EXPECT_EQ(document["links"][0]["from"], "leaf1");
}

TEST(SweepCounters, OfOneThatNothingElseSupportsNameNothingAndAreRemarked) {
  const CountedLab lab;
  const auto document = lab.sweep(false);
  EXPECT_EQ(document["verdict"], "healthy") << document.dump(1);
  EXPECT_TRUE(document["links"].empty());
  ASSERT_EQ(document["counters"].size(), 1u) << document.dump(1);
  EXPECT_THAT(document["counters"][0].dump(), testing::HasSubstr("leaf1->spine1"));
}

}  // namespace
}  // namespace weft
