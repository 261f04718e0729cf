// `weft blacklist ... --credential FILE`: a blacklist that two machines share over a real nats-server, by
// what `weft bus init` writes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/blacklist.hpp"
#include "cli/bus.hpp"
#include "collectors/bus/bus_file.hpp"
#include "tests/cli/site_program.hpp"
#include "tests/collectors/bus/watch_rig.hpp"
#include "tests/support/command.hpp"
#include "tests/support/test_lab.hpp"
#include "topology/os/child_process.hpp"

namespace weft::cli {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class SharedBlacklist : public testing::Test {
 protected:
  void SetUp() override {
    std::ofstream(here("fabric.yaml"))
        << "fabric: f\nkind: roce\nclos: {leaves: 2, spines: 4, hosts_per_leaf: 8, link: 400G}\n";
    write_program(here("site"), site_program(here("drains")));
    const auto port = bus::free_port();
    const auto made = call(bus_command, {"init", here("bus"), "--fabric", "f", "--hosts", "host[1-16]",
                                         "--listen", fmt::format("127.0.0.1:{}", port)});
    ASSERT_EQ(made.status, 0) << made.err;
    auto server = os::ChildProcess::start(
        {.argv = {"/usr/sbin/nats-server", "-c", here("bus") + "/server/nats-server.conf"},
         .output = os::ToNothing{},
         .errors = os::ToFile{here("log")}});
    ASSERT_TRUE(server) << server.error().message;
    server_.emplace(std::move(*server));
    const auto until = std::chrono::steady_clock::now() + bus::kSoon;
    while (!link() && std::chrono::steady_clock::now() < until) std::this_thread::sleep_for(20ms);
  }
  std::string here(const std::string& name) const { return directory_.path() / name; }
  Result<bus::LedgerLink> link() const {
    const auto file = bus::read_bus_file(here("bus/watchers/watcher.json")).value();
    return bus::connect_ledger_link(file.address(), "f",
                                    {.name = file.name, .lease_time = 6s, .limits = file.limits.value()});
  }
  /// On one of the machines, each with a file of its own.
  Outcome run(const std::string& machine, std::vector<std::string> words) const {
    words.insert(words.end(), {"--ledger", here(machine + ".db"), "--fabric", here("fabric.yaml"),
                               "--credential", here("bus/watchers/watcher.json")});
    return call(blacklist_command, words);
  }
  Outcome sync(const std::string& machine, const char* word = "sync",
               std::vector<std::string> more = {"--apply"}) const {
    more.insert(more.begin(), {word, "--to", "exec:" + here("site"), "--call-limit", "5s"});
    return run(machine, more);
  }
  void add(const std::string& machine, const char* subject) const {
    const auto added = run(machine, {"add", subject, "--for", "4h", "--reason", "line card"});
    ASSERT_THAT(added.out, HasSubstr("activated")) << added.err << added.out;
  }
  std::string mark(const std::string& object) const {
    return nlohmann::json::parse(text_of(here("drains/marks.json"))).value(object, "none");
  }

