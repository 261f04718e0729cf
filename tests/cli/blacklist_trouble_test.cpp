// What goes wrong at a site, with `weft blacklist` as a user calls it: each time no host is drained that
// should not be, and the operator is told.
#include <gmock/gmock.h>
#include <unistd.h>

#include <thread>

#include "collectors/store/database.hpp"
#include "tests/cli/slurm_stand_in.hpp"
#include "tests/support/draws.hpp"
#include "tests/support/killed_sync.hpp"
#include "topology/files/diagnosis_document.hpp"
#include "topology/model/clos.hpp"
#include "topology/os/run_program.hpp"

namespace weft::cli {
namespace {

using testing::AllOf;
using testing::AnyOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using namespace std::chrono_literals;

class BlacklistTrouble : public SlurmStandIn {
 protected:
  /// A fabric of so many hosts, which Slurm has.
  void have_hosts(std::uint32_t hosts, const std::string& name = "f") const {
    std::ofstream(here("fabric.yaml"))
        << fmt::format("fabric: {}\nclos: {{leaves: 2, spines: 4, hosts_per_leaf: {}}}\n", name, hosts / 2);
    for (std::uint32_t host = 1; host <= hosts; ++host)
      if (!std::filesystem::exists(here(fmt::format("nodes/host{}", host))))
        node(fmt::format("host{}", host), "IDLE", "");
  }
  /// A run that found cables of these hosts at fault.
  Outcome update(std::uint32_t hosts, const std::vector<int>& bad, double confidence = 0.999,
                 std::vector<std::string> more = {}) const {
    const auto fabric = *make_clos({.name = "f", .leaves = 2, .spines = 4, .hosts_per_leaf = hosts / 2});
    files::DiagnosisDocument document;
    document.fabric = "f";
    document.stamp = {std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now()), "test"};
    document.coverage.channels = fabric.channel_count();
    document.run.sent = 100'000;
    document.sensitivity = {.loss = 0.001, .delay = 1ms, .rate = std::nullopt, .size = std::nullopt};
    for (const int host : bad) {
      const auto name = fmt::format("host{}", host);
      const auto nic = *fabric.find_nic(name);
      document.links.push_back({.link = fabric.name_of(*fabric.port(nic).link),
                                .from = name,
                                .ends = {},
                                .verdict = Verdict::degraded,
                                .confidence = confidence,
                                .evidence = {"31 of 1,790 lost"}});
    }
    document.verdict = bad.empty() ? Verdict::healthy : Verdict::degraded;
    std::ofstream(here("run.json")) << diagnosis_json(document);
    more.insert(more.begin(), {"update", here("run.json")});
    return run(more);
  }
  std::size_t drained() const {
    std::size_t count = 0;
    for (const auto& file : std::filesystem::directory_iterator(here("nodes")))
      count += text_of(file.path()).find("DRAIN") != std::string::npos ? 1 : 0;
    return count;
  }
  void change_ledger(const std::string& statement) const {
    auto database = store::Database::open(here("bl.db"), store::Database::Access::write).value();
    ASSERT_TRUE(database.run(statement));
  }
  /// The time that entries were added for is over.
  void end_times() const { change_ledger("UPDATE entries SET line=json_set(line, '$.policy.ends_s', 0)"); }
};

TEST_F(BlacklistTrouble, ThirtyFalseFindingsTripTheBreakerAndDrainNoMoreThanTheCaps) {
  have_hosts(40);
  std::vector<int> thirty(30);
  for (int i = 0; i < 30; ++i) thirty[static_cast<std::size_t>(i)] = i + 1;
  const auto updated = update(40, thirty);
  EXPECT_THAT(updated.out, HasSubstr("breaker: 30 entries at once, and the caps let 10 through"));
  EXPECT_EQ(sync().status, 0);
  EXPECT_EQ(drained(), 0u);
  EXPECT_EQ(run({"resume"}).status, 0);
  EXPECT_EQ(sync().status, 0);
  EXPECT_EQ(drained(), 10u) << "they were true, as the operator says: as many as the caps let through";
  std::this_thread::sleep_for(1100ms);
  update(40, thirty);
  EXPECT_EQ(sync().status, 0);
  EXPECT_EQ(drained(), 10u);
}

TEST_F(BlacklistTrouble, WhatWaitsForApprovalIsNotDrainedByACommandThatForgetsTheOption) {
  EXPECT_THAT(update(16, {1}, 0.999, {"--approval", "nic"}).out, HasSubstr("need approval"));
  add("host2");
  ASSERT_EQ(sync().status, 0);
  node("host2", "IDLE", "");  // RESUME
  EXPECT_THAT(sync().out, HasSubstr("somebody put host2 back"));
  run({"release", "2"});
  EXPECT_EQ(sync().status, 0);
  EXPECT_EQ(drained(), 0u);
  EXPECT_EQ(run({"approve", "1"}).status, 0);
  EXPECT_EQ(sync().status, 0);
  EXPECT_THAT(at("host1"), HasSubstr("weft: degraded host1--leaf1 id=f:1 31 of 1,790 lost"));
}

TEST_F(BlacklistTrouble, WhatWasAddedForATimeEndsThoughNoRunIsHeardOf) {
  add("host1");
  ASSERT_EQ(sync().status, 0);
  ASSERT_THAT(at("host1"), HasSubstr("DRAIN"));
  end_times();
  EXPECT_THAT(sync({}).out, HasSubstr("take host1"));
  EXPECT_THAT(at("host1"), HasSubstr("DRAIN"));
  const auto ended = sync();
  EXPECT_EQ(ended.status, 0) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("1 expired: host host1: its time is over"));
  EXPECT_EQ(at("host1"), idle_);
}

