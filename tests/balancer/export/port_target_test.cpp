// Links that are shut by files for a site's own tool, from the ledger to what the tool is given.
#include "balancer/export/port_target.hpp"

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
    "links: [{a: host1, b: leaf1}, {a: host2, b: leaf2}, {a: spine1, b: leaf1/Ethernet4},\n"
    "        {a: spine2/Ethernet0, b: leaf1/Ethernet8}, {a: leaf2, b: spine1/Ethernet4},\n"
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
    return PortTarget(fabric_, dialect, {files_, tool_});
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
  ModelLedger ledger_{fabric_, [] { return Fate::well; }};
  blacklist::Now now_{UtcTime(std::chrono::seconds(1'800'000'000)), std::chrono::minutes(10), "boot"};
};

TEST_F(Ports, AreShutAtTheLowerEndAndOpenedThereWithTheirMarks) {
  add("leaf1--spine1");
  EXPECT_THAT(sync(target()), IsEmpty());
  EXPECT_THAT(calls(), ElementsAre("leaf1 nv set interface Ethernet4 link state downnv config apply -y"));
  EXPECT_EQ(text_of(files_ / "leaf1.nv"), "nv set interface Ethernet4 link state down\nnv config apply -y\n");
  EXPECT_THAT(text_of(files_ / "marks.json"), AllOf(HasSubstr("spine1--leaf1"), HasSubstr("id=f:1")));
  EXPECT_EQ(marks(), 1u);
  EXPECT_THAT(sync(target()), IsEmpty());
  EXPECT_EQ(calls().size(), 1u) << "it stands";
  command(blacklist::Release{blacklist::EntryId(1), "anna"});
  sync(target());
  EXPECT_EQ(calls().back(), "leaf1 nv set interface Ethernet4 link state upnv config apply -y");
  EXPECT_THAT(text_of(files_ / "marks.json"), Not(HasSubstr("spine1--leaf1")));
  EXPECT_EQ(marks(), 0u);
}

TEST_F(Ports, OfOneSwitchAreOneFileWithPathsAndValuesForSonic) {
  add("leaf1--spine1");
  add("leaf1--spine2");
  add("leaf2--spine1");
  EXPECT_THAT(sync(target(PortDialect::sonic)), IsEmpty());
  EXPECT_EQ(calls().size(), 2u);
  const auto leaf = nlohmann::json::parse(text_of(files_ / "leaf1.json"));
  ASSERT_EQ(leaf.size(), 2u);
  EXPECT_EQ(leaf[0]["path"], "/sonic-db:CONFIG_DB/localhost/PORT/Ethernet4/admin_status");
  EXPECT_EQ(leaf[1]["path"], "/sonic-db:CONFIG_DB/localhost/PORT/Ethernet8/admin_status");
  EXPECT_EQ(leaf[1]["value"], "down");
  const auto spine = nlohmann::json::parse(text_of(files_ / "spine1.json"));
  EXPECT_EQ(spine.size(), 1u) << "at the end whose port has a name";
}

TEST_F(Ports, WithoutANameAreRefusedBeforeAnythingIsChanged) {
  add("leaf2--spine2");
  EXPECT_THAT(sync(target()), ElementsAre(AllOf(HasSubstr("leaf2--spine2"),
                                                HasSubstr("give port_names in the fabric file"))));
  EXPECT_THAT(calls(), IsEmpty());
  EXPECT_EQ(marks(), 0u);
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

TEST_F(Ports, ThatWereShutAtAnotherPortAreOpenedThere) {
  add("leaf1--spine1");
  sync(target());
  std::string moved = kFabric;
  moved.replace(moved.find("leaf1/Ethernet4"), 15, "leaf1/Ethernet9");
  fabric_ = files::parse_fabric_file(moved, "test").value().fabric;
  command(blacklist::Release{blacklist::EntryId(1), "anna"});
  sync(target());
  EXPECT_THAT(calls().back(), HasSubstr("Ethernet4 link state up"));
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
           "switch": "../../etc", "port": "c", "mark": "weft: failed a id=f:1", "in_effect": true}]})",
        R"({"schema": "weft.port_marks/1", "fabric": "f", "marks": [
           {"link": "a", "switch": "b", "port": "c", "mark": "weft: failed a id=f:1", "in_effect": true},
           {"link": "a", "switch": "b", "port": "c", "mark": "weft: failed a id=f:1", "in_effect": true}]})"}) {
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
  for (const char* name : {"", "swp1 x", "Ethernet1/6", "a;b", "a\"b", "a\nb"})
    for (const auto dialect : {PortDialect::sonic, PortDialect::cumulus})
      EXPECT_FALSE(port_text(dialect, name, false)) << name;
  EXPECT_TRUE(port_text(PortDialect::cumulus, "swp1s0", true));
}

}  // namespace
}  // namespace weft::exports
