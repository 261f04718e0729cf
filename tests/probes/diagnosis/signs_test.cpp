// Further evidence: link state and counters beside the probes, hosts known to be broken.
#include <gtest/gtest.h>

#include "made_up_run.hpp"
#include "topology/model/fabric.hpp"

namespace weft::diagnosis {
namespace {

TEST(Signs, AChannelThatNoPathTakesThoughAllItsSiblingsAreTakenIsDown) {
  MadeUpRun run(1);
  run.probe(500, 20);
  run.seen.channels.push_back({.channel = run.channel("leaf1->spine2"),
                               .cause = Cause::down,
                               .log_ratio = 40,
                               .text = "none of 557 labels took it"});
  const Diagnosis diagnosis = run.diagnosed();
  ASSERT_EQ(diagnosis.links.size(), 1u);
  EXPECT_EQ(diagnosis.links[0].channel, run.channel("leaf1->spine2"));
  EXPECT_EQ(diagnosis.links[0].cause, Cause::down);
  EXPECT_EQ(diagnosis.links[0].verdict, Verdict::failed);
  EXPECT_EQ(diagnosis.links[0].evidence[0], "none of 557 labels took it");
}

TEST(Signs, WhatSpeaksAgainstACauseIsNoEvidenceOfIt) {
  MadeUpRun run(1);
  run.probe(500, 20);
  const auto channel = run.channel("leaf1->spine2");
  run.seen.channels.push_back({channel, Cause::down, 50, "its cable leads elsewhere"});
  run.seen.channels.push_back({channel, Cause::down, -1, "2 of 90 answers to traces came over it"});
  const Diagnosis diagnosis = run.diagnosed();
  ASSERT_EQ(diagnosis.links.size(), 1u);
  EXPECT_EQ(diagnosis.links[0].evidence, std::vector<std::string>{"its cable leads elsewhere"});
}

TEST(Signs, AWeakSignAloneNamesNothing) {
  MadeUpRun run(2);
  run.probe(500, 20);
  run.seen.channels.push_back(
      {.channel = run.channel("leaf1->spine2"), .cause = Cause::counter, .log_ratio = 2, .text = "3 errors"});
  EXPECT_TRUE(run.diagnosed().links.empty());
}

TEST(Signs, ACounterTipsTheScalesForALossThatProbesAloneLeaveOpen) {
  MadeUpRun run(3);
  run.fault("leaf2->spine1").loss = 0.0006;
  run.background = 2e-5;
  run.probe(1200, 100);
  const double before = run.confidence_of("leaf2->spine1");
  run.seen.channels.push_back(
      {.channel = run.channel("leaf2->spine1"), .cause = Cause::loss, .log_ratio = 8, .text = "CRC errors"});
  EXPECT_GT(run.confidence_of("leaf2->spine1"), std::max(before, 0.9));
}

TEST(Signs, ADeadAgentIsAHostFindingAndItsLostProbesBelongToIt) {
  MadeUpRun run(4);
  run.fault("leaf2->host5").loss = 1.0;
  run.fault("host5->leaf2").loss = 1.0;
  run.probe(1000, 20);
  run.seen.hosts.push_back({.host = *run.fabric.find_node("host5"), .text = "its agent stopped answering"});
  const Diagnosis diagnosis = run.diagnosed();
  EXPECT_TRUE(diagnosis.links.empty());
  ASSERT_EQ(diagnosis.hosts.size(), 1u);
  EXPECT_EQ(diagnosis.hosts[0].verdict, Verdict::failed);
  EXPECT_EQ(diagnosis.hosts[0].evidence[0], "its agent stopped answering");
}

TEST(Coverage, NamesTheChannelsThatNothingCrossed) {
  MadeUpRun run(5);
  const auto path = run.path(0, 4, 1);
  run.seen.probes.push_back({.path = run.seen.paths.only(run.seen.paths.intern(path)), .sent = 200});
  const Coverage coverage = run.diagnosed().coverage;
  EXPECT_EQ(coverage.channels, run.fabric.channel_count());
  EXPECT_EQ(coverage.probed, 4u);
  EXPECT_EQ(coverage.paths, 1u);
  EXPECT_EQ(coverage.missing.size(), run.fabric.channel_count() - 4);
}

}  // namespace
}  // namespace weft::diagnosis