TEST_F(BlacklistTrouble, ACableUnderAPlannedLeafDrainsNothingButItsHostAfterwards) {
  std::ofstream(here("fabric.yaml")) << "fabric: f\nclos: {leaves: 8, spines: 4, hosts_per_leaf: 2}\n";
  add("leaf1");
  ASSERT_EQ(sync().status, 0);
  EXPECT_EQ(drained(), 2u);
  end_times();
  EXPECT_EQ(sync().status, 0);
  EXPECT_EQ(drained(), 0u);
  files::DiagnosisDocument document;
  document.fabric = "f";
  // It began after the work ended.
  document.stamp = {
      std::chrono::ceil<std::chrono::seconds>(std::chrono::system_clock::now()) + std::chrono::seconds(1),
      "test"};
  document.coverage.channels = make_clos({.leaves = 8, .spines = 4, .hosts_per_leaf = 2})->channel_count();
  document.run.sent = 100'000;
  document.links.push_back({.link = "host1--leaf1",
                            .from = "host1",
                            .ends = {},
                            .verdict = Verdict::degraded,
                            .confidence = 0.999,
                            .evidence = {"lost"}});
  document.verdict = Verdict::degraded;
  std::ofstream(here("run.json")) << diagnosis_json(document);
  EXPECT_THAT(run({"update", here("run.json")}).out, Not(HasSubstr("leaf1: seen again")));
  EXPECT_EQ(sync().status, 0);
  EXPECT_THAT(at("host1"), HasSubstr("DRAIN"));
  EXPECT_EQ(drained(), 1u);
}

TEST_F(BlacklistTrouble, AFabricOfAnotherNameHasAnotherLedger) {
  add("host1");
  have_hosts(16, "g");
  const auto other = sync();
  EXPECT_EQ(other.status, 69);
  EXPECT_THAT(other.err, HasSubstr("it is of the fabric 'f', not of 'g'"));
  EXPECT_EQ(drained(), 0u);
}

