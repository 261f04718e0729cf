// An InfiniBand lab end to end: ibsim, OpenSM, the program's own commands.
#include "tests/support/infiniband_lab.hpp"

#include <gmock/gmock.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "tests/support/schema.hpp"
#include "topology/files/fabric_file.hpp"
#include "topology/model/ib_design.hpp"
#include "topology/routing/min_hop_tables.hpp"
#include "topology/routing/routing_report.hpp"

namespace weft {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST_F(InfinibandLabTest, ASweepIsCleanThenNamesEachFaultAndIsCleanAgain) {
  InfinibandLab lab("{routing: minhop, lmc: 1}");
  ASSERT_EQ(lab.up.status, 0) << lab.up.text;
  const auto clean = lab.sweep();
  EXPECT_EQ(clean.status, 0) << clean.text;
  EXPECT_THAT(clean.text, HasSubstr("healthy"));

  EXPECT_EQ(lab.fault({"leaf1--spine2", "--loss", "10", "--from", "leaf1"}).status, 0);
  EXPECT_EQ(lab.fault({"leaf2--spine1", "--counter", "SymbolErrorCounter=300", "--from", "spine1"}).status,
            0);
  const auto two = lab.sweep();
  EXPECT_EQ(two.status, 2) << two.text;
  EXPECT_THAT(two.text, AllOf(HasSubstr("leaf1--spine2 (from leaf1)"),
                              HasSubstr("counters of spine1->leaf2: SymbolErrorCounter"),
                              Not(HasSubstr("leaf2--spine1")), Not(HasSubstr("leaf3--"))))
      << "one counter alone names nothing";

  const auto status = lab.weft({"lab", "status", "--name", lab.name(), "-o", "json"});
  expect_matches_schema(status.text, "lab");
  EXPECT_THAT(status.text, HasSubstr("leaf1--spine2:loss=10%"));
  EXPECT_EQ(lab.weft({"lab", "exec", "host1", "--name", lab.name(), "--", "true"}).status, 69);

  EXPECT_EQ(lab.heal().status, 0);
  EXPECT_EQ(lab.fault({"leaf3--spine1", "--down"}).status, 0);
  const auto down = lab.sweep();
  EXPECT_EQ(down.status, 2) << down.text;
  EXPECT_THAT(down.text, AllOf(HasSubstr("leaf3--spine1  failed"), Not(HasSubstr("leaf1--"))));
  const auto check = lab.weft({"topology", "check", lab.file(), "--lab=" + lab.name()});
  EXPECT_EQ(check.status, 2) << check.text;
  EXPECT_THAT(check.text, HasSubstr("missing cable  leaf3/p3"));

