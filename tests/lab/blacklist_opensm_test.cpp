// `weft blacklist sync --to opensm` on ibsim under a real OpenSM: from a sweep that names a cable to routes
// that leave it, and back.
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <fstream>
#include <sstream>
#include <thread>

#include "cli/lab_place.hpp"
#include "tests/places.hpp"
#include "tests/support/infiniband_lab.hpp"
#include "tests/support/test_lab.hpp"

namespace weft {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

/// The real ibportstate, and what a cable does that ibsim does not: it goes down with a port that is disabled
/// and comes up with one that is enabled, and the subnet manager hears of it.
constexpr const char* kWithCable = R"(#!/bin/sh
test "$1" = --version && exec /usr/sbin/ibportstate --version
to=$1; test $# = 4 && to="-G $2"
while test $# -gt 2; do shift; done
switch=$(smpquery nodeinfo $to)
at="\"S-$(echo "$switch" | sed -n 's/^Guid:\.*0x//p')\"[$1]"
test $2 = disable && echo "Unlink $at" > console && sleep 0.5
/usr/sbin/ibportstate $(echo "$switch" | sed -n 's/^# Node info: Lid //p') $1 $2
status=$?
test $2 = enable && echo "ReLink $at" > console && sleep 0.5
kill -HUP MANAGER && echo "$at $2" >> CALLS
exit $status
)";

class BlacklistOpensm : public InfinibandLabTest {
 protected:
  void SetUp() override {
    InfinibandLabTest::SetUp();
    if (IsSkipped()) return;
    if (access("/usr/sbin/ibportstate", X_OK) != 0) GTEST_SKIP() << "infiniband-diags is not installed";
    lab_.emplace(InfinibandLab::Shape{
        "clos: {leaves: 3, spines: 4, hosts_per_leaf: 2, link: 200G}\nlab: {routing: minhop, lmc: 2}\n"});
    ASSERT_EQ(lab_->up.status, 0) << lab_->up.errors;
    const auto lab = lab::ib_lab_open(lab_->name(), cli::ib_lab_root());
    ASSERT_TRUE(lab);
    fabric_.emplace(lab->fabric);
    std::string script = kWithCable;
    const auto put = [&](const std::string& word, const std::string& value) {
      script.replace(script.find(word), word.size(), value);
    };
    put("MANAGER", std::to_string(lab::ib_lab_manager(lab->directory).value()));
    put("CALLS", here("calls"));
    std::filesystem::create_directory(here("bin"));
    std::ofstream(here("bin/ibportstate")) << script;
    std::filesystem::permissions(here("bin/ibportstate"), std::filesystem::perms::owner_all);
  }

  std::string here(const std::string& name) const { return directory_.path() / name; }
  InfinibandLab& lab() { return *lab_; }
  const Fabric& fabric() const { return *fabric_; }
  InfinibandLab::Answer blacklist(std::vector<std::string> words) {
    words.insert(words.begin(), {WEFT_BINARY_DIR "/weft", "blacklist"});
    words.insert(words.end(), {"--ledger", here("bl.db"), "--fabric", lab().file()});
    return lab().run_at("host3", words, {"PATH=" + here("bin") + ":/usr/sbin:/usr/bin:/sbin:/bin"});
  }
  InfinibandLab::Answer sync(std::vector<std::string> more = {"--apply"}, const char* word = "sync") {
    more.insert(more.begin(), {word, "--to", "opensm"});
    return blacklist(more);
  }
  /// A sweep's document as evidence.
  InfinibandLab::Answer update() {
    const auto swept = lab().weft({"sweep", "--lab=" + lab().name(), "--budget", "3s", "-o", "json"});
    std::ofstream(here("run.json")) << swept.text;
    return blacklist({"update", here("run.json"), "--clean", "2s"});
  }
  std::string state() { return blacklist({"list", "--state", "released"}).text; }
  std::string calls() const {
    std::ifstream file(here("calls"));
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
  }
  /// Whether the tables of both switches of a link send anything over it.
  bool is_routed(const std::string& link) {
    const Link& its = fabric().link(fabric().find_link(link).value());
    bool used = false;
    for (const PortId port : {its.a, its.b}) {
      const auto guid = fabric().node(fabric().port(port).node).guid.value();
      const auto ask = [&] {
        return lab().run_at("host3", {"ibroute", "-G", fmt::format("{:#018x}", guid.value())});
      };
      auto said = ask();
      // A subnet manager that is at work may not answer the question for the way to the switch.
      for (int i = 0; i < 20 && said.errors.find("path_query failed") != std::string::npos; ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(250));
        said = ask();
      }
      EXPECT_THAT(said.text, HasSubstr("valid lids dumped")) << said.errors;
      used = used || said.text.find(fmt::format(" {:03} : ", fabric().port(port).number.value())) !=
                         std::string::npos;
    }
    return used;
  }
  /// OpenSM takes its time.
  bool comes_to_be_routed(const std::string& link, bool routed) {
    for (int i = 0; i < 60; ++i, std::this_thread::sleep_for(std::chrono::milliseconds(250)))
      if (is_routed(link) == routed) return true;
    return false;
  }

 private:
  TestDirectory directory_;
  std::optional<InfinibandLab> lab_;
  std::optional<Fabric> fabric_;
};