TEST_F(BlacklistTrouble, AHostThatTheFabricFileLostKeepsItsMarkUntilItsEntryIsReleased) {
  add("host16"), add("host1");
  ASSERT_EQ(sync().status, 0);
  have_hosts(14);
  EXPECT_THAT(update(14, {}).out, HasSubstr("it stays as it is until"));
  EXPECT_EQ(sync().status, 0);
  EXPECT_EQ(drained(), 2u);
  EXPECT_EQ(run({"release", "1"}).status, 0);
  EXPECT_EQ(sync().status, 0);
  EXPECT_EQ(at("host16"), idle_);
  EXPECT_THAT(at("host1"), HasSubstr("DRAIN"));
}

TEST_F(BlacklistTrouble, AClockThatJumpsEndsNothing) {
  add("host1");
  ASSERT_EQ(sync().status, 0);
  // As if the last step had been made years ago, or years ahead, of another boot or of this one.
  for (const char* year : {"1999", "2999"})
    for (const char* boot : {"'$.boots[0].boot', 'another',", ""}) {
      change_ledger(fmt::format(
          "UPDATE facts SET value=json_set(value, {} '$.last.wall', '{}-01-01T00:00:00Z')", boot, year));
      EXPECT_EQ(sync().status, 0);
      EXPECT_THAT(at("host1"), HasSubstr("DRAIN")) << year;
      EXPECT_THAT(run({"list"}).out, HasSubstr("active"));
    }
}

TEST_F(BlacklistTrouble, ALedgerOfTheVersionBeforeIsReadAndOneOfALaterVersionIsLeftAlone) {
  add("host1");
  ASSERT_EQ(sync().status, 0);
  change_ledger(
      "UPDATE entries SET line=json_remove(line, '$.policy.needs_approval');"
      "UPDATE facts SET value=json_remove(value, '$.nic')");
  EXPECT_EQ(sync().status, 0);
  EXPECT_EQ(run({"release", "1"}).status, 0);
  change_ledger("PRAGMA user_version=99");
  const auto later = sync();
  EXPECT_EQ(later.status, 69);
  EXPECT_THAT(later.err, HasSubstr("use the newer weft"));
  EXPECT_THAT(at("host1"), HasSubstr("DRAIN"));
}

TEST_F(BlacklistTrouble, ADamagedLedgerIsNamedAndNothingIsChanged) {
  add("host1");
  ASSERT_EQ(sync().status, 0);
  run({"release", "1"});
  change_ledger("PRAGMA wal_checkpoint(TRUNCATE)");
  const auto whole = text_of(here("bl.db"));
  const auto put = [&](const std::string& bytes) {
    for (const char* end : {"-wal", "-shm"}) std::filesystem::remove(here("bl.db") + end);
    std::ofstream(here("bl.db"), std::ios::binary) << bytes;
  };
  auto garbled = whole;
  for (std::size_t i = 100; i < garbled.size(); i += 7) garbled[i] = static_cast<char>(garbled[i] ^ 0x5a);
  auto half_an_entry = whole;
  half_an_entry.replace(half_an_entry.find("weft.blacklist/2"), 16, "weft.blacklist/7");
  for (const auto& bytes : {garbled, whole.substr(0, whole.size() / 2), whole.substr(0, 30), half_an_entry}) {
    put(bytes);
    const auto outcome = sync();
    EXPECT_THAT(outcome.status, AnyOf(64, 69)) << outcome.out;
    EXPECT_THAT(outcome.err, HasSubstr("bl.db"));
    EXPECT_THAT(at("host1"), HasSubstr("DRAIN"));
  }
  put(whole);
  EXPECT_EQ(sync().status, 0);
  EXPECT_EQ(at("host1"), idle_);
}

