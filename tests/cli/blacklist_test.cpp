// `weft blacklist export` as a user calls it.
#include "cli/blacklist.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/command.hpp"
#include "tests/support/schema.hpp"

namespace weft {
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

TEST(BlacklistExport, RefusesWhatItCannotDoAndSaysWhatItCan) {
  const auto to_slurm = call(blacklist_command, {"export", "--to", "slurm"});
  EXPECT_EQ(to_slurm.status, 69);
  EXPECT_THAT(to_slurm.err, HasSubstr("--to slurm is not supported yet: --to jsonl is"));
  EXPECT_EQ(call(blacklist_command, {"export"}).status, 64);
  EXPECT_EQ(call(blacklist_command, {"export", "--to", "paper"}).status, 64);
  EXPECT_EQ(call(blacklist_command, {"export", "--to", "jsonl", "--apply"}).status, 64);
  EXPECT_EQ(call(blacklist_command, {"export", "--to", "jsonl", "/nonexistent.json"}).status, 64);
  EXPECT_EQ(call(blacklist_command, {"list"}).status, 69);
}

}  // namespace
}  // namespace weft
