// A ledger and a target that are synchronized, with all that goes wrong meanwhile.
#include "balancer/export/sync.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "tests/support/blacklist_history.hpp"
#include "tests/support/draws.hpp"
#include "tests/support/model_site.hpp"
#include "tests/support/translation_oracle.hpp"
#include "topology/model/clos.hpp"

namespace weft::exports {
namespace {

TEST(Sync, NoHistoryBreaksACapTouchesAMarkOfOthersOrLeavesOneOfOurs) {
  for (int seed = 1; seed <= draws(4000); ++seed)
    ASSERT_EQ(run_blacklist_history(static_cast<std::uint64_t>(seed)), "") << "seed " << seed;
}

TEST(Sync, KilledBeforeOrAfterAnyCallIsCompletedOrUndoneByTheNext) {
  const auto points = try_kill_points();
  EXPECT_GE(points.all, 20);
  EXPECT_EQ(points.right, points.all);
}

TEST(Translation, OfEachClassAndCauseIsWhatAnOracleSays) {
  const auto tried = try_translations(draws(6));
  EXPECT_EQ(tried.right, tried.all) << tried.wrong;
}

/// A Slurm that says of its nodes, so many times, that nobody drained them.
class LyingSlurm : public ModelSlurm {
 public:
  using ModelSlurm::ModelSlurm;
  Result<std::vector<Standing>> read(std::span<const std::string> objects) override {
    auto standings = ModelSlurm::read(objects);
    if (lies == 0 || !standings) return standings;
    --lies;
    for (Standing& standing : *standings)
      standing = {.object = standing.object, .text = std::string(kInService)};
    return standings;
  }
  int lies = 0;
};

/// host1 is drained by an entry of the ledger.
class MarkOfAHost : public testing::Test {
 protected:
  MarkOfAHost() {
    run({blacklist::Add{*blacklist::parse_subject(fabric_, "host1"), std::chrono::hours(4), "card", "anna"}});
    sync();
  }
  void run(const std::vector<blacklist::Command>& commands) {
    ASSERT_TRUE(ledger_.change({}, [&](blacklist::Ledger read) -> Result<blacklist::Stepped> {
      return blacklist::step(std::move(read), fabric_, policy_, {}, commands, Mutes(), now_);
    }));
  }
  void sync() {
    const Site site{fabric_, policy_, ledger_, slurm_, [&] { return now_; }, [](const auto&) {}};
    auto look = look_at(site, ledger_.ledger());
    ASSERT_TRUE(look);
    orphans_ = look->plan.orphans;
    ASSERT_TRUE(apply(site, *look));
  }
  const blacklist::Entry& entry() const { return ledger_.ledger().entries.front(); }