  EXPECT_EQ(lab.heal().status, 0);
  const auto healed = lab.sweep();
  EXPECT_EQ(healed.status, 0) << healed.text;
}

constexpr const char* kRails =
    "rails: {groups: 2, hosts_per_group: 4, rails: 8, spines: 4, link: 200G}\nlab: {lmc: 2}\n";

TEST_F(InfinibandLabTest, HostsOfEightNicsAreSweptByAFewOfThemAndWhatNoProbeTellsIsSaid) {
  InfinibandLab lab(InfinibandLab::Shape{kRails});
  ASSERT_EQ(lab.up.status, 0) << lab.up.text;
  const auto clean = lab.sweep();
  EXPECT_EQ(clean.status, 0) << clean.text << clean.errors;
  EXPECT_THAT(clean.text, AllOf(HasSubstr("healthy"), HasSubstr("forwarding tables and the counters tell")));
  // One on the way of probes, one that only the tables and counters tell.
  EXPECT_EQ(lab.fault({"leaf2--spine3", "--loss", "10", "--from", "leaf2"}).status, 0);
  EXPECT_EQ(lab.fault({"host7/p8--leaf16", "--down"}).status, 0);
  const auto faulty = lab.sweep();
  EXPECT_EQ(faulty.status, 2) << faulty.text;
  EXPECT_THAT(faulty.text, AllOf(HasSubstr("leaf2--spine3 (from leaf2)"), HasSubstr("host7/p8")));
}

TEST_F(InfinibandLabTest, AdaptersWithoutAnAgentTellOfTheLinksThatTheirRoutesAloneTake) {
  InfinibandLab lab(InfinibandLab::Shape{
      "clos: {leaves: 3, spines: 3, hosts_per_leaf: 3, link: 200G}\nlab: {routing: minhop, lmc: 0}\n"});
  ASSERT_EQ(lab.up.status, 0) << lab.up.text;
  const auto clean = lab.weft({"sweep", "--lab=" + lab.name()});
  EXPECT_EQ(clean.status, 0) << clean.text << clean.errors;
  EXPECT_THAT(clean.text, AllOf(HasSubstr("healthy"), Not(HasSubstr("not crossed"))));
  // Without a second label each adapter is reached over one spine, and the agents' own over few.
  for (const std::string spine : {"spine1", "spine3"}) {
    EXPECT_EQ(lab.fault({"leaf1--" + spine, "--loss", "10", "--from", spine}).status, 0);
    const auto faulty = lab.weft({"sweep", "--lab=" + lab.name()});
    EXPECT_THAT(faulty.status, AnyOf(1, 2)) << faulty.text;
    EXPECT_THAT(faulty.text, AnyOf(HasSubstr("leaf1--" + spine), HasSubstr(spine + "->leaf1")));
    EXPECT_EQ(lab.heal().status, 0);
  }
}

std::string file_text(const std::filesystem::path& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

/// A process of the lab whose command line has the word; 0: there is none.
pid_t process_of(const std::string& lab, const std::string& word) {
  for (const auto& process : std::filesystem::directory_iterator("/proc")) {
    const auto at = process.path();
    if (file_text(at / "environ").find("IBSIM_SOCKNAME=weft-" + lab + "-") != std::string::npos &&
        file_text(at / "cmdline").find(word) != std::string::npos)
      return std::stoi(at.filename());
  }
  return 0;
}

/// What agents send has no room then, and no agent may fall silent for it, or die, nor a host be blamed.
TEST_F(InfinibandLabTest, ASimulatorThatStandsForAWhileIsNoFaultOfAHostAndSilencesNobody) {
  InfinibandLab lab("{routing: minhop, lmc: 1}");
  ASSERT_EQ(lab.up.status, 0) << lab.up.text;
  std::jthread stopping([name = lab.name()] {
    for (int tries = 0; tries < 300 && process_of(name, "agent") == 0; ++tries)
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    std::this_thread::sleep_for(std::chrono::seconds(2));
    const pid_t simulator = process_of(name, "ibsim");
    if (simulator == 0) return;
    kill(simulator, SIGSTOP);
    std::this_thread::sleep_for(std::chrono::seconds(14));
    kill(simulator, SIGCONT);
  });
  const auto swept = lab.weft({"sweep", "--lab=" + lab.name(), "--budget", "8s"});
  stopping.join();
  EXPECT_EQ(swept.status, 3) << swept.text << swept.errors;
  EXPECT_THAT(swept.text, AllOf(HasSubstr("ibsim has taken nothing"), Not(HasSubstr("silent")),
                                Not(HasSubstr("its agent ended")), Not(HasSubstr("failed"))));
}

TEST_F(InfinibandLabTest, OfWhatLiesBeyondACutNothingIsSaid) {
  InfinibandLab lab("{routing: minhop, lmc: 0}");
  ASSERT_EQ(lab.up.status, 0) << lab.up.text;
  for (const std::string spine : {"spine1", "spine2"})
    EXPECT_EQ(lab.fault({"leaf2--" + spine, "--down"}).status, 0);
  const auto cut = lab.sweep();
  EXPECT_EQ(cut.status, 2) << cut.text;
  EXPECT_THAT(cut.text, AllOf(HasSubstr("leaf2--spine1"), HasSubstr("leaf2--spine2"), HasSubstr("host3"),
                              HasSubstr("untested"), Not(HasSubstr("host3--leaf2"))));
  EXPECT_THAT(cut.errors, HasSubstr("2 cables of the file lie beyond what is down"));
}

/// The adapter of such a cable is often not found, or is given no LID: no probe of the run crosses it then.
TEST_F(InfinibandLabTest, AHostBehindACableThatLosesHalfIsNeverOutOfTheQuestion) {
  InfinibandLab lab(InfinibandLab::Shape{
      "nodes:\n  - {name: host1, kind: host}\n  - {name: host2, kind: host}\n"
      "  - {name: host3, kind: host}\n  - {name: host4, kind: host}\n  - {name: host5, kind: host}\n"
      "  - {name: leaf1}\n  - {name: leaf2}\n  - {name: spine1}\n  - {name: spine2}\n"
      "links:\n  - {a: host1, b: leaf1}\n  - {a: host2, b: leaf2}\n  - {a: host3, b: leaf2}\n"
      "  - {a: host4, b: leaf2}\n  - {a: host5, b: leaf2}\n"
      "  - {a: leaf1, b: spine1}\n  - {a: leaf1, b: spine2}\n"
      "  - {a: leaf2, b: spine1}\n  - {a: leaf2, b: spine2}\n"
      "lab: {routing: minhop, lmc: 0}\n"});
  ASSERT_EQ(lab.up.status, 0) << lab.up.text;
  ASSERT_EQ(lab.fault({"host4--leaf2", "--loss", "50"}).status, 0);
  for (int sweep = 0; sweep < 5; ++sweep) {
    const auto swept = lab.sweep();
    EXPECT_THAT(swept.status, AnyOf(2, 3)) << swept.text << swept.errors;
    EXPECT_THAT(swept.text, HasSubstr("host4")) << swept.errors;
  }
}

TEST_F(InfinibandLabTest, NodesThatWereRenamedOrReplacedAreThereAndAreSaidToBe) {
  InfinibandLab lab(
      InfinibandLab::Shape{"rails: {groups: 1, hosts_per_group: 3, rails: 2, spines: 2, link: 200G}\n"
                           "lab: {descriptions: {host1: \"MT4123 ConnectX6   Mellanox Technologies\", "
                           "host2/p2: \"ubuntu mlx5_1\"}, "
                           "replaced: [host3/p1]}\n"});
  ASSERT_EQ(lab.up.status, 0) << lab.up.errors;
  const auto swept = lab.sweep();
  EXPECT_EQ(swept.status, 0) << swept.text << swept.errors;
  EXPECT_THAT(swept.errors,
              AllOf(HasSubstr("renamed: host1 is now MT4123-ConnectX6"),
                    HasSubstr("renamed: host2 is now ubuntu"), HasSubstr("replaced: host3/p1 (0x")));
  EXPECT_EQ(lab.fault({"host3/p1--leaf1", "--down"}).status, 0) << "its adapter is the other one";
  EXPECT_THAT(lab.sweep().text, HasSubstr("host3/p1"));
}

TEST_F(InfinibandLabTest, HostsOfTheLongestNamesAreSwept) {
  std::string nodes;
  std::string links;
  for (int i = 1; i <= 2; ++i) {
    const auto name = "h" + std::to_string(i) + "-" + std::string(61, 'a');
    nodes += "  - {name: " + name + ", kind: host}\n  - {name: leaf" + std::to_string(i) + "}\n";
    links += "  - {a: " + name + ", b: leaf" + std::to_string(i) + "}\n";
  }
  InfinibandLab lab(
      InfinibandLab::Shape{"nodes:\n" + nodes + "links:\n" + links + "  - {a: leaf1, b: leaf2}\n"});
  ASSERT_EQ(lab.up.status, 0) << lab.up.errors;
  const auto swept = lab.sweep();
  EXPECT_EQ(swept.status, 0) << swept.text << swept.errors;
  EXPECT_EQ(lab.weft({"topology", "check", lab.file(), "--lab=" + lab.name()}).status, 0);
}

TEST_F(InfinibandLabTest, ALinkOfHalfItsWidthIsNamedAndWaitingIsCongestion) {
  InfinibandLab lab("{lmc: 1, slow_links: {leaf2--spine2: 200G}}");
  ASSERT_EQ(lab.up.status, 0) << lab.up.text;
  EXPECT_EQ(lab.fault({"leaf1--spine1", "--counter", "PortXmitWait=500000", "--from", "leaf1"}).status, 0);
  const auto swept = lab.sweep();
  EXPECT_EQ(swept.status, 1) << swept.text;
  EXPECT_THAT(swept.text, AllOf(HasSubstr("leaf2--spine2"), HasSubstr("2xHDR"),
                                HasSubstr("leaf1--spine1 (from leaf1)"), HasSubstr("congest")));
}

TEST_F(InfinibandLabTest, TheFileOfADiscoveredFabricLoadsAsTheSameFabric) {
  InfinibandLab lab("{lmc: 0}");
  ASSERT_EQ(lab.up.status, 0) << lab.up.text;
  const auto yaml = lab.weft({"topology", "discover", "--lab=" + lab.name(), "-o", "yaml"});
  EXPECT_EQ(yaml.status, 0);
  const std::string path = lab.file() + ".found";
  std::ofstream(path) << yaml.text;
  const auto check = lab.weft({"topology", "check", path, "--lab=" + lab.name()});
  std::filesystem::remove(path);
  EXPECT_EQ(check.status, 0) << check.text;
  EXPECT_THAT(check.text, HasSubstr("12 of 12 links as they should be, 0 to look at"));
}

TEST_F(InfinibandLabTest, TraceTellsThePathOfEachLabelAndRoutesTellHowTheyWereMade) {
  InfinibandLab lab("{routing: ftree, lmc: 1}");  // which ftree refuses: OpenSM falls back without a word
  ASSERT_EQ(lab.up.status, 0) << lab.up.text;
  const auto trace = lab.weft({"trace", "host1", "host5", "--lab=" + lab.name()});
  EXPECT_EQ(trace.status, 0) << trace.text;
  EXPECT_THAT(trace.text, AllOf(HasSubstr("host1 to host5: 2 paths seen with 2 labels"),
                                HasSubstr("host1->leaf1->spine1->leaf3->host5"),
                                HasSubstr("host1->leaf1->spine2->leaf3->host5")));
  EXPECT_EQ(lab.weft({"trace", "host1", "host5", "--lab=" + lab.name(), "--audit", "8"}).status, 64);
  const auto map = lab.weft({"trace", "host1", "host5", "--lab=" + lab.name(), "-o", "json"});
  EXPECT_THAT(map.text, HasSubstr("\"schema\":\"weft.pathmap/1\""));
  const auto routes = lab.weft({"topology", "routes", "--lab=" + lab.name()});
  EXPECT_EQ(routes.status, 0) << routes.text;
  EXPECT_THAT(routes.text,
              AllOf(HasSubstr("60 of 60 routes"), HasSubstr("routing engine: minhop"),
                    HasSubstr("wait for each other: none"), HasSubstr("times the mean of 2 switches")));
}

TEST_F(InfinibandLabTest, WhatIbsimCannotDoIsSaid) {
  InfinibandLab lab("{lmc: 0}");
  ASSERT_EQ(lab.up.status, 0) << lab.up.text;
  EXPECT_EQ(lab.fault({"leaf1--spine1", "--rate", "10M"}).status, 69);
  EXPECT_EQ(lab.fault({"leaf1--spine1", "--loss", "0.5"}).status, 69);
  EXPECT_NE(lab.fault({"leaf1--spine1", "--counter", "NoSuchCounter=1"}).status, 0);
  EXPECT_EQ(lab.weft({"lab", "up", lab.file(), "--name", lab.name()}).status, 69);  // it is up already
}

/// Ties are broken otherwise, so entries differ; what they amount to does not.
TEST_F(InfinibandLabTest, ASimulationsTablesReachAsFarAndAsEvenlyAsOpenSMs) {
  InfinibandLab lab("{routing: minhop, lmc: 1}");
  ASSERT_EQ(lab.up.status, 0) << lab.up.text;
  const auto answer = lab.weft({"topology", "routes", "--lab=" + lab.name(), "-o", "json"});
  ASSERT_EQ(answer.status, 0);
  const auto theirs = nlohmann::json::parse(answer.text);
  const auto file = files::read_fabric_file(lab.file()).value();
  InfinibandFabric whole{.fabric = file.fabric, .inventory = design_inventory(file.fabric), .remarks = {}};
  ASSERT_TRUE(assign_lids(whole.fabric, file.lab.lmc, whole.inventory));
  const auto ours = report_routing(whole, routing::fill_min_hop(whole));
  EXPECT_EQ(ours.routes, theirs["routes"]);
  EXPECT_EQ(ours.unreachable, theirs["unreachable"]);
  EXPECT_EQ(ours.shortest, theirs["shortest"]);
  EXPECT_EQ(ours.up_down, theirs["up_down"]);
  EXPECT_NEAR(ours.top.busiest_over_mean, theirs["top_tier"]["busiest_over_mean"].get<double>(), 0.01);
}

}  // namespace
}  // namespace weft
