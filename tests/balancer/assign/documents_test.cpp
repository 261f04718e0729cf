// Assignments as documents: their shape, what adds up, what reads back; and what to avoid.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "balancer/assign/assignment_json.hpp"
#include "balancer/assign/assignment_reader.hpp"
#include "balancer/assign/avoid.hpp"
#include "balancer/demand/collectives.hpp"
#include "tests/support/schema.hpp"
#include "tests/support/traffic.hpp"
#include "topology/model/clos.hpp"

namespace weft::assign {
namespace {

using testing::HasSubstr;
using json = nlohmann::json;

const files::DocumentStamp kStamp{*parse_utc("2026-01-31T12:00:00Z"), "0.1.0"};

Fabric four_by_four() { return *make_clos({.leaves = 4, .spines = 4, .hosts_per_leaf = 4}); }

struct Labelled {
  Fabric fabric = four_by_four();
  demand::Demand demand =
      make_hierarchical(fabric, fabric.hosts(), demand::Collective::recursive_doubling, Bytes(1'000'003));
  Assignment assignment;
  std::string text;

  Labelled() {
    std::vector<PathMap> maps;
    for (const demand::Phase& phase : demand.phases) {
      maps.push_back(probed_path_map(fabric, phase, 16, true, 1));
      AssignOptions options{.qps = 3, .paths = &maps.back(), .reverse = true};
      assignment.phases.push_back(assign(fabric, phase, options));
    }
    assignment.reference = Bandwidth::gbit(400);
    text = assignment_json(fabric, demand, assignment, {{"line 7: a -> b", "no such host"}}, kStamp,
                           {.draws = 200, .mean = 2e6, .low = 1e6, .high = 3e6});
  }
};

TEST(AssignmentDocument, MeetsItsSchemaAndItsBytesAddUp) {
  const Labelled made;
  expect_matches_schema(made.text, "assignment");
  const auto document = json::parse(made.text);
  std::int64_t bytes = 0;
  for (const auto& qp : document["assignments"]) bytes += qp["bytes"].get<std::int64_t>();
  std::int64_t wanted = 0;
  for (const demand::Phase& phase : made.demand.phases)
    for (const demand::Flow& flow : phase.flows) wanted += flow.bytes.count();
  EXPECT_EQ(bytes, wanted);
  EXPECT_EQ(document["unassigned"][0]["flow"], "line 7: a -> b");
  EXPECT_EQ(document["ratio"], 1.0);
  EXPECT_EQ(document["phases"].size(), 4u);
  EXPECT_EQ(document["phases"][3]["reverse_ratio"], 1.0);
}

TEST(AssignmentDocument, ReadsBackAsWhatAChangeStartsFrom) {
  const Labelled made;
  const auto before = parse_assignment(made.fabric, made.text, "a.json");
  ASSERT_TRUE(before) << before.error().message;
  ASSERT_EQ(before->size(), made.demand.phases.size());
  const auto again = reassign(made.fabric, made.demand, {.qps = 3}, *before);
  for (std::size_t p = 0; p < again.phases.size(); ++p) {
    EXPECT_EQ(again.phases[p].moves, 0u);
    const auto written = kept(made.demand.phases[p], made.assignment.phases[p]);
    for (std::size_t i = 0; i < written.size(); ++i) {
      EXPECT_EQ((*before)[p][i].label, written[i].label);
      EXPECT_EQ((*before)[p][i].reverse->route, written[i].reverse->route);
    }
  }
}

TEST(AssignmentDocument, WhatDoesNotFitTheFabricIsRefusedWithItsPlace) {
  const auto fabric = four_by_four();
  const auto refusal = [&](const std::string& qp) {
    return parse_assignment(fabric, "{\"schema\":\"weft.assignment/1\",\"assignments\":[" + qp + "]}",
                            "a.json")
        .error()
        .message;
  };
  EXPECT_THAT(refusal("{\"src\":\"host99\"}"),
              HasSubstr("a.json: assignments[0].src: fabric clos has no node"));
  EXPECT_THAT(refusal("{\"src\":\"host1\",\"dst\":\"host5\",\"qp\":5000,\"path\":[]}"), HasSubstr("QP 5000"));
  EXPECT_THAT(refusal("{\"src\":\"host1\",\"dst\":\"host5\",\"qp\":0,\"path\":[\"host1->leaf1\"]}"),
              HasSubstr("does not lead from host1 to host5"));
}

TEST(Avoid, ABlacklistedLinkIsAvoidedBothWaysUntilItsEntryExpires) {
  const auto fabric = four_by_four();
  blacklist::BlacklistEntry entry{
      .id = "clos:x", .fabric = "clos", .expires = *parse_utc("2026-02-01T00:00:00Z")};
  entry.link = files::refer_to(fabric, *fabric.find_link("leaf1--spine2"));
  blacklist::BlacklistEntry foreign = entry;
  foreign.fabric = "another";
  blacklist::BlacklistEntry gone = entry;
  gone.link.name = "leaf1--spine99";
  const std::vector entries{entry, foreign, gone};
  const auto avoided = avoided_by(fabric, entries, *parse_utc("2026-01-31T00:00:00Z"));
  ASSERT_EQ(avoided.channels.size(), 2u);
  EXPECT_EQ(fabric.name_of(avoided.channels[0].channel), "leaf1->spine2");
  ASSERT_EQ(avoided.unknown.size(), 1u);
  EXPECT_THAT(avoided.unknown[0], HasSubstr("spine99"));
  EXPECT_TRUE(avoided_by(fabric, entries, *parse_utc("2026-03-01T00:00:00Z")).channels.empty());
}

TEST(Avoid, ADiagnosisTakesAwayWhatItMeasured) {
  const auto fabric = four_by_four();
  const auto channel = *fabric.find_channel("leaf1->spine2");
  Diagnosis diagnosis;
  diagnosis.links.push_back({.link = Fabric::link_of(channel),
                             .channel = channel,
                             .verdict = Verdict::degraded,
                             .cause = Cause::rate,
                             .estimate = Estimate{0.25, 0.2, 0.3}});
  EXPECT_EQ(avoided_by(diagnosis), (std::vector<Avoided>{{channel, 0.25}}));
  diagnosis.links[0] = {.link = Fabric::link_of(channel), .verdict = Verdict::failed, .cause = Cause::down};
  EXPECT_EQ(avoided_by(diagnosis).size(), 2u);
  EXPECT_EQ(avoided_by(diagnosis)[0].share, 0.0);
  diagnosis.links[0] = {.link = Fabric::link_of(channel),
                        .channel = channel,
                        .verdict = Verdict::degraded,
                        .cause = Cause::delay};
  EXPECT_EQ(avoided_by(diagnosis), (std::vector<Avoided>{{channel, 0.5}}));
  diagnosis.links[0].verdict = Verdict::unknown;
  EXPECT_TRUE(avoided_by(diagnosis).empty());
}

}  // namespace
}  // namespace weft::assign
