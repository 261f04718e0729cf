// `weft blacklist export` as a user calls it.
#include "cli/blacklist.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/places.hpp"
#include "tests/support/command.hpp"
#include "tests/support/schema.hpp"
#include "tests/support/scratch_file.hpp"

namespace weft::cli {
namespace {

using testing::HasSubstr;

TEST(BlacklistExport, PrintsTheEntriesOfADiagnosis) {
  const auto document = std::string(WEFT_SOURCE_DIR) + "/tests/fuzz/corpus/diagnosis_document/good.json";
  const auto outcome = call(blacklist_command, {"export", "--to", "jsonl", document, "--expires", "1h"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  const auto first = outcome.out.substr(0, outcome.out.find('\n'));
  expect_matches_schema(first, "blacklist");
  EXPECT_THAT(first, HasSubstr("\"id\":\"a:leaf1--spine2\""));
  EXPECT_THAT(first, HasSubstr("\"expires\":\"2026-01-31T13:00:00Z\""));
}

/// A diagnosis with one link at fault and these `members` instead of its own.
std::string diagnosis_with(nlohmann::json members) {
  std::ifstream file(std::string(WEFT_SOURCE_DIR) + "/tests/fuzz/corpus/diagnosis_document/good.json");
  auto document = nlohmann::json::parse(file);
  for (const char* member : {"hosts", "groups", "ambiguous", "sets", "fabric_wide"})
    document[member] = nlohmann::json::array();
  document.update(members);
  return document.dump();
}

Outcome exported(const nlohmann::json& members) {
  const ScratchFile document(diagnosis_with(members));
  return call(blacklist_command, {"export", "--to", "jsonl", document.path()});
}

TEST(BlacklistExport, OfLinksAloneLeavesNothingOut) {
  const auto outcome = exported(nlohmann::json::object());
  EXPECT_EQ(outcome.status, 0);
  EXPECT_EQ(outcome.err, "");
  EXPECT_NE(outcome.out, "");
}

TEST(BlacklistExport, NamesAWholeSwitchOnStderrAndInItsStatus) {
  const auto outcome = exported({{"groups",
                                  {{{"nodes", {"spine1"}},
                                    {"channels", {"leaf1->spine1", "spine1->leaf2"}},
                                    {"cause", "loss"},
                                    {"verdict", "failed"},
                                    {"confidence", 1.0},
                                    {"evidence", nlohmann::json::array()}}}}});
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.err, HasSubstr("spine1 as a whole: failed, loss"));
  EXPECT_NE(outcome.out, "") << "what can be said is said";
}

TEST(BlacklistExport, NamesASetOnce) {
  const nlohmann::json set{"leaf1->spine2", "spine2->leaf2"};
  const auto outcome = exported({{"groups",
                                  {{{"nodes", nlohmann::json::array()},
                                    {"channels", set},
                                    {"cause", "loss"},
                                    {"verdict", "degraded"},
                                    {"confidence", 1.0},
                                    {"evidence", nlohmann::json::array()}}}},
                                 {"ambiguous", nlohmann::json::array({set})}});
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.err, HasSubstr("one of leaf1->spine2, spine2->leaf2: degraded, loss"));
  EXPECT_EQ(outcome.err.find("leaf1->spine2"), outcome.err.rfind("leaf1->spine2"));
}

TEST(BlacklistExport, NamesAnOpenSetByItsAlternatives) {
  const auto of_a_set = [](bool more) {
    return exported({{"sets",
                      {{{"cause", "loss"},
                        {"verdict", "degraded"},
                        {"confidence", 0.9},
                        {"alternatives", {{"leaf1->spine1", "leaf1->spine2"}, {"leaf2->spine2"}}},
                        {"more", more}}}}});
  };
  const auto outcome = of_a_set(false);
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.err, HasSubstr("one of leaf1->spine1 and leaf1->spine2, or leaf2->spine2: degraded"));
  EXPECT_THAT(of_a_set(true).err, HasSubstr("or leaf2->spine2, or others: degraded"));
}

TEST(BlacklistExport, ASetWhoseLinksAllHaveEntriesIsNotLeftOut) {
  const auto link = nlohmann::json::parse(diagnosis_with(nlohmann::json::object()))["links"][0];
  const auto a = link["link"].get<std::string>().substr(0, link["link"].get<std::string>().find("--"));
  const auto b = link["link"].get<std::string>().substr(link["link"].get<std::string>().find("--") + 2);
  const nlohmann::json set{a + "->" + b, b + "->" + a};
  EXPECT_EQ(exported({{"ambiguous", nlohmann::json::array({set})}}).status, 0);
}

TEST(BlacklistExport, NamesAHostOfWhichNoLinkIsKnownButNotOneThatIsUnknown) {
  const auto host = [](const char* name, const char* verdict) {
    return nlohmann::json{{"host", name}, {"verdict", verdict}, {"evidence", nlohmann::json::array()}};
  };
  const auto outcome = exported({{"hosts", {host("host1", "failed"), host("host2", "unknown")}}});
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.err, HasSubstr("host host1: failed"));
  EXPECT_THAT(outcome.err, testing::Not(HasSubstr("host2")));
}

TEST(BlacklistExport, RefusesWhatItCannotDoAndSaysWhatItCan) {
  const auto to_slurm = call(blacklist_command, {"export", "--to", "slurm"});
  EXPECT_EQ(to_slurm.status, 69);
  EXPECT_THAT(to_slurm.err, HasSubstr("weft blacklist sync does that, from a ledger"));
  EXPECT_EQ(call(blacklist_command, {"export"}).status, 64);
  EXPECT_EQ(call(blacklist_command, {"export", "--to", "paper"}).status, 64);
  EXPECT_EQ(call(blacklist_command, {"export", "--to", "jsonl", "--apply"}).status, 64);
  EXPECT_EQ(call(blacklist_command, {"export", "--to", "jsonl", "/nonexistent.json"}).status, 64);
  EXPECT_EQ(call(blacklist_command, {"list"}).status, 64);
}

}  // namespace
}  // namespace weft::cli
