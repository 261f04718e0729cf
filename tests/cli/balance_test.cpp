// `weft balance`, and `weft simulate` for completion times, as a user calls them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "cli/commands.hpp"
#include "tests/support/command.hpp"
#include "tests/support/flow_text.hpp"
#include "tests/support/schema.hpp"
#include "tests/support/scratch_file.hpp"
#include "tests/support/traffic.hpp"
#include "topology/files/diagnosis_document.hpp"
#include "topology/files/fabric_file.hpp"
#include "topology/files/path_map_json.hpp"

namespace weft::cli {
namespace {

using testing::AnyOf;
using testing::HasSubstr;
using testing::Not;
using Json = nlohmann::json;

const std::string kClos = "fabric: a\nclos: {leaves: 4, spines: 4, hosts_per_leaf: 4, link: 400G}\n";

/// `weft balance`, and `weft simulate`, of the Clos.
Outcome balance(const Arguments& more) {
  const ScratchFile fabric(kClos);
  Arguments words{"--fabric", fabric.path()};
  words.insert(words.end(), more.begin(), more.end());
  return call(balance_command, words);
}
Outcome simulate(const Arguments& more) {
  const ScratchFile fabric(kClos);
  Arguments words{fabric.path()};
  words.insert(words.end(), more.begin(), more.end());
  return call(simulate_command, words);
}

/// The document that either answers with, of this schema.
Json document_of(Outcome (*command)(const Arguments&), Arguments words, const char* schema) {
  words.insert(words.end(), {"-o", "json"});
  const auto outcome = command(words);
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  expect_matches_schema(outcome.out, schema);
  return Json::parse(outcome.out, nullptr, false);
}
Json assigned(const Arguments& words) { return document_of(balance, words, "assignment"); }

TEST(Balance, ARingOnAHealthyFabricIsAtTheBound) {
  const Arguments words{"--collective", "ring", "--hosts", "16", "--bytes", "16MB"};
  const auto document = assigned(words);
  EXPECT_EQ(document["ratio"], 1.0);
  EXPECT_EQ(document["bound"], 30'000'000);
  EXPECT_EQ(document["assignments"].size(), 16u);
  EXPECT_THAT(balance(words).out, HasSubstr("ring over 16 hosts"));
}

TEST(Balance, TakesPredictedLabelsOfALinearHashAndTakesThemBackWhereOneIsWrong) {
  const ScratchFile fabric(kClos);
  const auto traced = call(trace_command, {"host1", "host5", "--fabric", fabric.path(), "--simulate",
                                           "--labels", "200", "--hash", "crc32", "-o", "json"});
  ASSERT_EQ(traced.status, 0) << traced.err;
  const ScratchFile flows(R"({"src":"host1","dst":"host5","bytes":100})"
                          "\n");
  const auto said_of = [&](const Json& map) {
    const ScratchFile paths(map.dump());
    const auto outcome = balance({"--flows", flows.path(), "--paths", paths.path(), "--predict"});
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    return outcome.err;
  };
  auto map = Json::parse(traced.out);
  EXPECT_THAT(said_of(map), HasSubstr("1 of 1 pairs have linear hashes"));
  auto& paths = map["pairs"][0]["paths"];
  ASSERT_GE(paths.size(), 2u);
  paths[1]["labels"].push_back(paths[0]["labels"].back());
  paths[0]["labels"].erase(paths[0]["labels"].size() - 1);
  EXPECT_THAT(said_of(map), HasSubstr("0 of 1 pairs have linear hashes: 0 labels predicted"));
}

TEST(Balance, FlowsThatCannotBeAssignedAreNamedAndTheRestIs) {
  const ScratchFile flows(
      "{\"src\":\"host1\",\"dst\":\"host5\",\"bytes\":100}\n{\"src\":\"host1\",\"dst\":\"host77\",\"bytes\":"
      "100}\n");
  const auto outcome = balance({"--flows", flows.path(), "-o", "json"});
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.err, HasSubstr("not assigned: line 2: host1 -> host77: fabric a has no node 'host77'"));
  const auto document = Json::parse(outcome.out);
  EXPECT_EQ(document["assignments"].size(), 1u);
  EXPECT_EQ(document["unassigned"].size(), 1u);
}

TEST(Balance, OfManyFlowsThatCannotBeAssignedTheFirstAreNamedAndAllAreInTheDocument) {
  std::string text = "{\"src\":\"host1\",\"dst\":\"host5\",\"bytes\":100}\n";
  for (int i = 0; i < 12; ++i) text += "{\"src\":\"host1\",\"dst\":\"host77\",\"bytes\":100}\n";
  const ScratchFile flows(text);
  const auto outcome = balance({"--flows", flows.path(), "-o", "json"});
  EXPECT_THAT(outcome.err, HasSubstr("2 more flows are not assigned: -o json has them"));
  EXPECT_EQ(Json::parse(outcome.out)["unassigned"].size(), 12u);
}

TEST(Balance, AFileOfSomethingElseIsRefusedByItsName) {
  const ScratchFile other("# a heading\ntext\n");
  const auto outcome = balance({"--flows", other.path()});
  EXPECT_EQ(outcome.status, 64);
  EXPECT_EQ(outcome.out, "");
  EXPECT_THAT(outcome.err, HasSubstr(other.path() + ": no flows: expected lines as"));
  EXPECT_THAT(outcome.err, HasSubstr("; line 1: no JSON object"));
}

TEST(Balance, WithAPathMapEveryQpHasALabelThatTakesItsPath) {
  const auto fabric = files::parse_fabric_file(kClos, "a")->fabric;
  const auto phase = cross_leaf_permutation(fabric, 1);
  const ScratchFile map(files::path_map_json(fabric, probed_path_map(fabric, phase, 32, true, 1), {}));
  const ScratchFile flows(write_flows(fabric, demand::Demand{{phase}}));
  const auto document = assigned({"--flows", flows.path(), "--qps", "2", "--paths", map.path(), "--reverse"});
  EXPECT_EQ(document["ratio"], 1.0);
  for (const auto& qp : document["assignments"]) {
    EXPECT_TRUE(qp["label"].is_number());
    EXPECT_TRUE(qp["reverse"]["label"].is_number());
  }
}

TEST(Balance, FewLabelsAreToldApartFromABadAnswer) {
  const auto fabric = files::parse_fabric_file(kClos, "a")->fabric;
  const auto phase = cross_leaf_permutation(fabric, 1);
  const ScratchFile map(files::path_map_json(fabric, probed_path_map(fabric, phase, 1, false, 1), {}));
  const ScratchFile flows(write_flows(fabric, demand::Demand{{phase}}));
  const Arguments words{"--flows", flows.path(), "--paths", map.path()};
  const auto document = assigned(words);
  EXPECT_GT(document["ratio"], 1.5);
  EXPECT_EQ(document["label_bound"], document["busiest"]);  // nothing better over these labels
  const auto table = balance(words).out;
  EXPECT_THAT(table, HasSubstr("the busiest is 1.000 times that"));
  EXPECT_THAT(table, HasSubstr("16 of 16 pairs know fewer than their 4 paths; 21 labels a pair\n"));
}

/// QPs over each channel when a shift by a leaf, 16 QPs a flow, is balanced by this diagnosis.
std::map<std::string, int> qps_by(const LinkFinding& finding) {
  const auto fabric = files::parse_fabric_file(kClos, "a")->fabric;
  Diagnosis diagnosis;
  diagnosis.links = {finding};
  const ScratchFile findings(files::diagnosis_json(files::diagnosis_document(fabric, diagnosis, {}, {})));
  std::map<std::string, int> over;
  const auto document =
      assigned({"--collective", "shift-4", "--hosts", "16", "--qps", "16", "--diagnosis", findings.path()});
  for (const auto& qp : document["assignments"])
    for (const auto& channel : qp["path"]) ++over[channel];
  return over;
}

TEST(Balance, ADiagnosisKeepsFlowsOffWhatFailedAndPutsLessOnWhatIsSlow) {
  const auto fabric = files::parse_fabric_file(kClos, "a")->fabric;
  const auto down =
      qps_by({.link = *fabric.find_link("leaf1--spine1"), .verdict = Verdict::failed, .cause = Cause::down});
  EXPECT_FALSE(down.contains("leaf1->spine1"));
  EXPECT_FALSE(down.contains("spine1->leaf1"));
  EXPECT_LE(down.at("leaf1->spine2"), 22);
  const auto slow = qps_by({.link = *fabric.find_link("leaf2--spine2"),
                            .channel = *fabric.find_channel("leaf2->spine2"),
                            .verdict = Verdict::degraded,
                            .cause = Cause::rate,
                            .estimate = Estimate{0.25, 0.2, 0.3}});
  // 64 QPs over three whole links and a quarter: 20 on each of those, 5 at most here.
  EXPECT_GE(slow.at("leaf2->spine2"), 4);
  EXPECT_LE(slow.at("leaf2->spine2"), 5);
}

TEST(Balance, ADiagnosisOfAnotherFabricIsRefusedAndLinksItHasNotAreNamed) {
  const auto with = [&](const std::string& name, const std::string& link) {
    const ScratchFile findings(
        R"({"schema":"weft.diagnosis/1","generated_at":"2026-01-01T00:00:00Z","tool_version":"1","fabric":")" +
        name + R"(","verdict":"failed","links":[{"link":")" + link +
        R"(","verdict":"failed","cause":"down","confidence":1}],"hosts":[],"groups":[],)"
        R"("ambiguous":[],"coverage":{"channels":1,"probed":1,"paths":1,"missing":[]},)"
        R"("probes":{"sent":1,"lost":0},"timings":{}})");
    return balance({"--collective", "ring", "--hosts", "4", "--diagnosis", findings.path()});
  };
  const auto other = with("b", "leaf1--spine1");
  EXPECT_EQ(other.status, 64);
  EXPECT_THAT(other.err, HasSubstr("a diagnosis of fabric 'b', not of 'a'"));
  const auto unknown = with("a", "leaf1--spine9");
  EXPECT_EQ(unknown.status, 0) << unknown.err;
  EXPECT_THAT(unknown.err, HasSubstr("spine9"));
}

