#include "probes/run/launch_template.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weft::run {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> command(const char* launcher, const std::vector<std::string>& program) {
  const auto parsed = LaunchTemplate::parse(launcher);
  if (!parsed) return {"refused: " + parsed.error().message};
  return parsed->command("gpu7", program);
}

std::string refusal(const char* launcher) {
  const auto parsed = LaunchTemplate::parse(launcher);
  return parsed ? "accepted" : parsed.error().message;
}

TEST(LaunchTemplate, PutsTheHostWhereItBelongsAndTheProgramBehind) {
  EXPECT_THAT(command("run --on={host} -x \"a b\" '{host}'", {"weft", "agent"}),
              ElementsAre("run", "--on=gpu7", "-x", "a b", "gpu7", "weft", "agent"));
}

TEST(LaunchTemplate, QuotesForTheShellThatSshStarts) {
  const auto words =
      command("/usr/bin/ssh {host}", {"/opt/my weft", "nats://[fd00::1]:4222", "it's", "plain"});
  EXPECT_THAT(words, ElementsAre("/usr/bin/ssh", "gpu7", "'/opt/my weft'", "'nats://[fd00::1]:4222'",
                                 "'it'\\''s'", "plain"));
}

TEST(LaunchTemplate, QuotesNothingWhereNoShellReadsIt) {
  EXPECT_THAT(command("srun -w {host}", {"nats://[fd00::1]:4222"}),
              ElementsAre("srun", "-w", "gpu7", "nats://[fd00::1]:4222"));
}

TEST(LaunchTemplate, SshAsksNobodyAndTakesNoHostForAnOption) {
  const auto words = command("ssh", {"weft"});
  EXPECT_THAT(words, testing::Contains("BatchMode=yes"));
  EXPECT_THAT(words, testing::Contains("ConnectTimeout=10"));
  ASSERT_GE(words.size(), 3u);
  EXPECT_EQ(words[words.size() - 3], "--");
}

TEST(LaunchTemplate, SrunIsOneStepAHost) {
  EXPECT_THAT(command("srun", {"weft"}), testing::Contains("--nodelist=gpu7"));
}

TEST(LaunchTemplate, RefusesWhatNamesNoHostOrIsNotClosed) {
  EXPECT_THAT(refusal(""), HasSubstr("{host}"));
  EXPECT_THAT(refusal("pdsh"), HasSubstr("expected ssh, srun, or a command with {host}"));
  EXPECT_THAT(refusal("run 'x {host}"), HasSubstr("not closed"));
}

}  // namespace
}  // namespace weft::run
