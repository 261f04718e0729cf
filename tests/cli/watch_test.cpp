// `weft watch` and `weft watch backup` as a user calls them, where they need no lab.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "collectors/store/migrations.hpp"
#include "tests/collectors/store/store_rig.hpp"
#include "tests/support/command.hpp"
#include "tests/support/scratch_file.hpp"

namespace weft::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kLive =
    "fabric: small\nclos: {leaves: 2, spines: 2, hosts_per_leaf: 1, link: 50M}\naddresses: {plan: ipv4}\n";

class WeftWatch : public ::testing::Test {
 protected:
  /// The live fabric, with a server that is not there.
  Outcome watch(Arguments words) const {
    words.insert(words.begin(), {"--fabric", file_.path(), "--server", "nats://127.0.0.1:9"});
    return call(watch_command, words);
  }
  std::string path(std::string_view name) const { return directory_.path() / name; }

  const ScratchFile file_{kLive};
  const os::ScratchDirectory directory_ = os::ScratchDirectory::make().value();
};

TEST_F(WeftWatch, NamesTheOptionThatIsWrong) {
  const auto page = watch({"--page", "0.0.0.0:99999"});
  EXPECT_EQ(page.status, 64);
  EXPECT_THAT(page.err, HasSubstr("--page: 0.0.0.0:99999"));
  EXPECT_THAT(page.err, Not(HasSubstr("--listen")));
  for (const char* hold : {"0s", "10ms"}) {
    const auto outcome = watch({"--close-after", hold});
    EXPECT_EQ(outcome.status, 64);
    EXPECT_THAT(outcome.err, HasSubstr(std::string("--close-after ") + hold));
  }
  EXPECT_THAT(watch({"--for", "0s"}).err, HasSubstr("--for: expected a time above zero"));
  EXPECT_THAT(watch({"--engine", "dpdk"}).err, HasSubstr("--engine dpdk: expected raw or verbs"));
  const ScratchFile without("fabric: f\nclos: {leaves: 2, spines: 1, hosts_per_leaf: 1, link: 400G}\n");
  EXPECT_THAT(call(watch_command, {"--fabric", without.path(), "--engine", "dpdk"}).err,
              HasSubstr("expected raw or verbs"))
      << "before anything of the file, or of a lab, is looked at";
  EXPECT_THAT(watch({"--engine", "verbs", "--probe-transport", "rc"}).err,
              HasSubstr("--probe-transport rc: expected auto, ud or uc"));
  const auto events = watch({"--events", directory_.path().string()});
  EXPECT_EQ(events.status, 64) << "before the first event";
  EXPECT_THAT(events.err, HasSubstr("it is a folder: expected a file"));
  const auto over = watch({"--events", file_.path()});
  EXPECT_EQ(over.status, 64);
  EXPECT_THAT(over.err, HasSubstr("it is the file of --fabric too"));
  const auto listen = call(watch_command, {"--fabric", file_.path(), "--listen", "head:4222"});
  EXPECT_EQ(listen.status, 64);
  EXPECT_THAT(listen.err, HasSubstr("--listen: head:4222"));
  for (const Arguments& live : {Arguments{"--hosts", "host1"}, Arguments{"--server", "nats://127.0.0.1:9"},
                                Arguments{"--credential", "watcher.json"}}) {
    const auto lab = call(watch_command, {"--lab=none", live[0], live[1]});
    EXPECT_EQ(lab.status, 64) << live[0];
    EXPECT_THAT(lab.err, HasSubstr(live[0] + " is of a live fabric"));
  }
}

TEST_F(WeftWatch, SaysWhatIsWrongWithADatabaseAndMigratesAnOlderOne) {
  std::filesystem::create_directory(path("damaged"));
  std::ofstream(path("damaged/watch.db")) << std::string(20'000, 'x');
  const auto damaged = watch({"--state", path("damaged")});
  EXPECT_EQ(damaged.status, 64);
  EXPECT_THAT(damaged.err, HasSubstr("Move it away"));
  std::filesystem::create_directory(path("older"));
  {
    auto old = store::Database::open(path("older/watch.db"), store::Database::Access::write).value();
    ASSERT_TRUE(store::migrate(old, store::watch_schema(), store::watch_schema().newest() - 1));
  }
  const auto older = watch({"--state", path("older")});
  EXPECT_THAT(older.err, HasSubstr("NATS")) << "it came as far as the server: " << older.err;
  EXPECT_TRUE(store::open_to_read(path("older/watch.db")));
}

TEST_F(WeftWatch, BacksUpAndTheCopyIsWhatAWatchGoesOnWith) {
  const std::string state = path("state");
  std::filesystem::create_directory(state);
  {
    auto store = store::WatchStore::open(state + "/watch.db", store::small_fabric()).value();
    const auto open =
        store::stored(1, store::cable_event(1, "leaf1->spine2", IncidentState::open, store::kStart));
    ASSERT_TRUE(store.apply({&open, 1}));
    const auto done = call(watch_command, {"backup", path("copy.db"), "--state", state});  // while it is open
    EXPECT_EQ(done.status, 0) << done.err;
    const auto later =
        store::stored(2, store::cable_event(2, "leaf2->spine2", IncidentState::open, store::kStart));
    ASSERT_TRUE(store.apply({&later, 1}));
  }
  EXPECT_EQ(call(watch_command, {"backup", path("copy.db"), "--state", state}).status, 69) << "it is there";
  for (const char* file : {"/watch.db", "/watch.db-wal", "/watch.db-shm"})
    std::filesystem::remove(state + file);
  std::filesystem::copy_file(path("copy.db"), state + "/watch.db");
  auto restored = store::WatchStore::open(state + "/watch.db", store::small_fabric());
  ASSERT_TRUE(restored) << restored.error().message;
  EXPECT_EQ(restored->last_sequence(), 1u) << "the stream has what came after";
  EXPECT_EQ(store::incidents(restored->database(), {})->size(), 1u);
}

TEST_F(WeftWatch, ABackupSaysWhatItLacks) {
  EXPECT_THAT(call(watch_command, {"backup"}).err, HasSubstr("which file?"));
  EXPECT_THAT(call(watch_command, {"backup", path("x.db")}).err, HasSubstr("--state DIR is missing"));
  const auto nothing = call(watch_command, {"backup", path("x.db"), "--state", path("nowhere")});
  EXPECT_EQ(nothing.status, 64);
  EXPECT_THAT(nothing.err, HasSubstr("there is no such database"));
  EXPECT_EQ(call(watch_command, {"backup", "--help"}).status, 0);
}

}  // namespace
}  // namespace weft::cli
