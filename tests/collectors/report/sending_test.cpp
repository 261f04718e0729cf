#include "collectors/report/sending.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "topology/model/clos.hpp"

namespace weft::report {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class SendingOfASweep : public testing::Test {
 protected:
  plan::StageSending stage(std::string name, std::string_view fullest, double share) const {
    return {.stage = std::move(name),
            .time = 2s,
            .packets = 100,
            .bytes = 12'800,
            .nic = Bandwidth::gbit(1),
            .node = Bandwidth::gbit(2),
            .share = share,
            .fullest = *fabric_.find_channel(fullest)};
  }
  plan::StageSending pings(double share) const {
    auto pings = stage("probing", "leaf1->spine1", share);
    pings.size = Bytes(128);
    return pings;
  }
  std::vector<std::string> noticed(std::vector<plan::StageSending> stages) const {
    return noticed_by_jobs(fabric_, {.stages = std::move(stages)});
  }

  Fabric fabric_ = *make_clos({.leaves = 2, .spines = 2, .hosts_per_leaf = 2});
};

TEST_F(SendingOfASweep, AJobNoticesTheFullestChannelOfProbesAndWhichStageFillsIt) {
  EXPECT_THAT(noticed({pings(0.01), pings(0.002)}),
              ElementsAre(AllOf(HasSubstr("1.00 % of any channel"), HasSubstr("leaf1->spine1"),
                                HasSubstr("while probing"))));
}

TEST_F(SendingOfASweep, LessThanCanBeShownIsNotNothing) {
  EXPECT_THAT(noticed({pings(0.00001)}), ElementsAre(HasSubstr("<.01 %")));
}

TEST_F(SendingOfASweep, LoadIsToldApartFromProbesWithItsTimeAndHowToSendNone) {
  EXPECT_THAT(
      noticed({pings(0.01), stage("loading", "leaf2->spine2", 0.9)}),
      ElementsAre(HasSubstr("probes take"), AllOf(HasSubstr("90 % of channels"), HasSubstr("leaf2->spine2"),
                                                  HasSubstr("2.0 s"), HasSubstr("--load none"))));
}

TEST_F(SendingOfASweep, LargeProbesThatFillAChannelAreStillProbes) {
  EXPECT_THAT(noticed({pings(0.2)}), ElementsAre(HasSubstr("probes take at most 20.00 %")));
}

TEST_F(SendingOfASweep, AnswersToTracesAreToldOfTheSwitchThatIsAskedMost) {
  auto some = pings(0.01), more = pings(0.01);
  some.answers_per_second = 50;
  more.answers_per_second = 100;
  EXPECT_THAT(noticed({some, more}), ElementsAre(HasSubstr("probes"), HasSubstr("more than 100 answers")));
  EXPECT_THAT(noticed({}), IsEmpty());
}

DryRun run_of(plan::SendingPlan plan) {
  return {.hosts = 4,
          .plan = std::move(plan),
          .agents = "started by ssh on all of the hosts, and dialling back to this machine at any free port",
          .engine = "raw",
          .marking = "traffic class 0"};
}

TEST_F(SendingOfASweep, TheTableHasARowForEachStageAndNoLineWiderThanItsColumns) {
  auto huge = pings(1);
  huge.packets = 1'000'000'000;
  huge.nic = Bandwidth::gbit(399.5);
  huge.node = Bandwidth::gbit(51'200);
  const auto table =
      sending_table(fabric_, run_of({.stages = {huge, stage("loading", "leaf2->spine2", 0.9)}}), 80);
  EXPECT_THAT(table, HasSubstr("nothing was sent"));
  EXPECT_THAT(table, AllOf(HasSubstr("\nprobing "), HasSubstr("\nloading ")));
  EXPECT_THAT(table, HasSubstr("51.2 Tbit/s"));
  std::istringstream lines(table);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80u) << line;
}

TEST_F(SendingOfASweep, TheDocumentHasTheSameFiguresInPlainUnits) {
  plan::SendingPlan plan{.stages = {pings(0.01), stage("loading", "leaf2->spine2", 0.9)}};
  plan.nics[*fabric_.find_nic("host1")] = {100, 12'800, Bandwidth::gbit(1)};
  plan.switches[*fabric_.find_node("spine1")] = {Bandwidth::gbit(2), 50};
  const auto json = nlohmann::json::parse(sending_json(fabric_, run_of(plan), {{}, "1.0"}));
  EXPECT_EQ(json.at("schema"), "weft.dryrun/1");
  EXPECT_EQ(json.at("seconds"), 4.0);
  EXPECT_EQ(json.at("stages").at(0).at("size_bytes"), 128);
  EXPECT_EQ(json.at("stages").at(0).at("nic_bits_per_second"), 1e9);
  EXPECT_FALSE(json.at("stages").at(1).contains("size_bytes"));
  EXPECT_EQ(json.at("stages").at(1).at("channel"), "leaf2->spine2");
  EXPECT_EQ(json.at("nics").at(0).at("nic"), "host1");
  EXPECT_EQ(json.at("switches").at(0).at("answers_per_second"), 50.0);
  EXPECT_EQ(json.at("noticed").size(), 2u);
}

}  // namespace
}  // namespace weft::report