TEST(Balance, JobsAtOnceShareTheFabricAndKeepTheBoundOfAllTogether) {
  const auto document = assigned({"--job", "ring:host1,host5,host9,host13:16MB", "--job",
                                  "recursive-doubling:host2,host6,host10,host14:8MB"});
  EXPECT_EQ(document["ratio"], 1.0);
  EXPECT_EQ(document["phases"].size(), 2u) << "the ring runs through both steps of the other";
  EXPECT_EQ(document["assignments"].size(), 2u * (4 + 4));
  for (const std::string job : {"ring", "ring:host1", "ring:host1,host99", "ring:4:0", "ring:4:x", "knot:4"})
    EXPECT_EQ(balance({"--job", job}).status, 64) << job;
}

TEST(Balance, WhatTalksMostIsPlacedInsideTheHostAndMistakesAreNamed) {
  const auto document = document_of(
      balance, {"--place", "data:4:1GB", "--place", "tensor:8:10GB", "--place", "pipeline:4:100MB"},
      "placement");
  ASSERT_EQ(document["groups"].size(), 3u);
  EXPECT_EQ(document["groups"][0]["name"], "tensor");
  EXPECT_EQ(document["groups"][0]["within"], "host");
  EXPECT_EQ(document["groups"][1]["stride"], 8);
  EXPECT_THAT(balance({"--place", "tensor:8:10GB"}).out, HasSubstr("tensor"));
  for (const std::string group :
       {"tensor", "tensor:0:1GB", "tensor:8", "tensor:x:1GB", ":8:1GB", "tensor:999:1"}) {
    const auto refused = balance({"--place", group});
    EXPECT_EQ(refused.status, 64) << group;
    EXPECT_NE(refused.err, "") << group;
  }
}