TEST_F(BlacklistTrouble, OnAFullDiskNothingIsChanged) {
  if (geteuid() != 0) GTEST_SKIP() << "a file system of its own needs root";
  const auto said =
      os::run_program({"unshare", "-m", "sh", "-c",
                       fmt::format("cd {0} && mkdir disk && mount -t tmpfs -o size=400k none disk || exit 9\n"
                                   "export FAKE_SLURM={0}\n"
                                   "weft() {{ {1}/weft blacklist \"$@\" --ledger disk/bl.db --fabric "
                                   "fabric.yaml 2>&1; echo \"status $?\"; }}\n"
                                   "weft add host1 --for 4h --reason fan\n"
                                   "head -c 400000 /dev/zero 2>/dev/null >disk/full\n"
                                   "weft sync --to slurm --apply\n"
                                   "cat nodes/host1; rm disk/full\n"
                                   "weft sync --to slurm --apply\n",
                                   std::filesystem::path(here("")).string(), WEFT_BINARY_DIR)},
                      "", 60s);
  if (!said && said.error().message.find('9') != std::string::npos)
    GTEST_SKIP() << "no file system can be mounted here: " << said.error().message;
  ASSERT_TRUE(said) << said.error().message;
  EXPECT_THAT(*said, AllOf(HasSubstr("the disk is full"), HasSubstr("status 69\nIDLE\n")));
  EXPECT_THAT(at("host1"), HasSubstr("DRAIN")) << "once there is room: " << *said;
}

TEST_F(BlacklistTrouble, AReasonOfAnyTextIsOneLineOfTwoHundredBytes) {
  const auto added = run({"add", "host1", "--for", "4h", "--reason",
                          "it's \"odd\"\n id=f:77 $(reboot) \x1b[31m" + std::string(900, 'x')});
  EXPECT_EQ(added.status, 0) << added.err;
  ASSERT_EQ(sync().status, 0);
  const auto reason = at("host1").substr(11, at("host1").rfind('|') - 11);
  EXPECT_EQ(reason.size(), 200u);
  EXPECT_THAT(reason, testing::StartsWith("weft: planned host1 id=f:1 it's 'odd'"));
  EXPECT_TRUE(std::ranges::all_of(reason, [](char c) { return c >= ' ' && c <= '~'; })) << reason;
  EXPECT_EQ(sync().out, "") << "its id is the first, whatever the reason says";
  EXPECT_EQ(run({"add", "host2", "--for", "4h", "--reason", std::string(3000, 'x')}).status, 64);
  EXPECT_THAT(run({"list"}).out, Not(HasSubstr("host2")));
}

TEST_F(BlacklistTrouble, ANameThatScontrolTakesForOtherNodesIsNeverGivenToIt) {
  std::ofstream(here("fabric.yaml"))
      << "fabric: f\nnodes:\n- {name: ALL, kind: host}\n- {name: leaf1, kind: switch}\n"
         "- {name: host1, kind: host}\n- {name: 'a:b', kind: host}\n"
         "links:\n- {a: ALL, b: leaf1}\n- {a: host1, b: leaf1}\n- {a: 'a:b', b: leaf1}\n";
  ASSERT_EQ(run({"add", "ALL", "--for", "4h", "--reason", "fan"}).status, 0);
  const auto outcome = sync();
  EXPECT_THAT(outcome.err,
              HasSubstr("'ALL' is no name of a node that scontrol can be given: drain it by hand"));
  EXPECT_EQ(drained(), 0u);
  EXPECT_THAT(read("said"), Not(HasSubstr("NodeName=ALL")));
}

TEST_F(BlacklistTrouble, TwoWhoChangeTheLedgerAtOnceLoseNothing) {
  std::vector<std::jthread> writers;
  const auto weft = fmt::format("{}/weft", WEFT_BINARY_DIR);
  run({"list"});
  std::vector<Result<std::string>> said(4, std::string());
  for (int i = 0; i < 4; ++i)
    writers.emplace_back([&, i] {
      said[static_cast<std::size_t>(i)] =
          os::run_program({weft, "blacklist", "add", fmt::format("host{}", i + 1), "--for", "4h", "--reason",
                           "fan", "--ledger", here("bl.db"), "--fabric", here("fabric.yaml")},
                          "", 60s);
    });
  writers.clear();
  for (const auto& one : said) EXPECT_TRUE(one) << one.error().message;
  const auto listed = run({"list"}).out;
  for (int i = 1; i <= 4; ++i) EXPECT_THAT(listed, HasSubstr(fmt::format("host{} ", i)));
}

