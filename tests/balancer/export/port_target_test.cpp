// Links that are shut by files for a site's own tool, from the ledger to what the tool is given.
#include "balancer/export/port_target.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <fstream>
#include <nlohmann/json.hpp>

#include "balancer/export/sync.hpp"
#include "tests/support/model_site.hpp"
#include "tests/support/test_lab.hpp"
#include "tests/support/text_of.hpp"
#include "topology/files/fabric_file.hpp"

namespace weft::exports {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using Words = std::vector<std::string>;

constexpr const char* kFabric =
    "fabric: f\n"
    "nodes: [{name: host1, kind: host}, {name: host2, kind: host}, {name: leaf1, kind: switch, tier: leaf},\n"
    "        {name: leaf2, kind: switch, tier: leaf}, {name: spine1, kind: switch, tier: spine},\n"
    "        {name: spine2, kind: switch, tier: spine}]\n"
    "links: [{a: host1, b: leaf1}, {a: host2, b: leaf2}, {a: spine1, b: leaf1/swp4},\n"
    "        {a: spine2/swp9, b: leaf1/swp8}, {a: leaf2, b: spine1/swp4},\n"
    "        {a: leaf2, b: spine2}]\n";

/// A ledger, a directory, and a tool that writes down what it is called with and ends with `tool_status`.
class Ports : public ::testing::Test {
 protected:
  Ports() {
    std::ofstream(tool_) << "#!/bin/sh\necho \"$1 $(tr -d '\\n' < \"$2\")\" >> " << directory_.path().string()
                         << "/calls\nexit $(cat " << directory_.path().string() << "/status)\n";
    std::filesystem::permissions(tool_, std::filesystem::perms::owner_all);
    set_status(0);
    std::filesystem::create_directory(files_);
  }

  void set_status(int status) { std::ofstream(directory_.path() / "status") << status << '\n'; }
  PortTarget target(PortDialect dialect = PortDialect::cumulus) const {
    return PortTarget(fabric_, dialect, {files_, tool_, !std::filesystem::exists(files_ / "marks.json")});
  }
  void command(const blacklist::Command& one) {
    ASSERT_TRUE(ledger_.change({}, [&](blacklist::Ledger read) -> Result<blacklist::Stepped> {
      return blacklist::step(std::move(read), fabric_, policy_, {}, std::array{one}, Mutes(), now_);
    }));
  }
  void add(const std::string& link) {
    command(blacklist::Add{fabric_.find_link(link).value(), std::chrono::hours(4), "card", "anna"});
  }
  Site site(Target& target) {
    return {fabric_,
            policy_,
            ledger_,
            target,
            [this] { return now_; },
            [this](const auto& events) {
              for (const blacklist::LedgerEvent& event : events) told_ += event.text + "\n";
            }};
  }
  /// One run of sync; what it left alone.
  Words sync(PortTarget target) {
    auto look = look_at(site(target), ledger_.ledger());
    EXPECT_TRUE(look) << look.error().message;
    if (!look) return {look.error().message};
    const auto refused = apply(site(target), *look);
    if (!refused) return {refused.error().message};
    not_made_ = *refused;
    return look->plan.left_alone;
  }
  Words calls() const {
    Words lines;
    std::ifstream file(directory_.path() / "calls");
    for (std::string line; std::getline(file, line);) lines.push_back(line);
    return lines;
  }
  std::size_t marks() const {
    std::size_t count = 0;
    for (const auto& entry : ledger_.ledger().entries) count += entry.marks.size();
    return count;
  }