TEST_F(BlacklistOpensm, ASpineCableThatASweepNamesLeavesTheRoutesAndComesBackWhenItIsWell) {
  ASSERT_TRUE(is_routed("leaf1--spine2"));
  ASSERT_EQ(lab().fault({"leaf1--spine2", "--loss", "10", "--from", "leaf1"}).status, 0);
  const auto named = update();
  ASSERT_THAT(named.text, HasSubstr("activated")) << named.errors;

  const auto dry = sync({});
  EXPECT_EQ(dry.status, 1) << dry.errors;
  EXPECT_THAT(dry.text, AllOf(HasSubstr("put leaf1--spine2"), HasSubstr("+ disabled at "),
                              HasSubstr("undo: ibportstate -G 0x"), HasSubstr(" enable")));
  EXPECT_EQ(calls(), "");
  EXPECT_TRUE(is_routed("leaf1--spine2")) << "nothing was changed";

  const auto applied = sync();
  EXPECT_EQ(applied.status, 0) << applied.text << applied.errors;
  EXPECT_THAT(applied.errors, HasSubstr("to undo put leaf1--spine2: ibportstate -G 0x"));
  EXPECT_THAT(applied.text, HasSubstr("applied: opensm leaf1--spine2: disabled at "));
  EXPECT_TRUE(comes_to_be_routed("leaf1--spine2", false));
  EXPECT_EQ(sync({}, "check").status, 0);
  EXPECT_EQ(sync().status, 0) << "nothing more to do";

  // The cable is mended: out of the routes no sweep can tell, so it goes back on trial.
  ASSERT_EQ(lab().heal().status, 0);
  std::this_thread::sleep_for(std::chrono::seconds(3));
  const auto trial = update();
  ASSERT_THAT(trial.text, HasSubstr("put back on trial")) << trial.text << trial.errors << state();
  const auto back = sync();
  EXPECT_EQ(back.status, 0) << back.text << back.errors;
  EXPECT_THAT(back.text, HasSubstr("taken off: opensm leaf1--spine2"));
  EXPECT_TRUE(comes_to_be_routed("leaf1--spine2", true));
  for (int i = 0; i < 4 && state().find("released") == std::string::npos; ++i) {
    std::this_thread::sleep_for(std::chrono::seconds(2));
    const auto clean = update();
    EXPECT_THAT(clean.text, Not(HasSubstr("relapsed"))) << clean.errors;
  }
  EXPECT_THAT(state(), HasSubstr("released"));
  EXPECT_EQ(sync({}).status, 0);
}

TEST_F(BlacklistOpensm, LeavesWhatOthersDisabledAndRespectsWhoeverEnablesAgain) {
  const Link& its = fabric().link(fabric().find_link("leaf2--spine1").value());
  const auto guid = fmt::format("{:#018x}", fabric().node(fabric().port(its.a).node).guid.value().value());
  const auto port = std::to_string(fabric().port(its.a).number.value());
  const auto by_hand = [&](const char* word) {
    return lab().run_at("host3", {here("bin/ibportstate"), "-G", guid, port, word});
  };
  const auto disabled = by_hand("disable");
  ASSERT_EQ(disabled.status, 0) << disabled.text << disabled.errors;
  ASSERT_EQ(blacklist({"add", "leaf2--spine1", "--for", "4h", "--reason", "line card"}).status, 0);
  const auto left = sync();
  EXPECT_THAT(left.errors, HasSubstr("leaf2--spine1: it is off already, and not by weft"));
  const auto enabled = by_hand("enable");
  ASSERT_EQ(enabled.status, 0) << enabled.text << enabled.errors;
  ASSERT_TRUE(comes_to_be_routed("leaf2--spine1", true));
  const auto applied = sync();
  EXPECT_EQ(applied.status, 0) << applied.text << applied.errors;
  EXPECT_TRUE(comes_to_be_routed("leaf2--spine1", false));
  // An operator enables it, as the message told.
  const auto from = applied.errors.find("ibportstate -G ");
  ASSERT_NE(from, std::string::npos);
  const auto undo = applied.errors.substr(from, applied.errors.find('\n', from) - from);
  ASSERT_EQ(lab().run_at("host3", {"sh", "-c", here("bin/") + undo}).status, 0) << undo;
  ASSERT_TRUE(comes_to_be_routed("leaf2--spine1", true));
  const auto respected = sync();
  EXPECT_THAT(respected.text, HasSubstr("somebody put leaf2--spine1 back at opensm"));
  EXPECT_TRUE(is_routed("leaf2--spine1"));
}

TEST_F(BlacklistOpensm, TheCablesOfHostsAndOfTheManagerAreNotItsMatter) {
  ASSERT_EQ(blacklist({"add", "host1", "--for", "4h", "--reason", "memory"}).status, 0);
  const auto dry = sync({});
  EXPECT_EQ(dry.status, 0) << dry.text << dry.errors;
  EXPECT_EQ(dry.text, "");
  EXPECT_EQ(calls(), "");
}

}  // namespace
}  // namespace weft
