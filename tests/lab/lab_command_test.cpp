// `weft lab` as people run it, as root and as an ordinary user.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "tests/support/lab_user.hpp"
#include "tests/support/schema.hpp"
#include "topology/lab/netns/state.hpp"
#include "topology/os/processes.hpp"

namespace weft {
namespace {

constexpr const char* kFabric =
    "fabric: small\nkind: roce\nclos: {leaves: 2, spines: 2, hosts_per_leaf: 1}\n";

TEST(LabOfAnOrdinaryUser, IsBuiltBrokenMendedAndEnded) {
  const LabUser user(kFabric, as_nobody());
  const auto up = user.up();
  ASSERT_EQ(up.status, 0) << up.errors;
  EXPECT_EQ(user.up().output.find("is up:"), std::string::npos) << "the second time it was up already";
  EXPECT_EQ(
      user.weft({"lab", "exec", "host1", "--name", user.lab, "--", "ping", "-c1", "-W2", "10.0.2.1"}).status,
      0);
  const auto named =
      user.weft({"lab", "exec", "host1", "--name", user.lab, "--", "getent", "hosts", "host2"});
  EXPECT_EQ(named.output.find("10.0.2.1"), 0u) << named.output << named.errors;
  const auto fault = user.weft({"lab", "fault", "host1--leaf1", "--name", user.lab, "--loss", "100", "--load",
                                "1M", "--delay", "1ms"});
  ASSERT_EQ(fault.status, 0) << fault.errors;
  EXPECT_NE(
      user.weft({"lab", "exec", "host1", "--name", user.lab, "--", "ping", "-c1", "-W1", "10.0.2.1"}).status,
      0);
  const auto status = user.weft({"lab", "status", "--name", user.lab, "-o", "json"});
  expect_matches_schema(status.output, "lab");
  EXPECT_NE(status.output.find("\"owner\":\"user\""), std::string::npos) << status.output;
  ASSERT_EQ(user.weft({"lab", "heal", "--name", user.lab}).status, 0);
  EXPECT_EQ(
      user.weft({"lab", "exec", "host1", "--name", user.lab, "--", "ping", "-c1", "-W2", "10.0.2.1"}).status,
      0);
}

TEST(LabOfAnOrdinaryUser, LeavesNothingBehind) {
  const LabUser user(kFabric, as_nobody());
  ASSERT_EQ(user.up().status, 0);
  ASSERT_EQ(user.weft({"lab", "fault", "leaf1--spine1", "--name", user.lab, "--load", "1M"}).status, 0);
  const auto state = lab::read_lab_state(user.state_root(), user.lab);
  ASSERT_TRUE(state && state->holder);
  ASSERT_EQ(user.weft({"lab", "down", "--name", user.lab}).status, 0);
  EXPECT_FALSE(is_running(*state->holder));
  for (const lab::LabWorker& worker : state->workers) EXPECT_FALSE(is_running(worker.process));
  EXPECT_TRUE(std::filesystem::is_empty(user.state_root()));
}

TEST(LabOfAnOrdinaryUser, ThatLostItsHolderIsGoneAndComesUpAnew) {
  const LabUser user(kFabric, as_nobody());
  ASSERT_EQ(user.up().status, 0);
  ASSERT_TRUE(end_process(*lab::read_lab_state(user.state_root(), user.lab)->holder));
  EXPECT_NE(user.weft({"lab", "status"}).output.find("gone"), std::string::npos);
  EXPECT_EQ(user.weft({"lab", "exec", "host1", "--name", user.lab, "--", "true"}).status, 69);
  EXPECT_EQ(user.up().status, 0);
  EXPECT_EQ(user.weft({"lab", "exec", "host1", "--name", user.lab, "--", "true"}).status, 0);
}

TEST(LabOfAnOrdinaryUser, WithADamagedStateFileStillEnds) {
  const LabUser user(kFabric, as_nobody());
  ASSERT_EQ(user.up().status, 0);
  const auto holder = lab::read_lab_state(user.state_root(), user.lab)->holder;
  std::ofstream(user.state_root() / user.lab / "state.json") << "{";
  EXPECT_EQ(user.weft({"lab", "down", "--name", user.lab}).status, 0);
  EXPECT_FALSE(is_running(*holder));
  EXPECT_TRUE(std::filesystem::is_empty(user.state_root()));
}

TEST(LabCommand, StatusListsTheOtherLabsWhereTheStateOfOneIsDamaged) {
  const LabUser user(kFabric, as_nobody());
  ASSERT_EQ(user.up().status, 0);
  struct stat owner {};
  ASSERT_EQ(stat((user.state_root() / user.lab).c_str(), &owner), 0);
  std::string own;
  std::getline(std::ifstream(user.state_root() / user.lab / "state.json"), own, '\0');
  for (const std::string& text : {std::string(), std::string("{"), std::string("[1]"),
                                  std::string("{\"name\":\"a\"}"), own.substr(0, own.size() / 2), own}) {
    const auto damaged = user.state_root() / "a-damaged";
    std::filesystem::create_directories(damaged);
    ASSERT_EQ(chown(damaged.c_str(), owner.st_uid, owner.st_gid), 0);
    std::ofstream(damaged / "state.json", std::ios::trunc) << text;
    for (const bool json : {false, true}) {
      const auto status = user.weft({"lab", "status", "-o", json ? "json" : "table"});
      EXPECT_EQ(status.status, 64) << text;
      EXPECT_NE(status.output.find(user.lab), std::string::npos) << status.output;
      EXPECT_EQ(status.output.find("a-damaged"), std::string::npos) << status.output;
      if (json) {
        expect_matches_schema(status.output, "lab");
      }
      EXPECT_EQ(std::ranges::count(status.errors, '\n'), 1) << status.errors;
      EXPECT_NE(status.errors.find("weft lab down --name a-damaged"), std::string::npos) << status.errors;
    }
  }
  EXPECT_EQ(user.weft({"lab", "down", "--name", "a-damaged"}).status, 0) << "what the message says to do";
  const auto status = user.weft({"lab", "status"});
  EXPECT_EQ(status.status, 0) << status.errors;
  EXPECT_NE(status.output.find(user.lab), std::string::npos);
}

TEST(LabOfAnOrdinaryUser, SaysWhatIsNeededWhereUserNamespacesAreRefused) {
  // Root of a user namespace that allows no further ones, and no privileges left.
  const LabUser user(kFabric, {"unshare", "-Ur", "sh", "-c",
                               "echo 0 > /proc/sys/user/max_user_namespaces; exec setpriv --inh-caps=-all "
                               "--bounding-set=-all \"$0\" \"$@\""});
  const auto up = user.up();
  EXPECT_EQ(up.status, 69);
  EXPECT_NE(up.errors.find("user namespaces"), std::string::npos) << up.errors;
  EXPECT_NE(up.errors.find("max_user_namespaces is 0"), std::string::npos) << up.errors;
  EXPECT_NE(up.errors.find("weft simulate"), std::string::npos) << up.errors;
}

TEST(LabCommand, AnswersMistakesWithWhatWasExpected) {
  const LabUser user(kFabric, as_nobody());
  const auto expect = [&](std::vector<std::string> words, int status, const char* part) {
    const auto answer = user.weft(std::move(words));
    EXPECT_EQ(answer.status, status) << answer.errors;
    EXPECT_NE(answer.errors.find(part), std::string::npos) << answer.errors;
  };
  expect({"lab"}, 64, "expected one of");
  expect({"lab", "stats"}, 64, "did you mean");
  expect({"lab", "up"}, 64, "fabric file");
  expect({"lab", "up", "/no/such.yaml"}, 64, "/no/such.yaml");
  expect({"lab", "up", user.fabric_file(), "--name", "a/b"}, 64, "a/b");
  expect({"lab", "exec", "host1", "--name", "none", "--", "true"}, 64, "no lab 'none'");
  ASSERT_EQ(user.up().status, 0);
  expect({"lab", "exec", "host9", "--name", user.lab, "--", "true"}, 64, "host9");
  expect({"lab", "exec", "host1", "--name", user.lab}, 64, "command");
  expect({"lab", "exec", "host1", "--name", user.lab, "--", "no-such-program"}, 69, "no-such-program");
  expect({"lab", "fault", "leaf1--spine9", "--name", user.lab, "--loss", "1"}, 64, "spine9");
  expect({"lab", "fault", "leaf1--spine1", "--name", user.lab}, 64, "says nothing");
  expect({"lab", "fault", "leaf1--spine1", "--name", user.lab, "--loss", "200"}, 64, "200");
  expect({"lab", "fault", "leaf1--spine1", "--name", user.lab, "--counter", "x=1"}, 69, "InfiniBand");
}

TEST(LabCommand, TakesNoStateThatAnotherUserLaidOut) {
  const LabUser user(kFabric, as_nobody());
  std::filesystem::create_directories(user.state_root() / user.lab);
  ASSERT_EQ(chown(user.state_root().c_str(), 12345, 12345), 0);
  const auto up = user.up();
  EXPECT_EQ(up.status, 69);
  EXPECT_NE(up.errors.find("another user"), std::string::npos) << up.errors;
}

TEST(LabCommand, TakesNoStateThatLiesBehindALinkOfAnotherUser) {
  const LabUser user(kFabric, as_nobody());
  const auto own = user.directory() / "own";
  std::filesystem::create_directories(own);
  ASSERT_EQ(chown(own.c_str(), 65534, 65534), 0);
  const auto link = user.state_root().parent_path();
  std::filesystem::create_directory_symlink(own, link);
  ASSERT_EQ(lchown(link.c_str(), 12345, 12345), 0);
  const auto up = user.up();
  EXPECT_EQ(up.status, 69);
  EXPECT_NE(up.errors.find("another user"), std::string::npos) << up.errors;
  EXPECT_TRUE(std::filesystem::is_empty(own));
}

TEST(LabCommand, ExecGivesTheProgramsOwnStatusOutputAndInput) {
  const LabUser user(kFabric);
  ASSERT_EQ(user.up().status, 0);
  const auto exec = [&](const char* script) {
    return user.weft({"lab", "exec", "host1", "--name", user.lab, "--", "sh", "-c", script});
  };
  EXPECT_EQ(exec("exit 7").status, 7);
  EXPECT_EQ(exec("kill -9 $$").status, 128 + 9);
  EXPECT_EQ(exec("ls /sys/class/net").output, "lo\nmgmt\np1\n") << "the host's own view of /sys";
}

TEST(LabCommand, SaysOfALabOfRootThatItIsRoots) {
  const LabUser user(kFabric);
  ASSERT_EQ(user.up().status, 0);
  using Command = std::vector<std::string>;
  for (const Command& words : {Command{"lab", "exec", "host1", "--name", user.lab, "--", "true"},
                               Command{"lab", "down", "--name", user.lab}}) {
    const auto answer = user.start_after(as_nobody(), words).wait(std::chrono::seconds(20));
    EXPECT_EQ(answer.status, 69);
    EXPECT_NE(answer.errors.find("lab '" + user.lab + "' is root's: run this as root"), std::string::npos)
        << answer.errors;
  }
}

}  // namespace
}  // namespace weft
