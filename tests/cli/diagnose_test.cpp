// `weft diagnose` as a user calls it.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/commands.hpp"
#include "tests/support/command.hpp"
#include "tests/support/schema.hpp"
#include "tests/support/scratch_file.hpp"

namespace weft {
namespace {

using testing::HasSubstr;

const std::string kFabric = "fabric: a\nclos: {leaves: 2, spines: 2, hosts_per_leaf: 2}\n";

/// Every pair of hosts over each spine, both ways; leaf1->spine2 loses one packet in a hundred.
std::string lines() {
  std::string text;
  for (int from = 1; from <= 4; ++from)
    for (int to = 1; to <= 4; ++to)
      for (int spine = 1; spine <= 2; ++spine) {
        const int source = (from + 1) / 2;
        const int target = (to + 1) / 2;
        if (source == target) continue;
        text += fmt::format(
            "{{\"path\":[\"host{}->leaf{}\",\"leaf{}->spine{}\",\"spine{}->leaf{}\",\"leaf{}->host{}\"],"
            "\"sent\":5000,\"lost\":{}}}\n",
            from, source, source, spine, spine, target, target, to, source == 1 && spine == 2 ? 50 : 0);
      }
  return text;
}

Outcome diagnosed(const std::string& text, const Arguments& more = {}) {
  const ScratchFile fabric(kFabric);
  const ScratchFile observations(text);
  Arguments words{"--fabric", fabric.path(), "--observations", observations.path()};
  words.insert(words.end(), more.begin(), more.end());
  return call(diagnose_command, words);
}

TEST(Diagnose, NamesTheFaultFromAFileAndUsesWhatIsNotBroken) {
  const auto outcome = diagnosed("nonsense\n" + lines(), {"-o", "json"});
  EXPECT_EQ(outcome.status, 1) << outcome.out;
  EXPECT_TRUE(matches_schema(outcome.out, "diagnosis"));
  // With two leaves whatever goes up from one comes down to the other: a class.
  EXPECT_THAT(outcome.out, HasSubstr(R"("ambiguous":[["leaf1->spine2","spine2->leaf2"]])"));
  EXPECT_THAT(outcome.err, HasSubstr(":1: "));
  EXPECT_THAT(outcome.err, HasSubstr("1 of 17 lines left out"));
}

TEST(Diagnose, AFileThatSaysNothingIsUnknownNotHealthy) {
  EXPECT_EQ(diagnosed("").status, 3);
  EXPECT_EQ(diagnosed("nonsense\n").status, 3);
}

TEST(Diagnose, WhatHostsInTheFileCanUseAndNothingCrossedIsUnknown) {
  const std::string one =
      R"({"path":["host1->leaf1","leaf1->spine1","spine1->leaf2","leaf2->host3"],"sent":5000,"lost":0})"
      "\n";
  const auto part = diagnosed(one, {"-o", "json"});
  EXPECT_EQ(part.status, 3) << part.out;
  EXPECT_THAT(part.out, HasSubstr(R"("missing":["leaf1->host1","host3->leaf2")"));
  std::string both;
  for (const char* spine : {"spine1", "spine2"})
    both += fmt::format(
        R"({{"path":["host1->leaf1","leaf1->{0}","{0}->leaf2","leaf2->host3"],"sent":5000,"lost":0}}
{{"path":["host3->leaf2","leaf2->{0}","{0}->leaf1","leaf1->host1"],"sent":5000,"lost":0}}
)",
        spine);
  const auto whole = diagnosed(both, {"-o", "json"});
  EXPECT_EQ(whole.status, 0) << whole.out;
  EXPECT_THAT(whole.out, HasSubstr(R"("out_of_scope":4)"));
  EXPECT_THAT(whole.out, HasSubstr(R"("paths":4)"));
}

TEST(Diagnose, WhatIsMissingIsAUsageError) {
  EXPECT_EQ(call(diagnose_command, {}).status, 64);
  const ScratchFile fabric(kFabric);
  EXPECT_EQ(call(diagnose_command, {"--fabric", fabric.path(), "--observations", "/nowhere.jsonl"}).status,
            64);
}

}  // namespace
}  // namespace weft