TEST_F(BlacklistTrouble, ASyncThatIsKilledAtAWriteIsCompletedByTheNext) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "its runtime must be loaded first";
#endif
  const auto killed = try_killed_syncs(7);
  EXPECT_GE(killed.all, 3);
  EXPECT_EQ(killed.right, killed.all) << killed.wrong;
}

/// With --slurm-reserve.
class BlacklistReservations : public BlacklistTrouble {
 protected:
  Outcome reserve(const std::string& word = "sync", std::vector<std::string> more = {"--apply"}) const {
    more.insert(more.begin(), {word, "--to", "slurm", "--slurm-reserve"});
    return run(more);
  }
  std::string reserved() const { return read("reservations/weft.f.1.host1"); }
};

TEST_F(BlacklistReservations, KeepAHostForRootAndGiveItBack) {
  add("host1");
  const auto dry = reserve("sync", {});
  EXPECT_EQ(dry.status, 1);
  EXPECT_THAT(dry.out,
              AllOf(HasSubstr("put host1:reservation (entry 1)\n- in service\n+ reserved: weft.f.1.host1"),
                    HasSubstr("undo: scontrol delete ReservationName=weft.f.1.host1")));
  const auto done = reserve();
  EXPECT_EQ(done.status, 0) << done.err << done.out;
  EXPECT_EQ(reserved(), "host1\n");
  EXPECT_EQ(at("host1"), idle_) << "it is not drained";
  EXPECT_EQ(reserve().out, "");
  EXPECT_EQ(reserve("check", {}).status, 0);
  EXPECT_EQ(run({"release", "1"}).status, 0);
  EXPECT_EQ(reserve().status, 0);
  EXPECT_EQ(reserved(), "");
}

TEST_F(BlacklistReservations, LeaveWhatOthersReservedOrDrained) {
  std::filesystem::create_directories(here("reservations"));
  std::ofstream(here("reservations/maintenance")) << "host1\n";
  node("host2", "IDLE+DRAIN", "disk");
  add("host1"), add("host2");
  const auto outcome = reserve();
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.out,
              AllOf(HasSubstr("not applied: slurm host1:reservation"), HasSubstr("nodes are busy")));
  EXPECT_THAT(outcome.err, HasSubstr("host2:reservation: left alone"));
  EXPECT_EQ(read("reservations/maintenance"), "host1\n");
  EXPECT_THAT(marks_of("1"), IsEmpty());
  EXPECT_EQ(at("host2"), fmt::format("IDLE+DRAIN|disk|{}", kFeatures));
}

TEST_F(BlacklistReservations, AreRespectedWhereSomebodyEndsThemAndFoundAgainByALostLedger) {
  add("host1");
  ASSERT_EQ(reserve().status, 0);
  std::filesystem::remove(here("reservations/weft.f.1.host1"));
  EXPECT_THAT(reserve().out, HasSubstr("somebody put host1:reservation back"));
  EXPECT_EQ(reserved(), "");
  EXPECT_EQ(run({"approve", "1"}).status, 0);
  ASSERT_EQ(reserve().status, 0);
  for (const char* end : {"", "-wal", "-shm"}) std::filesystem::remove(here("bl.db") + end);
  add("host2");
  EXPECT_THAT(reserve("check", {}).err, HasSubstr("weft blacklist adopt host1:reservation"));
  EXPECT_EQ(reserve("adopt", {"host1:reservation", "--apply"}).status, 0);
  EXPECT_THAT(read("reservations/weft.f.2.host1"), HasSubstr("host1")) << "of its own entry by now";
}

TEST_F(BlacklistReservations, TakeThePlaceOfADrainOfOurs) {
  add("host1");
  ASSERT_EQ(sync().status, 0);
  const auto changed = reserve();
  EXPECT_EQ(changed.status, 0) << changed.err << changed.out;
  EXPECT_EQ(at("host1"), idle_);
  EXPECT_EQ(reserved(), "host1\n");
}

}  // namespace
}  // namespace weft::cli