TEST(Balance, OptionsOfTheLabAndOfFilesAreKeptApart) {
  EXPECT_EQ(call(balance_command, {"--collective", "ring", "--hosts", "4"}).status, 64);
  const auto run = balance({"--collective", "ring", "--hosts", "4", "--run"});
  EXPECT_EQ(run.status, 64);
  EXPECT_THAT(run.err, HasSubstr("--run"));
  const auto engine = balance({"--collective", "ring", "--hosts", "4", "--engine", "verbs"});
  EXPECT_EQ(engine.status, 64);
  EXPECT_THAT(engine.err, HasSubstr("--engine goes with --lab"));
}

TEST(Balance, ABlacklistedLinkIsLeftWithFewMoves) {
  Arguments words{"--collective", "shift-4", "--hosts", "16", "--qps", "4"};
  const ScratchFile previous(assigned(words).dump());
  const ScratchFile blacklist(
      "{\"schema\":\"weft.blacklist/1\",\"id\":\"a:leaf1--spine1\",\"fabric\":\"a\",\"layer\":\"roce\","
      "\"a\":{\"node\":\"leaf1\",\"port\":5},\"b\":{\"node\":\"spine1\",\"port\":1},\"class\":\"switch-"
      "switch\","
      "\"verdict\":\"failed\",\"confidence\":1,\"evidence\":[],\"first_seen\":\"2026-01-01T00:00:00Z\","
      "\"last_seen\":\"2026-01-01T00:00:00Z\",\"expires\":\"2999-01-01T00:00:00Z\",\"owner\":\"weft\","
      "\"actions\":[]}\n");
  words.insert(words.end(), {"--previous", previous.path(), "--avoid", blacklist.path()});
  const auto document = assigned(words);
  EXPECT_NEAR(document["ratio"].get<double>(), 1.0, 1e-9);
  EXPECT_GE(document["moves"], 8);
  EXPECT_LE(document["moves"], 24);
  EXPECT_THAT(document.dump(), Not(AnyOf(HasSubstr("leaf1->spine1"), HasSubstr("spine1->leaf1"))));
}

