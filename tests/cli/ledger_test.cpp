// `weft blacklist update, list, add ...` as a user calls them, over a ledger file.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/blacklist.hpp"
#include "cli/watch_page.hpp"
#include "tests/support/command.hpp"
#include "tests/support/schema.hpp"
#include "tests/support/scratch_file.hpp"
#include "topology/files/diagnosis_document.hpp"
#include "topology/files/incident_json.hpp"
#include "topology/model/clos.hpp"

namespace weft::cli {
namespace {

using testing::HasSubstr;
using testing::Not;
using namespace std::chrono_literals;

constexpr const char* kFabric =
    "fabric: f\nkind: roce\nclos: {leaves: 2, spines: 4, hosts_per_leaf: 8, link: 400G}\n";

class BlacklistLedger : public testing::Test {
 protected:
  ~BlacklistLedger() override {
    std::error_code ignored;
    for (const char* end : {"", "-wal", "-shm"}) std::filesystem::remove(ledger_ + end, ignored);
  }

  const std::string& ledger() const { return ledger_; }
  Outcome run(std::vector<std::string> words) {
    words.insert(words.end(), {"--ledger", ledger_, "--fabric", fabric_.path()});
    return call(blacklist_command, words);
  }
  /// A whole sweep that ended `ago` and found these links at fault, each leaving its first node.
  std::string sweep(const std::vector<std::pair<std::string, double>>& links,
                    std::chrono::seconds ago) const {
    files::DiagnosisDocument document;
    document.fabric = "f";
    document.stamp = {std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now()) - ago,
                      "test"};
    document.coverage.channels = make_clos({.leaves = 2, .spines = 4, .hosts_per_leaf = 8})->channel_count();
    document.sensitivity = {.loss = 0.001, .delay = 1ms, .rate = std::nullopt, .size = std::nullopt};
    document.run.sent = 1790;
    for (const auto& [link, confidence] : links)
      document.links.push_back({.link = link,
                                .from = link.substr(0, link.find("--")),
                                .ends = {},
                                .verdict = Verdict::degraded,
                                .confidence = confidence,
                                .evidence = {"31 of 1,790 lost"}});
    document.verdict = links.empty() ? Verdict::healthy : Verdict::degraded;
    return diagnosis_json(document);
  }
  Outcome update(const std::vector<std::pair<std::string, double>>& links, std::chrono::seconds ago = 0s) {
    const ScratchFile document(sweep(links, ago));
    return run({"update", document.path()});
  }