  const Fabric fabric_ = *make_clos({.name = "f", .leaves = 2, .spines = 2, .hosts_per_leaf = 4});
  const blacklist::Policy policy_;
  blacklist::Now now_{.wall = UtcTime(std::chrono::seconds(1'800'000'000)), .uptime = {}, .boot = "b"};
  ModelLedger ledger_{fabric_, [] { return Fate::well; }};
  LyingSlurm slurm_{fabric_, policy_.caps, [] { return Fate::well; }};
  std::vector<std::string> orphans_;
};

TEST_F(MarkOfAHost, IsNotForgottenByOneFalseAnswer) {
  ASSERT_EQ(slurm_.marked(), std::vector<std::string>{"host1"});
  slurm_.lies = 1;
  sync();
  EXPECT_EQ(entry().state, blacklist::EntryState::active);
  ASSERT_EQ(entry().marks.size(), 1u);
  EXPECT_FALSE(entry().marks[0].is_open());
}

TEST_F(MarkOfAHost, IsOursAgainWhateverWasSaidOfItInBetween) {
  slurm_.lies = 2;
  sync();
  EXPECT_TRUE(entry().held) << "somebody seems to have put it back";
  EXPECT_TRUE(entry().marks.empty());
  ASSERT_EQ(slurm_.marked(), std::vector<std::string>{"host1"}) << "which is not so";
  sync();
  EXPECT_TRUE(orphans_.empty());
  EXPECT_TRUE(slurm_.marked().empty()) << "its entry is held, so it comes off";
  EXPECT_TRUE(entry().marks.empty());
  EXPECT_EQ(slurm_.broken(), "");
}

TEST_F(MarkOfAHost, OfAnEntryThatIsAboutSomethingElseIsAStrangers) {
  slurm_.drain("host2", "weft: planned host2 id=f:1 card");
  sync();
  EXPECT_EQ(orphans_, std::vector<std::string>{"host2"}) << "of a ledger that was lost";
  EXPECT_EQ(slurm_.marked(), (std::vector<std::string>{"host1", "host2"}));
}

/// Ports of switches that can be disabled, at one end or the other, and say not by whom.
class ModelPorts : public Target {
 public:
  struct Cable {
    std::set<std::string> disabled{};  // ends
    bool is_known = true;
  };
  std::string_view name() const override { return "ports"; }
  Translation translate(const blacklist::Ledger& ledger, const Fabric& fabric,
                        const blacklist::Policy& policy) const override {
    return translate_for_opensm(ledger, fabric, policy);
  }
  Result<void> check_rights() override { return {}; }
  Result<std::vector<Standing>> read(std::span<const std::string> objects) override {
    if (on_read) on_read();
    std::vector<Standing> standings;
    for (const std::string& object : objects)
      if (object.find("--") != std::string::npos) standings.push_back(standing(object));
    return standings;
  }
  std::vector<std::string> prepare(std::span<Change> changes) override {
    std::vector<std::string> refusals;
    for (Change& change : changes) {
      if (change.act == Act::put) change.set = "disabled at a";
      change.undo = "by hand";
      refusals.push_back(refusal);
    }
    return refusals;
  }
  Result<void> apply(std::span<const Change> changes) override {
    for (const Change& change : changes)
      if (shows_late)
        late.push_back(change.object);
      else if (change.act == Act::put)
        cables[change.object].disabled.insert("a");
      else if (change.act == Act::take)
        cables[change.object].disabled.erase("a");
    return {};
  }
  bool may_cut_off() const override { return lag_.count() == 0; }
  std::chrono::seconds lag() const override { return lag_; }
  std::string by_hand(const Change&) const override { return {}; }

  std::map<std::string, Cable> cables;
  std::string refusal;
  std::function<void()> on_read;
  bool shows_late = false;
  std::chrono::seconds lag_{};
  std::vector<std::string> late;  // will be disabled

 private:
  Standing standing(const std::string& object) {
    const Cable& cable = cables[object];
    if (!cable.is_known) return {.object = object, .text = "spine1 is not there", .is_known = false};
    std::string text;
    for (const std::string& end : cable.disabled) text += (text.empty() ? "disabled at " : " and at ") + end;
    return {.object = object,
            .whose = text.empty() ? Whose::nobody : Whose::weft,
            .text = text.empty() ? "up" : text};
  }
};

/// One link on the blacklist, and its cable.
class PortsOfALink : public testing::Test {
 protected:
  PortsOfALink() {
    run({blacklist::Add{fabric_.find_link(kLink).value(), std::chrono::hours(4), "card", "anna"}});
  }

  void run(const std::vector<blacklist::Command>& commands) {
    ASSERT_TRUE(ledger_.change({}, [&](blacklist::Ledger read) -> Result<blacklist::Stepped> {
      return blacklist::step(std::move(read), fabric_, policy_, {}, commands, Mutes(), now_);
    }));
  }
  void sync() {
    const Site site{fabric_,
                    policy_,
                    ledger_,
                    ports_,
                    [&] { return now_; },
                    [](const auto&) {},
                    [&](const Change& change) { announced_.push_back(change.object); }};
    auto look = look_at(site, ledger_.ledger());
    ASSERT_TRUE(look);
    ASSERT_TRUE(apply(site, *look));
    left_alone_ = look->plan.left_alone;
  }
  const blacklist::Entry& entry() const { return ledger_.ledger().entries.front(); }
  ModelPorts::Cable& cable() { return ports_.cables[kLink]; }

  static constexpr const char* kLink = "leaf1--spine1";
  const Fabric fabric_ = *make_clos({.name = "f", .leaves = 2, .spines = 8, .hosts_per_leaf = 2});
  const blacklist::Policy policy_;
  blacklist::Now now_{.wall = UtcTime(std::chrono::seconds(1'800'000'000)), .uptime = {}, .boot = "b"};
  ModelLedger ledger_{fabric_, [] { return Fate::well; }};
  ModelPorts ports_;
  std::vector<std::string> announced_, left_alone_;
};

TEST_F(PortsOfALink, IsDisabledWithItsUndoToldFirstAndEnabledAgain) {
  sync();
  EXPECT_EQ(cable().disabled, std::set<std::string>{"a"});
  ASSERT_EQ(entry().marks.size(), 1u);
  EXPECT_EQ(entry().marks[0].set, "disabled at a");
  EXPECT_TRUE(entry().marks[0].read_back);
  EXPECT_EQ(announced_, std::vector<std::string>{kLink});
  run({blacklist::Release{entry().id, "anna"}});
  sync();
  EXPECT_TRUE(cable().disabled.empty());
  EXPECT_TRUE(entry().marks.empty());
}

TEST_F(PortsOfALink, IsPutBackWhenItsPortIsEnabledAndNotWhenItsEntryIsReleased) {
  sync();
  run({blacklist::Release{entry().id, "anna"}});
  EXPECT_EQ(entry().put_back, now_.wall);
  now_.wall += std::chrono::minutes(5);
  sync();
  EXPECT_EQ(entry().put_back, now_.wall) << "until then it was cut, whatever a run saw of it";
}

TEST_F(PortsOfALink, IsPutBackAsFarAsWeKnowWhenItIsSeenThatItsPortIsEnabled) {
  sync();
  run({blacklist::Release{entry().id, "anna"}});
  cable().disabled.clear();  // by somebody, or by a sync that was killed before it wrote so
  now_.wall += std::chrono::minutes(5);
  sync();
  EXPECT_TRUE(entry().marks.empty());
  EXPECT_EQ(entry().put_back, now_.wall);
}

TEST_F(PortsOfALink, KeepsItsMarkWhileNobodyCanTellOrOthersDisabledTheOtherEnd) {
  sync();
  cable().is_known = false;
  sync();
  EXPECT_EQ(entry().marks.size(), 1u);
  EXPECT_EQ(entry().state, blacklist::EntryState::active);
  cable().is_known = true, cable().disabled = {"a", "b"};
  run({blacklist::Release{entry().id, "anna"}});
  sync();
  EXPECT_EQ(cable().disabled, (std::set<std::string>{"a", "b"})) << "whose each is cannot be told";
  EXPECT_EQ(entry().marks.size(), 1u);
  cable().disabled = {"a"};
  sync();
  EXPECT_TRUE(cable().disabled.empty()) << "ours came off";
}

TEST_F(PortsOfALink, TakesNoPortForItsOwnThatOthersDisabledMeanwhile) {
  int reads = 0;
  ports_.on_read = [&] {
    if (++reads == 2) cable().disabled = {"a"};  // after it was planned, before it is applied
  };
  sync();
  EXPECT_TRUE(entry().marks.empty());
  run({blacklist::Release{entry().id, "anna"}});
  sync();
  EXPECT_EQ(cable().disabled, std::set<std::string>{"a"});
}

TEST_F(PortsOfALink, KnowsAPortThatShowsLateThatItIsDisabled) {
  ports_.shows_late = true;
  sync();
  ASSERT_EQ(ports_.late.size(), 1u);
  ports_.shows_late = false;
  cable().disabled = {"a"};
  sync();
  ASSERT_EQ(entry().marks.size(), 1u);
  EXPECT_TRUE(entry().marks[0].read_back);
}

/// A target that shows late what was asked for, or not what is so.
class LatePortsOfALink : public PortsOfALink {
 protected:
  LatePortsOfALink() { ports_.lag_ = std::chrono::minutes(15); }
  /// Asked for, and not shown yet.
  void ask() {
    ports_.shows_late = true;
    sync();
    ASSERT_EQ(entry().marks.size(), 1u);
    EXPECT_FALSE(entry().marks[0].read_back);
    ports_.shows_late = false;
  }
  void release() { run({blacklist::Release{entry().id, "anna"}}); }
  /// What comes to show when it is read for so many a time.
  void show_at(int read, std::set<std::string> ends) {
    ports_.on_read = [this, read, ends = std::move(ends), reads = 0]() mutable {
      if (++reads == read) cable().disabled = ends;
    };
  }
};

TEST_F(LatePortsOfALink, AreEnabledWhereTheyShowAfterTheirEntryIsOver) {
  ask();
  release();
  sync();
  ASSERT_EQ(entry().marks.size(), 1u);
  EXPECT_THAT(left_alone_, testing::ElementsAre(testing::HasSubstr("its mark is not seen at ports")));
  cable().disabled = {"a"};
  sync();
  EXPECT_TRUE(cable().disabled.empty());
  EXPECT_TRUE(entry().marks.empty());
}

TEST_F(LatePortsOfALink, AreForgottenWhereTheyNeverShow) {
  ask();
  release();
  now_.wall += ports_.lag_;
  sync();
  EXPECT_TRUE(entry().marks.empty());
}

TEST_F(LatePortsOfALink, AreOursWhereTheyShowWhileTheyAreAskedForAnew) {
  ask();
  show_at(2, {"a"});  // after the plan
  sync();
  ASSERT_EQ(entry().marks.size(), 1u);
  EXPECT_TRUE(entry().marks[0].read_back);
}

TEST_F(LatePortsOfALink, AreNotForgottenWhereTheyMayNotBeAskedForAnew) {
  ask();
  ports_.refusal = "it is the last way";
  sync();
  EXPECT_EQ(entry().marks.size(), 1u);
}

TEST_F(LatePortsOfALink, AreNotForgottenWhereTheyAreNotShownWhenTheyAreToBeEnabled) {
  sync();
  release();
  show_at(2, {});  // it is so, and is not shown
  sync();
  EXPECT_EQ(entry().marks.size(), 1u);
  ports_.on_read = {};
  cable().disabled = {"a"};
  sync();
  EXPECT_TRUE(cable().disabled.empty());
  EXPECT_TRUE(entry().marks.empty());
}

TEST_F(LatePortsOfALink, GoToHoldOnlyAfterTheyWereNotShownForLong) {
  sync();
  cable().disabled.clear();
  now_.wall += std::chrono::hours(1);
  sync();
  EXPECT_EQ(entry().state, blacklist::EntryState::active);
  EXPECT_TRUE(entry().marks.at(0).is_open());
  now_.wall += ports_.lag_;
  sync();
  EXPECT_TRUE(entry().held);
  EXPECT_TRUE(entry().marks.empty());
}

TEST_F(PortsOfALink, SaysWhyItIsNotDisabled) {
  ports_.refusal = "it is the last way";
  sync();
  EXPECT_TRUE(cable().disabled.empty());
  EXPECT_THAT(left_alone_, testing::ElementsAre("leaf1--spine1: not changed: it is the last way"));
}

}  // namespace
}  // namespace weft::exports
