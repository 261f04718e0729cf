// `weft blacklist ... --credential FILE`: a blacklist that machines share over a real nats-server, by what
// `weft bus init` writes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "cli/blacklist.hpp"
#include "cli/bus.hpp"
#include "cli/ledger_options.hpp"
#include "collectors/bus/bus_file.hpp"
#include "collectors/bus/jet_stream.hpp"
#include "collectors/bus/ledger_link.hpp"
#include "collectors/store/shared_ledger.hpp"
#include "tests/cli/site_program.hpp"
#include "tests/collectors/bus/watch_rig.hpp"
#include "tests/places.hpp"
#include "tests/support/command.hpp"
#include "tests/support/test_lab.hpp"
#include "topology/os/child_process.hpp"
#include "topology/os/run_program.hpp"

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
        << "fabric: f\nkind: roce\nclos: {leaves: 2, spines: 4, hosts_per_leaf: 20, link: 400G}\n";
    write_program(here("site"), site_program(here("drains")));
    const auto port = bus::free_port();
    const auto made = call(bus_command, {"init", here("bus"), "--fabric", "f", "--hosts", "host[1-40]",
                                         "--listen", fmt::format("127.0.0.1:{}", port)});
    ASSERT_EQ(made.status, 0) << made.err;
    start_server();
    ASSERT_EQ(run("one", {"share"}).status, 0);
  }
  void start_server() {
    auto server = os::ChildProcess::start(
        {.argv = {"/usr/sbin/nats-server", "-c", here("bus") + "/server/nats-server.conf"},
         .output = os::ToNothing{},
         .errors = os::ToFile{here("log")}});
    ASSERT_TRUE(server) << server.error().message;
    server_.emplace(std::move(*server));
    const auto until = std::chrono::steady_clock::now() + bus::kSoon;
    while (!link() && std::chrono::steady_clock::now() < until) std::this_thread::sleep_for(20ms);
  }
  void stop_server() { server_.reset(); }
  std::string here(const std::string& name) const { return directory_.path() / name; }
  Result<bus::LedgerLink> link() const {
    const auto file = bus::read_bus_file(here("bus/watchers/watcher.json")).value();
    return bus::connect_ledger_link(file.address(), "f", {.name = file.name, .limits = file.limits.value()});
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
  /// Of the newest entry that is not released.
  std::uint64_t last_id() const {
    const auto lines = run("two", {"list", "-o", "json"}).out;
    const auto last = lines.substr(lines.rfind('\n', lines.size() - 2) + 1);
    return nlohmann::json::parse(last)["id"];
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

TEST_F(SharedBlacklist, AStandbyCompletesWhatOneThatWasKilledHadBegun) {
  add("one", "host1");
  ASSERT_EQ(sync("one").status, 0);
  ASSERT_EQ(run("one", {"release", "1"}).status, 0);
  add("one", "host2");
  // Writes of a sync: some fifty, of which the copy's are the most.
  for (const int write : {5, 17, 29, 41}) {
    const auto script = fmt::format(
        "LD_PRELOAD={0}/libweft_kill_at.so WEFT_KILL_AT={1} {0}/weft blacklist sync --to exec:{2} --apply "
        "--ledger {3} --fabric {4} --credential {5} >/dev/null 2>&1; echo $?",
        WEFT_BINARY_DIR, write, here("site"), here("one.db"), here("fabric.yaml"),
        here("bus/watchers/watcher.json"));
    const auto killed = os::run_program({"sh", "-c", script}, "", 60s);
    ASSERT_TRUE(killed) << killed.error().message;
    ASSERT_EQ(*killed, "137\n") << write;
    const auto next = sync("two");
    EXPECT_EQ(next.status, 0) << write << next.err << next.out;
    EXPECT_EQ(mark("host1"), "none") << write;
    EXPECT_THAT(mark("host2"), StartsWith("weft: ")) << write;
    for (const char* machine : {"two", "one"}) EXPECT_EQ(sync(machine, "check", {}).status, 0) << write;
    // Back to where it began.
    ASSERT_EQ(run("two", {"release", std::to_string(last_id())}).status, 0);
    add("two", "host1");
    ASSERT_EQ(sync("two").status, 0);
    ASSERT_EQ(run("two", {"release", std::to_string(last_id())}).status, 0);
    add("two", "host2");
  }
}

TEST_F(SharedBlacklist, RefusesAFileThatIsNoCopyOfItAndACredentialOfAHost) {
  const auto alone = [&](std::vector<std::string> words, const std::string& machine) {
    words.insert(words.end(), {"--ledger", here(machine + ".db"), "--fabric", here("fabric.yaml")});
    return call(blacklist_command, words);
  };
  ASSERT_EQ(alone({"add", "host5", "--for", "1h", "--reason", "x"}, "own").status, 0);
  add("one", "host1");
  for (const char* word : {"list", "share"}) {
    const auto refused = run("own", {word});
    EXPECT_EQ(refused.status, 69);
    EXPECT_THAT(refused.err, HasSubstr("it is a blacklist of its own"));
  }
  EXPECT_EQ(alone({"release", "1"}, "own").status, 0) << "it is still its own";
  const auto host =
      call(blacklist_command, {"list", "--ledger", here("one.db"), "--fabric", here("fabric.yaml"),
                               "--credential", here("bus/hosts/host1.json")});
  EXPECT_EQ(host.status, 64);
  EXPECT_THAT(host.err, HasSubstr("expected that of a watcher"));
  EXPECT_THAT(alone({"list"}, "one").out, HasSubstr("host1")) << "a copy can be read";
  EXPECT_EQ(alone({"release", "1"}, "one").status, 64) << "and not changed";
  EXPECT_EQ(alone({"unshare"}, "one").status, 0);
  EXPECT_EQ(alone({"release", "1"}, "one").status, 0);
  EXPECT_THAT(alone({"unshare"}, "one").err, HasSubstr("this machine's own already"));
  EXPECT_EQ(alone({"unshare"}, "of-another-name").status, 64);
  EXPECT_FALSE(std::filesystem::exists(here("of-another-name.db")));
}

TEST_F(SharedBlacklist, AServerThatIsGoneIsSaidAndOneThatLostTheBlacklistIsRefused) {
  add("one", "host1");
  ASSERT_THAT(run("two", {"list"}).out, HasSubstr("host1"));
  stop_server();
  for (const auto& gone : {run("two", {"list"}), sync("two")}) {
    EXPECT_EQ(gone.status, 69);
    EXPECT_THAT(gone.err, HasSubstr("server"));
  }
  EXPECT_EQ(mark("host1"), "none");
  for (const auto& entry : std::filesystem::recursive_directory_iterator(here("bus")))
    if (entry.path().filename() == "WEFT_BLACKLIST") {
      std::filesystem::remove_all(entry.path());
      break;
    }
  start_server();
  for (const char* machine : {"one", "two"}) {
    const auto refused = sync(machine);
    EXPECT_EQ(refused.status, 69);
    EXPECT_THAT(refused.err, HasSubstr("the bus has lost the blacklist that this is a copy of"));
  }
  const auto from_here = [&](const char* word) {
    return call(blacklist_command, {word, "--ledger", here("two.db"), "--fabric", here("fabric.yaml")});
  };
  EXPECT_EQ(from_here("unshare").status, 0);
  ASSERT_EQ(run("two", {"share"}).status, 0);
  EXPECT_EQ(sync("two").status, 0);
  EXPECT_THAT(mark("host1"), StartsWith("weft: "));
  add("two", "host2");
  EXPECT_THAT(sync("one").err, HasSubstr("another blacklist than the one"));
  EXPECT_THAT(run("three", {"list"}).out, AllOf(HasSubstr("host1"), HasSubstr("host2")));
}

TEST_F(SharedBlacklist, WritersOfSeveralMachinesAndOnOneFileLoseNoChange) {
  constexpr int kChanges = 6;
  std::atomic<int> refused = 0;
  const auto write = [&](const std::string& machine, const std::string& name) {
    auto its = link();
    auto copy = store::LedgerStore::open(here(machine + ".db"), "f", store::Database::Access::write);
    ASSERT_TRUE(its) << its.error().message;
    ASSERT_TRUE(copy) << copy.error().message;
    store::SharedLedger shared(*copy, *its->log, {bus::random_id});
    for (int i = 0; i < kChanges; ++i) {
      const auto reason = fmt::format("{} {}", name, i);
      const auto change = [&] {
        return shared.change(now_of_machine().wall, [&](blacklist::Ledger ledger) {
          const blacklist::EntryId id(++ledger.last_id);
          ledger.entries.push_back({.id = id, .subject = {blacklist::SubjectKind::host, reason}});
          return Result<blacklist::Stepped>(
              {std::move(ledger), {{blacklist::EventKind::proposed, id, reason, "ann"}}});
        });
      };
      while (!change()) ++refused;  // the others kept the file, or the log, too busy: asked once more
    }
  };
  {
    std::vector<std::jthread> writers;
    for (const auto& [machine, name] :
         {std::pair("one", "a"), std::pair("one", "b"), std::pair("two", "c"), std::pair("three", "d")})
      writers.emplace_back(write, machine, name);
  }
  EXPECT_LT(refused, 4 * kChanges);
  std::set<std::string> outputs;
  for (const char* machine : {"one", "two", "three", "four"}) {
    const auto lines = run(machine, {"list", "-o", "json"}).out;
    EXPECT_EQ(std::ranges::count(lines, '\n'), 4 * kChanges) << machine;
    outputs.insert(lines);
  }
  EXPECT_EQ(outputs.size(), 1u);
}

}  // namespace
}  // namespace weft::cli