 private:
  TestDirectory directory_;
  std::optional<os::ChildProcess> server_;
};

TEST_F(SharedBlacklist, AStandbyKnowsWhatTheOtherDidAndCanUndoIt) {
  add("one", "host1");
  ASSERT_EQ(sync("one").status, 0);
  EXPECT_THAT(mark("host1"), StartsWith("weft: "));
  EXPECT_THAT(run("two", {"list"}).out, AllOf(HasSubstr("host1"), HasSubstr("active")));
  EXPECT_THAT(run("two", {"history"}).out, AllOf(HasSubstr("activated"), HasSubstr("applied")));
  EXPECT_EQ(sync("two", "check", {}).status, 0) << "it is no stranger's";
  const auto undone = sync("two", "undo", {"1", "--apply"});
  EXPECT_EQ(undone.status, 0) << undone.err;
  EXPECT_EQ(mark("host1"), "none");
  EXPECT_THAT(run("one", {"list"}).out, AllOf(HasSubstr("host1"), HasSubstr("held")));
  add("two", "host2"), add("one", "host3");
  EXPECT_EQ(sync("one").status, 0);
  EXPECT_THAT(mark("host2"), StartsWith("weft: planned host2 id=f:2"));
  EXPECT_THAT(mark("host3"), StartsWith("weft: planned host3 id=f:3"));
}

TEST_F(SharedBlacklist, AStandbyCompletesWhatOneThatDiedHadAskedFor) {
  add("one", "host1");
  const auto good = text_of(here("site"));
  // The mark is set, and nobody lives to read it back.
  write_program(here("site"), good.substr(0, good.find("case $1")) +
                                  "if [ $1 = read ] && [ -e set ]; then exit 9; fi\n" +
                                  good.substr(good.find("case $1")) + "[ $1 != apply ] || echo x >set\n");
  EXPECT_NE(sync("one").status, 0);
  EXPECT_THAT(mark("host1"), StartsWith("weft: "));
  write_program(here("site"), good);
  EXPECT_EQ(sync("two", "check", {}).status, 1) << "an intent stands in the ledger of both";
  EXPECT_EQ(sync("two").status, 0);
  EXPECT_EQ(sync("two", "check", {}).status, 0);
  EXPECT_EQ(sync("one", "check", {}).status, 0);
}

TEST_F(SharedBlacklist, OneOfThemAppliesAtATime) {
  add("one", "host1");
  const auto other = link();
  ASSERT_TRUE(other) << other.error().message;
  ASSERT_TRUE(other->lease->hold("other").value());
  std::jthread renewing([&](const std::stop_token& stop) {
    for (; !stop.stop_requested(); std::this_thread::sleep_for(500ms)) (void)other->lease->hold("other");
  });
  const auto refused = sync("two");
  EXPECT_EQ(refused.status, 69) << refused.err;
  EXPECT_THAT(refused.err, HasSubstr("another weft is applying this blacklist"));
  EXPECT_EQ(mark("host1"), "none");
  EXPECT_THAT(run("two", {"list"}).out, HasSubstr("host1")) << "reading is for all";
  renewing.request_stop(), renewing.join();
  EXPECT_EQ(sync("two").status, 0) << "its holder is gone";
}

TEST_F(SharedBlacklist, RefusesAFileThatIsNoCopyOfItAndACredentialOfAHost) {
  std::vector<std::string> words{"add", "host5",    "--for",        "1h",       "--reason",
                                 "x",   "--ledger", here("own.db"), "--fabric", here("fabric.yaml")};
  ASSERT_EQ(call(blacklist_command, words).status, 0);
  add("one", "host1");
  const auto refused = run("own", {"list"});
  EXPECT_EQ(refused.status, 69);
  EXPECT_THAT(refused.err, HasSubstr("it is no copy of the blacklist that the bus has"));
  const auto host =
      call(blacklist_command, {"list", "--ledger", here("one.db"), "--fabric", here("fabric.yaml"),
                               "--credential", here("bus/hosts/host1.json")});
  EXPECT_EQ(host.status, 64);
  EXPECT_THAT(host.err, HasSubstr("expected that of a watcher"));
}

TEST_F(SharedBlacklist, ALedgerThatStoodBeforeIsTheFirstThatIsShared) {
  ASSERT_EQ(call(blacklist_command, {"add", "host5", "--for", "1h", "--reason", "x", "--ledger",
                                     here("one.db"), "--fabric", here("fabric.yaml")})
                .status,
            0);
  add("one", "host1");
  EXPECT_THAT(run("two", {"list"}).out, AllOf(HasSubstr("host5"), HasSubstr("host1")));
  const auto alone = [&](const char* word, std::vector<std::string> more) {
    more.insert(more.begin(), {word, "--ledger", here("two.db"), "--fabric", here("fabric.yaml")});
    return call(blacklist_command, more);
  };
  EXPECT_THAT(alone("list", {}).out, HasSubstr("host5")) << "a copy can be read";
  EXPECT_EQ(alone("release", {"1"}).status, 64) << "and not changed";
}

}  // namespace
}  // namespace weft::cli