TEST(Balance, RefusesWhatMakesNoDemand) {
  for (const Arguments& words :
       std::vector<Arguments>{{},
                              {"--collective", "ring"},
                              {"--collective", "rong", "--hosts", "4"},
                              {"--collective", "ring", "--hosts", "1"},
                              {"--collective", "ring", "--hosts", "17"},
                              {"--collective", "ring", "--hosts", "4", "--bytes", "0"},
                              {"--collective", "ring", "--hosts", "4", "--qps", "0"},
                              {"--collective", "shift-0", "--hosts", "4"},
                              {"--flows", "/nowhere/flows.jsonl"}}) {
    const auto outcome = balance(words);
    EXPECT_EQ(outcome.status, 64) << outcome.out << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr("weft: "));
  }
}

TEST(SimulateCollective, ShowsHashingBehindTheBalancer) {
  const Arguments words{"--collective", "shift-4", "--hosts", "16", "--bytes", "10MB"};
  EXPECT_THAT(simulate(words).out, HasSubstr("ECMP, 16 QPs"));
  const auto strategies = document_of(simulate, words, "completion")["strategies"];
  EXPECT_GT(strategies[0]["over_optimum"], 1.5);
  EXPECT_NEAR(strategies.back()["over_optimum"].get<double>(), 1.0, 1e-9);
}

TEST(SimulateCollective, AFaultThatNoFluidModelKnowsIsRefused) {
  const auto outcome =
      simulate({"--collective", "ring", "--hosts", "16", "--fault", "leaf1--spine1:loss=1%"});
  EXPECT_EQ(outcome.status, 64);
  EXPECT_THAT(outcome.err, HasSubstr("completion times know only down, rate and load"));
}

TEST(SimulateCollective, TellsWhichAllReduceWinsAtWhichSize) {
  const auto document = document_of(simulate, {"--collective", "all-reduce", "--hosts", "16"}, "algorithms");
  EXPECT_EQ(document["sizes"][0]["quickest"], "recursive-doubling");
}

TEST(SimulateCollective, PacketsSetTheirTimesBesideTheFluidModels) {
  const Arguments words{"--collective", "all-to-all", "--hosts", "16", "--bytes", "4MB", "--packets"};
  EXPECT_THAT(simulate(words).out, HasSubstr("  again  dropped"));
  const auto strategies = document_of(simulate, words, "completion")["strategies"];
  for (const auto& one : strategies) {
    EXPECT_NE(one["name"], "round-robin spray");
    EXPECT_GT(one["seconds"].get<double>(), one["packets"]["fluid_seconds"].get<double>());
  }
  const auto ours = strategies.back();
  EXPECT_LT(ours["seconds"].get<double>(), 1.08 * ours["packets"]["fluid_seconds"].get<double>());
  EXPECT_EQ(ours["packets"]["dropped"], 0);
}

TEST(SimulateCollective, MorePacketsThanCanBeCountedOutAreRefused) {
  for (const Arguments& words :
       {Arguments{"--collective", "all-to-all", "--hosts", "16", "--bytes", "100GB", "--packets"},
        Arguments{"--collective", "all-reduce", "--hosts", "16", "--packets"}}) {
    const auto outcome = simulate(words);
    EXPECT_EQ(outcome.status, 64) << outcome.out;
    EXPECT_THAT(outcome.err, HasSubstr("--packets"));
  }
}

TEST(Balance, AnAllToAllIsToldTheOrderOfItsFlows) {
  const Arguments words{"--collective", "all-to-all", "--hosts", "16"};
  EXPECT_THAT(balance(words).out, HasSubstr("15 turns"));
  std::map<std::pair<int, std::string>, int> received;
  const auto document = assigned(words);
  for (const auto& qp : document["assignments"]) ++received[{qp["turn"], qp["dst"]}];
  EXPECT_EQ(received.size(), 15u * 16u);
  for (const auto& [turn_and_host, flows] : received) EXPECT_EQ(flows, 1);
}

}  // namespace
}  // namespace weft::cli