 private:
  const ScratchFile fabric_{kFabric};
  const std::string ledger_ = fabric_.path() + ".ledger";
};

TEST_F(BlacklistLedger, KeepsWhatRunsFoundAndListsItForPeopleAndForTheBalancer) {
  const auto updated = update({{"leaf1--spine1", 0.999}}, 10s);
  EXPECT_EQ(updated.status, 0) << updated.err;
  EXPECT_EQ(updated.out,
            "1 proposed: channel leaf1->spine1: loss, confidence 0.999\n"
            "1 activated: channel leaf1->spine1: is to be kept out of use\n");
  EXPECT_THAT(run({"list"}).out,
              testing::AllOf(HasSubstr("leaf1->spine1"), HasSubstr("active"), HasSubstr("31 of 1,790 lost")));
  const auto lines = run({"list", "--state", "active", "-o", "json"});
  expect_matches_schema(lines.out, "ledger_entry");
  EXPECT_EQ(nlohmann::json::parse(lines.out)["subject"]["name"], "leaf1->spine1");
  EXPECT_EQ(run({"list", "--state", "proposed", "-o", "json"}).out, "");
  EXPECT_THAT(run({"history"}).out, testing::AllOf(HasSubstr("proposed"), HasSubstr("activated")));
}

TEST_F(BlacklistLedger, ConfirmsAnUnsureFaultByASecondRunAndNotByTheSameOne) {
  const ScratchFile first(sweep({{"leaf1--spine1", 0.95}}, 60s));
  run({"update", first.path()});
  run({"update", first.path()});
  EXPECT_THAT(run({"list"}).out, HasSubstr("proposed"));
  update({{"leaf1--spine1", 0.95}});
  EXPECT_THAT(run({"list"}).out, HasSubstr("active"));
}

TEST_F(BlacklistLedger, SaysWhatACapHoldsBackAndTheBreakerHoldsUntilItIsResumed) {
  const auto tripped =
      update({{"leaf1--spine1", 0.999}, {"leaf1--spine2", 0.999}, {"leaf2--spine3", 0.999}}, 10s);
  EXPECT_THAT(tripped.out,
              HasSubstr("breaker: 3 entries at once, and the caps let 1 through: nothing new is "));
  const auto listed = run({"list"});
  EXPECT_THAT(listed.err, HasSubstr("nothing new is applied"));
  EXPECT_THAT(listed.out, Not(HasSubstr("active")));
  EXPECT_EQ(run({"resume"}).status, 0);
  EXPECT_THAT(run({"list"}).out, testing::AllOf(HasSubstr("active"), HasSubstr("held back")));
}

TEST_F(BlacklistLedger, AnEntryThatACapHoldsBackIsNoSuccess) {
  EXPECT_EQ(run({"add", "leaf1--spine1", "--for", "4h", "--reason", "planned work"}).status, 0);
  const auto held = run({"add", "leaf2--spine3", "--for", "4h", "--reason", "planned work"});
  EXPECT_EQ(held.status, 69);
  EXPECT_THAT(held.err, HasSubstr("leaf2--spine3 is not kept out of use: links of the fabric: 2 of 8"));
  EXPECT_THAT(run({"list"}).out, HasSubstr("held back"));
}

TEST_F(BlacklistLedger, AnOperatorAddsHoldsApprovesAndReleases) {
  const auto added = run({"add", "host1", "--for", "4h", "--reason", "line card"});
  EXPECT_EQ(added.status, 0) << added.err;
  EXPECT_THAT(run({"list"}).out,
              testing::AllOf(HasSubstr("host1"), HasSubstr("active"), HasSubstr("line card")));
  EXPECT_EQ(run({"hold", "1", "--reason", "under repair"}).status, 0);
  EXPECT_THAT(run({"list"}).out, HasSubstr("proposed"));
  EXPECT_EQ(run({"approve", "1"}).status, 0);
  EXPECT_THAT(run({"list"}).out, HasSubstr("active"));
  EXPECT_EQ(run({"release", "1"}).status, 0);
  EXPECT_THAT(run({"list"}).out, Not(HasSubstr("host1")));
  EXPECT_THAT(run({"list", "--state", "released"}).out, HasSubstr("host1"));
}

TEST_F(BlacklistLedger, RefusesWhatIsWrongAndSaysWhatToDo) {
  EXPECT_EQ(run({"add", "host1", "--for", "4h"}).status, 64);
  EXPECT_THAT(run({"add", "host1", "--reason", "r"}).err, HasSubstr("--for TIME is missing"));
  EXPECT_THAT(run({"add", "host99", "--for", "1h", "--reason", "r"}).err, HasSubstr("host99"));
  EXPECT_THAT(run({"add", "host1", "--for", "9999d", "--reason", "r"}).err, HasSubstr("366 days at most"));
  EXPECT_THAT(run({"add", "host1", "--for", "1h", "--reason", std::string(5000, 'x')}).err,
              HasSubstr("1000 bytes at most"));
  EXPECT_THAT(run({"release", "7"}).err, HasSubstr("no entry"));
  EXPECT_THAT(run({"release", "-7"}).status, 64);
  EXPECT_THAT(run({"release", "x"}).err, HasSubstr("expected the number of an entry"));
  EXPECT_THAT(run({"list", "--state", "wrong"}).err, HasSubstr("--state wrong"));
  EXPECT_THAT(run({"update", "--nic", "cable"}).err, HasSubstr("--nic cable"));
  EXPECT_THAT(run({"update", "--approval", "cable"}).err, HasSubstr("--approval cable"));
  EXPECT_THAT(call(blacklist_command, {"list"}).err, HasSubstr("--ledger FILE is missing"));
  const ScratchFile other(R"({"schema":"weft.diagnosis/1"})");
  EXPECT_NE(run({"update", other.path()}).status, 0);
  EXPECT_THAT(run({"list"}).out, Not(HasSubstr("active"))) << "nothing of it is kept";
}

TEST_F(BlacklistLedger, ARunOfTheFutureIsNotTakenAndTheStatusSaysSo) {
  const auto outcome = update({{"leaf1--spine1", 0.999}}, -3600s);
  EXPECT_EQ(outcome.status, 64);
  EXPECT_THAT(outcome.err, HasSubstr("one of the clocks is wrong"));
  EXPECT_THAT(run({"list"}).out, Not(HasSubstr("leaf1")));
}

TEST_F(BlacklistLedger, OfAnOldRunWhatNewerOnesHaveToldIsPassedOverAndSaid) {
  update({{"leaf1--spine1", 0.95}}, 10s);
  const auto old = update({{"leaf1--spine1", 0.999}}, 600s);
  EXPECT_EQ(old.status, 0);
  EXPECT_THAT(old.out, HasSubstr("passed over: "));
  EXPECT_THAT(run({"list"}).out, HasSubstr("proposed"));
}

TEST_F(BlacklistLedger, TheSameDocumentsOnceMoreTellNothingNewAndNothingIsSaidOfThem) {
  const ScratchFile old(sweep({{"leaf1--spine1", 0.999}, {"leaf2--spine3", 0.95}}, 600s));
  const ScratchFile newer(sweep({{"leaf1--spine1", 0.999}}, 10s));
  ASSERT_EQ(run({"update", old.path()}).status, 0);
  ASSERT_EQ(run({"update", newer.path()}).status, 0);
  const auto again = run({"update", old.path(), newer.path()});
  EXPECT_EQ(again.status, 0) << again.err;
  EXPECT_EQ(again.out, "");
}

TEST_F(BlacklistLedger, TakesTheEventsOfAWatcher) {
  const auto fabric = *make_clos({.name = "f", .leaves = 2, .spines = 4, .hosts_per_leaf = 8});
  const Nanoseconds now = std::chrono::system_clock::now().time_since_epoch();
  IncidentEvent event{.number = 1, .at = now - 5s, .change = IncidentChange::opened, .incident = {}};
  event.incident.id = IncidentId(3);
  event.incident.place.channels = {*fabric.find_channel("leaf1->spine2")};
  event.incident.verdict = Verdict::degraded, event.incident.state = IncidentState::open;
  event.incident.confidence = 0.999, event.incident.evidence = {"31 of 1,790 lost"};
  event.incident.first_seen = now - 30s, event.incident.last_seen = now - 6s;
  const auto line = event_line(files::report_of(fabric, event));
  const ScratchFile events(line + "\n" + line.substr(0, 40));
  const auto told = run({"update", "--events", events.path()});
  EXPECT_EQ(told.status, 0) << told.err;
  EXPECT_THAT(told.out, HasSubstr("activated: channel leaf1->spine2"));
  EXPECT_EQ(run({"update", "--events", events.path()}).out, "");
  const ScratchFile other("{}\n");
  EXPECT_EQ(run({"update", "--events", other.path()}).status, 64);
}

TEST_F(BlacklistLedger, IsAmongTheMetricsOfAWatcher) {
  update({{"leaf1--spine1", 0.999}}, 10s);
  const auto fabric = *make_clos({.name = "f", .leaves = 2, .spines = 4, .hosts_per_leaf = 8});
  EXPECT_THAT(ledger_metrics(ledger(), fabric),
              HasSubstr("weft_blacklist_entries{fabric=\"f\",state=\"active\"} 1"));
  EXPECT_EQ(ledger_metrics(std::nullopt, fabric), "");
  EXPECT_EQ(ledger_metrics(ledger() + ".none", fabric), "") << "a watcher goes on without it";
}

TEST_F(BlacklistLedger, AFileOfSomethingElseIsLeftAlone) {
  const ScratchFile text("no database, some text that is long enough to be looked at as one");
  const ScratchFile fabric(kFabric);
  for (const char* word : {"update", "list"}) {
    const auto outcome = call(blacklist_command, {word, "--ledger", text.path(), "--fabric", fabric.path()});
    EXPECT_EQ(outcome.status, 64) << outcome.err;
    EXPECT_THAT(outcome.err, testing::AllOf(HasSubstr(text.path()), HasSubstr("Give --ledger the file"),
                                            Not(HasSubstr("watcher"))));
  }
}

}  // namespace
}  // namespace weft::cli