  Fabric fabric_ = files::parse_fabric_file(kFabric, "test").value().fabric;
  // Of two uplinks none may be lost, as the defaults have it.
  blacklist::Policy policy_{.caps = {.leaf_uplinks = 1, .pod_links = 1, .fabric_links = 1}};
  TestDirectory directory_;
  std::filesystem::path files_ = directory_.path() / "files", tool_ = directory_.path() / "tool";
  std::string told_;
  std::size_t not_made_ = 0;
  ModelLedger ledger_{fabric_, [] { return Fate::well; }};
  blacklist::Now now_{UtcTime(std::chrono::seconds(1'800'000'000)), std::chrono::minutes(10), "boot"};
};

TEST_F(Ports, AreShutAtTheLowerEndAndOpenedThereWithTheirMarks) {
  add("leaf1--spine1");
  EXPECT_THAT(sync(target()), IsEmpty());
  EXPECT_THAT(calls(), ElementsAre("leaf1 nv set interface swp4 link state downnv config apply -y"));
  EXPECT_EQ(text_of(files_ / "leaf1.nv"), "nv set interface swp4 link state down\nnv config apply -y\n");
  EXPECT_THAT(text_of(files_ / "marks.json"), AllOf(HasSubstr("spine1--leaf1"), HasSubstr("id=f:1")));
  EXPECT_EQ(marks(), 1u);
  EXPECT_THAT(sync(target()), IsEmpty());
  EXPECT_EQ(calls().size(), 1u) << "it stands";
  command(blacklist::Release{blacklist::EntryId(1), "anna"});
  sync(target());
  EXPECT_EQ(calls().back(), "leaf1 nv set interface swp4 link state upnv config apply -y");
  EXPECT_THAT(text_of(files_ / "marks.json"), Not(HasSubstr("spine1--leaf1")));
  EXPECT_EQ(marks(), 0u);
}

TEST_F(Ports, OfOneSwitchAreOneFileWithPathsAndValuesForSonic) {
  std::string sonic = kFabric;
  for (auto at = sonic.find("swp"); at != std::string::npos; at = sonic.find("swp"))
    sonic.replace(at, 3, "Ethernet");
  fabric_ = files::parse_fabric_file(sonic, "test").value().fabric;
  add("leaf1--spine1");
  add("leaf1--spine2");
  add("leaf2--spine1");
  EXPECT_THAT(sync(target(PortDialect::sonic)), IsEmpty());
  EXPECT_EQ(calls().size(), 2u);
  const auto leaf = nlohmann::json::parse(text_of(files_ / "leaf1.sonic"));
  ASSERT_EQ(leaf.size(), 2u);
  EXPECT_EQ(leaf[0]["path"], "/sonic-db:CONFIG_DB/localhost/PORT/Ethernet4/admin_status");
  EXPECT_EQ(leaf[1]["path"], "/sonic-db:CONFIG_DB/localhost/PORT/Ethernet8/admin_status");
  EXPECT_EQ(leaf[1]["value"], "down");
  const auto spine = nlohmann::json::parse(text_of(files_ / "spine1.sonic"));
  EXPECT_EQ(spine.size(), 1u) << "at the end whose port has a name";
}

TEST_F(Ports, WithoutANameAreRefusedBeforeAnythingIsChanged) {
  add("leaf2--spine2");
  EXPECT_THAT(sync(target()), ElementsAre(AllOf(HasSubstr("leaf2--spine2"),
                                                HasSubstr("give port_names in the fabric file"))));
  EXPECT_THAT(calls(), IsEmpty());
  EXPECT_EQ(marks(), 0u);
  EXPECT_EQ(not_made_, 1u);
}

TEST_F(Ports, OfASwitchWhoseToolFailsAreTriedAgainAndTheOthersStand) {
  add("leaf1--spine1");
  set_status(3);
  sync(target());
  EXPECT_THAT(told_, AllOf(HasSubstr("leaf1: "), HasSubstr("status 3")));
  set_status(0);
  EXPECT_THAT(sync(target()), IsEmpty());
  EXPECT_EQ(calls().size(), 2u);
  EXPECT_THAT(calls().back(), HasSubstr("down"));
  EXPECT_EQ(marks(), 1u);
  sync(target());
  EXPECT_EQ(calls().size(), 2u) << "it stands";
}

TEST_F(Ports, ThatAToolMayHaveShutAreOpenedThoughTheirEntryIsOver) {
  add("leaf1--spine1");
  set_status(3);  // it may have done its work all the same
  sync(target());
  set_status(0);
  command(blacklist::Release{blacklist::EntryId(1), "anna"});
  sync(target());
  EXPECT_THAT(calls().back(), HasSubstr("up"));
  EXPECT_EQ(marks(), 0u);
}

TEST_F(Ports, ThatAToolMayHaveOpenedAreShutAgainWhereTheirEntryIsActiveAgain) {
  add("leaf1--spine1");
  sync(target());
  command(blacklist::Release{blacklist::EntryId(1), "anna"});
  set_status(3);
  sync(target());
  set_status(0);
  add("leaf1--spine1");
  sync(target());
  EXPECT_THAT(calls().back(), HasSubstr("down"));
  EXPECT_EQ(marks(), 1u);
}

TEST_F(Ports, OfARunThatWasKilledBesideItsToolAreMadeGoodByTheNext) {
  for (const bool is_wanted : {true, false}) {
    std::filesystem::remove(files_ / "marks.json");
    ledger_ = ModelLedger(fabric_, [] { return Fate::well; });
    add("leaf1--spine1");
    sync(target());
    // As it stood when the tool was done: the intent in the ledger, the mark not in effect.
    auto text = text_of(files_ / "marks.json");
    text.replace(text.find("true"), 4, "false");
    std::ofstream(files_ / "marks.json", std::ios::trunc) << text;
    ASSERT_TRUE(ledger_.change({}, [](blacklist::Ledger read) -> Result<blacklist::Stepped> {
      read.entries.at(0).marks.at(0).read_back.reset();
      return blacklist::Stepped{std::move(read), {}};
    }));
    if (!is_wanted) command(blacklist::Release{blacklist::EntryId(1), "anna"});
    const auto before = calls().size();
    sync(target());
    ASSERT_EQ(calls().size(), before + 1);
    EXPECT_THAT(calls().back(), HasSubstr(is_wanted ? "down" : "up"));
    EXPECT_EQ(marks(), is_wanted ? 1u : 0u);
  }
}

/// The cables of leaf1's two ports are found to be the other way round.
TEST_F(Ports, ThatTheFabricFileHasElsewhereNowStayAsTheyAreUntilTheirEntryIsReleased) {
  add("leaf1--spine1");
  sync(target());
  std::string moved = kFabric;
  moved.replace(moved.find("leaf1/swp4"), 10, "leaf1/swp7");
  fabric_ = files::parse_fabric_file(moved, "test").value().fabric;
  EXPECT_THAT(sync(target()),
              ElementsAre(HasSubstr("it was shut at leaf1/swp4, where the fabric file has it")));
  EXPECT_EQ(calls().size(), 1u);
  EXPECT_EQ(marks(), 1u);
  command(blacklist::Release{blacklist::EntryId(1), "anna"});
  EXPECT_THAT(sync(target()), IsEmpty());
  EXPECT_THAT(calls().back(), HasSubstr("swp4 link state up"));
  EXPECT_EQ(marks(), 0u);
}

TEST_F(Ports, OfALinkThatTheFabricFileLostAreOpenedOnceTheirEntryIsReleased) {
  add("leaf1--spine1");
  sync(target());
  std::string lost = kFabric;
  lost.erase(lost.find(" {a: spine1, b: leaf1/swp4},"), 28);
  fabric_ = files::parse_fabric_file(lost, "test").value().fabric;
  sync(target());
  EXPECT_EQ(calls().size(), 1u) << "it stays as it is, also before any step has seen the new file";
  EXPECT_EQ(marks(), 1u);
  command(blacklist::Release{blacklist::EntryId(1), "anna"});
  sync(target());
  EXPECT_THAT(calls().back(), HasSubstr("swp4 link state up"));
  EXPECT_EQ(marks(), 0u);
}

TEST_F(Ports, WhoseMarksCannotBeFoundAreNotTakenForOpen) {
  add("leaf1--spine1");
  sync(target());
  const auto gone = directory_.path() / "gone";
  std::filesystem::rename(files_, gone);
  const auto nothing_is_concluded = [&] {
    PortTarget its(fabric_, PortDialect::cumulus, {files_, tool_});
    const auto look = look_at(site(its), ledger_.ledger());
    return !look && look.error().kind == ErrorKind::absent;
  };
  EXPECT_TRUE(nothing_is_concluded()) << "no directory";
  std::filesystem::create_directory(files_);
  EXPECT_TRUE(nothing_is_concluded()) << "an empty one, as of a file server that is away";
  std::filesystem::create_symlink("nowhere", files_ / "marks.json");
  EXPECT_TRUE(nothing_is_concluded()) << "a link to nothing";
  std::filesystem::remove_all(files_);
  std::ofstream(files_) << "x";
  EXPECT_TRUE(nothing_is_concluded()) << "a file";
  std::filesystem::remove(files_);
  std::filesystem::rename(gone, files_);
  EXPECT_THAT(sync(target()), IsEmpty());
  EXPECT_EQ(calls().size(), 1u);
}

TEST_F(Ports, ThatALostLedgerShutCountForTheCaps) {
  policy_ = {};
  fabric_ = files::parse_fabric_file(
                [] {
                  std::string text =
                      "fabric: f\nnodes: [{name: host1, kind: host}, {name: leaf1, kind: switch, tier: leaf}";
                  for (int i = 1; i <= 8; ++i)
                    text += fmt::format(", {{name: spine{}, kind: switch, tier: spine}}", i);
                  text += "]\nlinks: [{a: host1, b: leaf1}";
                  for (int i = 1; i <= 8; ++i) text += fmt::format(", {{a: leaf1/swp{}, b: spine{}}}", i, i);
                  return text + "]\n";
                }(),
                "test")
                .value()
                .fabric;
  add("leaf1--spine1");
  sync(target());
  ledger_ = ModelLedger(fabric_, [] { return Fate::well; });
  command(blacklist::Add{fabric_.find_link("leaf1--spine2").value(), std::chrono::hours(4), "card", "anna"});
  ledger_.change({}, [](blacklist::Ledger read) -> Result<blacklist::Stepped> {
    read.entries.at(0).id = blacklist::EntryId(2);
    return blacklist::Stepped{std::move(read), {}};
  });
  EXPECT_THAT(sync(target()), ElementsAre(AllOf(HasSubstr("leaf1--spine2"), HasSubstr("held back"))));
  EXPECT_EQ(calls().size(), 1u);
}

TEST_F(Ports, OneAtATimeInADirectory) {
  add("leaf1--spine1");
  std::ofstream(tool_, std::ios::trunc) << "#!/bin/sh\nexec flock -n " << files_.string()
                                        << "/lock echo free >> " << directory_.path().string() << "/calls\n";
  sync(target());
  EXPECT_THAT(calls(), IsEmpty()) << "the tool could not have the lock while weft had it";
}

TEST_F(Ports, WhoseLastChangeFailedAreTriedAfterTheOthers) {
  add("leaf1--spine1");
  add("leaf2--spine1");  // at spine1, which comes after leaf1 by name
  sync(target());
  command(blacklist::Release{blacklist::EntryId(1), "anna"});
  set_status(3);
  sync(target());
  command(blacklist::Release{blacklist::EntryId(2), "anna"});
  set_status(0);
  sync(target());
  const auto all = calls();
  ASSERT_EQ(all.size(), 5u);
  EXPECT_THAT(all[3], HasSubstr("spine1 nv set interface swp4 link state up"));
  EXPECT_THAT(all[4], HasSubstr("leaf1 nv set interface swp4 link state up"));
}

TEST_F(Ports, ThatAreNewGoBeforeThoseThatAreTriedOnceMore) {
  add("leaf1--spine1");
  set_status(3);
  sync(target());
  set_status(0);
  add("leaf2--spine1");
  sync(target());
  const auto all = calls();
  ASSERT_EQ(all.size(), 3u);
  EXPECT_THAT(all[1], HasSubstr("spine1 nv set"));
  EXPECT_THAT(all[2], HasSubstr("leaf1 nv set"));
}

TEST_F(Ports, ThatAreToBeShutOnceMoreAreUndoneByOpeningThem) {
  add("leaf1--spine1");
  set_status(3);
  sync(target());
  auto its = target();
  const auto look = look_at(site(its), ledger_.ledger());
  ASSERT_EQ(look->plan.changes.size(), 1u);
  EXPECT_EQ(look->plan.changes[0].undo,
            "on leaf1: nv set interface swp4 link state up && nv config apply -y");
  EXPECT_THAT(look->plan.changes[0].before, HasSubstr("(not in effect)"));
}

TEST_F(Ports, AMarkThatTheLedgerDoesNotKnowIsAnOrphanAndStays) {
  add("leaf1--spine1");
  sync(target());
  ledger_ = ModelLedger(fabric_, [] { return Fate::well; });
  auto its = target();
  const auto look = look_at(site(its), ledger_.ledger());
  ASSERT_TRUE(look) << look.error().message;
  EXPECT_THAT(look->plan.orphans, ElementsAre("spine1--leaf1"));
  EXPECT_THAT(look->plan.changes, IsEmpty());
}

TEST_F(Ports, WhoseMarksAreDamagedOrOfAnotherFabricAreNotTouched) {
  add("leaf1--spine1");
  for (const char* text :
       {"", "{", "[]", R"({"schema": "weft.port_marks/2", "fabric": "f", "marks": []})",
        R"({"schema": "weft.port_marks/1", "fabric": "g", "marks": []})",
        R"({"schema": "weft.port_marks/1", "fabric": "f", "marks": {}})",
        R"({"schema": "weft.port_marks/1", "fabric": "f", "marks": [{"link": "leaf1--spine1"}]})",
        R"({"schema": "weft.port_marks/1", "fabric": "f", "marks": [{"link": "leaf1--spine1",
           "switch": "../../etc", "port": "swp1", "mark": "weft: failed a id=f:1", "in_effect": true}]})",
        R"({"schema": "weft.port_marks/1", "fabric": "f", "marks": [
           {"link": "a", "switch": "b", "port": "swp1", "mark": "weft: failed a id=f:1", "in_effect": true},
           {"link": "a", "switch": "b", "port": "swp1", "mark": "weft: failed a id=f:1", "in_effect": true}]})"}) {
    std::ofstream(files_ / "marks.json", std::ios::trunc) << text;
    auto its = target();
    EXPECT_FALSE(look_at(site(its), ledger_.ledger())) << text;
  }
  EXPECT_THAT(calls(), IsEmpty());
}

TEST_F(Ports, InADirectoryThatIsNotThereAreAPermissionThatSaysSo) {
  std::filesystem::remove_all(files_);
  auto its = target();
  const auto rights = its.check_rights();
  ASSERT_FALSE(rights);
  EXPECT_EQ(rights.error().kind, ErrorKind::permission);
  EXPECT_THAT(rights.error().message, HasSubstr(files_.string()));
}

TEST(PortText, TakesNoNameThatMeansMoreInAPathOrALine) {
  for (const char* name : {"", "swp1 x", "Ethernet1/6", "swp1;b", "swp1\"", "swp1\n", "swp", "swp1s", "..",
                           "etp1", "Ethernet", "Ethernet4.100", "eth0", "Eth1"})
    for (const auto dialect : {PortDialect::sonic, PortDialect::cumulus})
      EXPECT_FALSE(port_text(dialect, name, false)) << name;
  EXPECT_TRUE(port_text(PortDialect::cumulus, "swp1s0", true));
  EXPECT_FALSE(port_text(PortDialect::sonic, "swp1", true));
  EXPECT_FALSE(port_text(PortDialect::cumulus, "Ethernet4", true));
}

}  // namespace
}  // namespace weft::exports
