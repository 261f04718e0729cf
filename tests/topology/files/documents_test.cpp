// Every document that weft writes: its shape against docs/schema, and what reads it back.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/support/schema.hpp"
#include "topology/files/diagnosis_document.hpp"
#include "topology/files/fabric_json.hpp"
#include "topology/files/observation_json.hpp"
#include "topology/files/path_map_json.hpp"
#include "topology/files/routing_json.hpp"
#include "topology/model/clos.hpp"
#include "topology/model/fabric_builder.hpp"

namespace weft::files {
namespace {

using testing::HasSubstr;
using json = nlohmann::json;

DocumentStamp stamp() { return {*parse_utc("2026-01-31T12:00:00Z"), "0.1.0"}; }

Fabric two_by_two() {
  return *make_clos({.name = "café \"x\"", .leaves = 2, .spines = 2, .hosts_per_leaf = 1});
}

std::vector<ChannelId> channels(const Fabric& fabric, std::initializer_list<const char*> names) {
  std::vector<ChannelId> ids;
  for (const auto* name : names) ids.push_back(*fabric.find_channel(name));
  return ids;
}

Diagnosis everything(const Fabric& fabric) {
  const auto bad = *fabric.find_channel("leaf1->spine2");
  const auto host = *fabric.find_node("host1");
  Diagnosis diagnosis{.verdict = Verdict::failed};
  diagnosis.links.push_back({.link = Fabric::link_of(bad),
                             .channel = bad,
                             .verdict = Verdict::degraded,
                             .cause = Cause::loss,
                             .estimate = Estimate{0.005, 0.004, 0.0061},
                             .confidence = 0.999,
                             .evidence = {"38 of 4,096 lost; the other paths 2 of 131,072"}});
  diagnosis.links.push_back({.link = *fabric.find_link("leaf2--spine1"),
                             .verdict = Verdict::failed,
                             .cause = Cause::down,
                             .confidence = 1});
  diagnosis.hosts.push_back({.host = host,
                             .nic = fabric.ports_of(host).front(),
                             .verdict = Verdict::failed,
                             .cause = Cause::loss,
                             .evidence = {"\xff no UTF-8"},
                             .intermittent = Intermittence{2.0, 0.125}});
  diagnosis.hosts.push_back({.host = host, .verdict = Verdict::failed, .evidence = {"its agent died"}});
  diagnosis.groups.push_back({.nodes = {*fabric.find_node("spine2")}, .channels = {bad}, .confidence = 0.5});
  diagnosis.ambiguous.push_back(channels(fabric, {"host1->leaf1", "leaf1->host1"}));
  const auto both_ways = channels(fabric, {"leaf2->spine1", "spine1->leaf2"});
  diagnosis.sets.push_back(
      {.cause = Cause::loss, .verdict = Verdict::degraded, .alternatives = {{bad}, both_ways}});
  diagnosis.sets.push_back({.alternatives = {{bad}, both_ways}, .confidence = 0.5, .more = true});
  diagnosis.coverage = {.channels = 12,
                        .probed = 10,
                        .paths = 44,
                        .missing = {bad},
                        .unloaded = {bad},
                        .rate_untested = {bad},
                        .masked = {bad},
                        .complete = false};
  diagnosis.coverage.out_of_scope = 4;
  diagnosis.coverage.out_of_scope_told_by = "tables and counters";
  diagnosis.coverage.in_scope = {bad};
  diagnosis.coverage.not_tested = {{host, std::nullopt, "its agent did not come"},
                                   {host, fabric.ports_of(host).front(), "needs CAP_NET_RAW"}};
  diagnosis.coverage.cut_short = "the bus is lost";
  return diagnosis;
}

DiagnosisDocument document_of_everything(const Fabric& fabric) {
  const RunReport run{
      .sent = 1000,
      .lost = 3,
      .timings = {{"plan", std::chrono::milliseconds(1500)}},
      .nics = {
          {"host1", "mlx5_0 port 1",
           CounterReport{"mlx5_0",
                         1,
                         std::chrono::seconds(3),
                         {{"a_b", 2}},
                         std::chrono::seconds(1),
                         {{"rx_prio3_pause_duration", 7}}}},
          {"host2", std::nullopt, std::nullopt,
           DelayReport{RttQuantiles{std::chrono::microseconds(5), std::chrono::microseconds(9)}, std::nullopt,
                       RttQuantiles{std::chrono::microseconds(50), std::chrono::microseconds(90)}, true}}}};
  return diagnosis_document(fabric, everything(fabric), run, stamp());
}

TEST(FabricJson, HasTheContractsShape) {
  const auto text = fabric_json(two_by_two(), stamp());
  expect_matches_schema(text, "fabric");
  const auto document = json::parse(text);
  EXPECT_EQ(document["schema"], "weft.fabric/1");
  EXPECT_EQ(document["generated_at"], "2026-01-31T12:00:00Z");
  EXPECT_EQ(document["fabric"], "café \"x\"");
  EXPECT_EQ(document["nodes"].size(), 6u);
  EXPECT_EQ(document["links"][0], json::parse(R"({"name":"host1--leaf1","a":{"node":"host1","port":1},
      "b":{"node":"leaf1","port":1},"rate":400000000000.0})"));
}

TEST(FabricJson, APortSaysWhatItsSwitchCallsIt) {
  FabricBuilder builder("named", FabricKind::roce);
  const auto host = *builder.add_node({.name = "h", .kind = NodeKind::host, .tier = Tier::host});
  const auto leaf = *builder.add_node({.name = "leaf1"});
  const auto link = builder.connect(host, leaf, Bandwidth::gbit(400));
  const auto port = *builder.find_port(leaf, PortNumber(1));
  ASSERT_TRUE(builder.name_port(port, "Ethernet1/6"));
  const Fabric fabric = std::move(builder).build();
  const auto text = fabric_json(fabric, stamp());
  expect_matches_schema(text, "fabric");
  EXPECT_THAT(text, HasSubstr("{\"node\":\"leaf1\",\"port\":1,\"port_name\":\"Ethernet1/6\"}"));

  Diagnosis diagnosis{.verdict = Verdict::failed};
  diagnosis.links.push_back(
      {.link = link, .verdict = Verdict::failed, .cause = Cause::down, .confidence = 1});
  const auto document = diagnosis_json(diagnosis_document(fabric, diagnosis, {}, stamp()));
  expect_matches_schema(document, "diagnosis");
  const auto back = parse_diagnosis(document, "d.json");
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(back->links[0].ends->b.port_name, "Ethernet1/6");
}

TEST(FabricJson, SpeaksOfPodsPlanesAndGuids) {
  expect_matches_schema(
      fabric_json(*make_pod_clos({.pods = 2, .leaves = 1, .spines = 2, .cores = 2, .hosts_per_leaf = 1}),
                  stamp()),
      "fabric");
  FabricBuilder builder("x", FabricKind::infiniband);
  ASSERT_TRUE(builder.add_node({.name = "S-1", .guid = Guid(0xab)}));
  const auto text = fabric_json(std::move(builder).build(), stamp());
  expect_matches_schema(text, "fabric");
  EXPECT_THAT(text, HasSubstr("\"guid\":\"0x00000000000000ab\""));
}

TEST(DiagnosisJson, HasTheContractsShape) {
  const auto fabric = two_by_two();
  const auto text = diagnosis_json(document_of_everything(fabric));
  expect_matches_schema(text, "diagnosis");
  const auto document = json::parse(text);
  EXPECT_EQ(document["verdict"], "failed");
  EXPECT_EQ(document["links"][0]["link"], "leaf1--spine2");
  EXPECT_EQ(document["links"][0]["from"], "leaf1");
  EXPECT_EQ(document["links"][0]["class"], "switch-switch");
  EXPECT_FALSE(document["links"][1].contains("from")) << "both directions are at fault";
  EXPECT_EQ(document["hosts"][0]["nic"], "host1");
  EXPECT_EQ(document["hosts"][0]["class"], "host-leaf");
  EXPECT_EQ(document["hosts"][0]["intermittent"]["duration_s"], 0.125);
  EXPECT_EQ(document["sets"][0]["alternatives"][1], json({"leaf2->spine1", "spine1->leaf2"}));
  EXPECT_FALSE(document["sets"][0].contains("more"));
  EXPECT_EQ(document["sets"][1]["more"], true);
  EXPECT_EQ(document["coverage"]["missing"][0], "leaf1->spine2");
  EXPECT_EQ(document["coverage"]["unloaded"][0], "leaf1->spine2");
  EXPECT_EQ(document["coverage"]["rate_untested"][0], "leaf1->spine2");
  EXPECT_EQ(document["coverage"]["masked"], json({"leaf1->spine2"}));
  EXPECT_EQ(document["coverage"]["out_of_scope"], 4);
  EXPECT_EQ(document["coverage"]["out_of_scope_told_by"], "tables and counters");
  EXPECT_EQ(document["coverage"]["in_scope"], json({"leaf1->spine2"}));
  EXPECT_EQ(document["coverage"]["not_tested"][0],
            json({{"host", "host1"}, {"why", "its agent did not come"}}));
  EXPECT_EQ(document["coverage"]["not_tested"][1]["nic"], "host1");
  EXPECT_EQ(document["coverage"]["cut_short"], "the bus is lost");
  EXPECT_EQ(document["timings"]["plan"], 1.5);
  EXPECT_EQ(document["nics"][0], json::parse(R"({"nic":"host1","uses":"mlx5_0 port 1",
      "counters":{"device":"mlx5_0","port":1,"seconds":3.0,"grew":{"a_b":2},
      "load":{"seconds":1.0,"paused":{"rx_prio3_pause_duration":7}}}})"));
}

TEST(DiagnosisJson, SaysWhatTheLoadMovedWithHistogramsThatMerge) {
  const auto fabric = two_by_two();
  PathTable paths;
  FlowResults results{.pattern = LoadPattern::incast};
  FlowResult flow{.src = *fabric.find_nic("host1"), .dst = *fabric.find_nic("host2")};
  flow.path = paths.only(paths.intern(channels(fabric, {"host1->leaf1", "leaf1->spine1"})));
  flow.wanted = Bandwidth::mbit(10);
  flow.delivered = Bandwidth::mbit(4);
  flow.qps.push_back({.label = PathLabel(50'000), .error = "it ended"});
  flow.qps[0].latency.add(std::chrono::microseconds(100));
  results.flows.push_back(flow);
  auto document = document_of_everything(fabric);
  document.flows = flows_report(fabric, paths, results);
  const auto text = diagnosis_json(document);
  expect_matches_schema(text, "diagnosis");
  const auto flows = json::parse(text)["flows"];
  EXPECT_EQ(flows["pattern"], "incast");
  EXPECT_EQ(flows["flows"][0]["path"][0], "host1->leaf1");
  EXPECT_EQ(flows["flows"][0]["qps"][0]["latency_us"]["count"], 1);
  EXPECT_NEAR(flows["latency_us"]["p99"].get<double>(), 100, 7);
  EXPECT_EQ(flows["receivers"][0]["slowest"], "host1");
  EXPECT_NEAR(flows["receivers"][0]["slowest_share"].get<double>(), 0.4, 1e-9);
}

TEST(DiagnosisJson, SaysWhatRoundTripsTakeBesideTheLoadAndWhereTheyWait) {
  const auto fabric = two_by_two();
  PathTable paths;
  LoadedTrip trip{.round = 2,
                  .pair = {*fabric.find_nic("host1"), *fabric.find_nic("host2"), PathLabel(50'000)},
                  .back_label = PathLabel(50'001),
                  .path = paths.only(paths.intern(channels(fabric, {"host1->leaf1", "leaf1->spine1"}))),
                  .size = Bytes(128),
                  .sent = 16,
                  .answered = 9};
  trip.loaded = RttQuantiles{std::chrono::microseconds(50), std::chrono::microseconds(70)};
  const ChannelQueue queue{channels(fabric, {"leaf1->spine1"}), std::chrono::microseconds(40),
                           Nanoseconds(500), 1};
  auto document = document_of_everything(fabric);
  document.queueing = queueing_report(fabric, paths, {&trip, 1}, {&queue, 1});
  const auto text = diagnosis_json(document);
  expect_matches_schema(text, "diagnosis");
  const auto queueing = json::parse(text)["queueing"];
  EXPECT_EQ(queueing["trips"][0]["path"], json({"host1->leaf1", "leaf1->spine1"}));
  EXPECT_EQ(queueing["trips"][0]["back"], json::array()) << "not known";
  EXPECT_EQ(queueing["trips"][0]["rtt_us"]["p99"], 70);
  EXPECT_FALSE(queueing["trips"][0].contains("idle_us"));
  EXPECT_EQ(queueing["channels"][0]["channels"], json({"leaf1->spine1"}));
  EXPECT_EQ(queueing["channels"][0]["wait_us"], 40);
  EXPECT_TRUE(parse_diagnosis(text, "d.json"));
}

TEST(DiagnosisJson, OfMoreTripsThanADocumentHoldsTheFirstAreToldAndTheRestCounted) {
  const auto fabric = two_by_two();
  PathTable paths;
  const LoadedTrip trip{.pair = {*fabric.find_nic("host1"), *fabric.find_nic("host2"), PathLabel(1)},
                        .path = paths.only(paths.intern(channels(fabric, {"host1->leaf1"})))};
  const std::vector<LoadedTrip> all(5'003, trip);
  const auto report = queueing_report(fabric, paths, all, {});
  EXPECT_EQ(report.trips.size(), 5'000U);
  EXPECT_EQ(report.left_out, 3U);
}

TEST(DiagnosisJson, AnEmptyDiagnosisIsADocumentToo) {
  expect_matches_schema(diagnosis_json(diagnosis_document(two_by_two(), {}, {}, stamp())), "diagnosis");
}

TEST(DiagnosisJson, WhatIsWrittenReadsBackTheSame) {
  const auto fabric = two_by_two();
  const auto text = diagnosis_json(document_of_everything(fabric));
  const auto again = parse_diagnosis(text, "d.json");
  ASSERT_TRUE(again) << again.error().message;
  auto written = *again;
  const auto run = document_of_everything(fabric).run;
  EXPECT_EQ(written.run.timings, run.timings) << "they tell when packets were sent";
  written.run.nics = run.nics;  // for people: not read back
  EXPECT_EQ(diagnosis_json(written), text);
  EXPECT_EQ(again->links[0].ends->a.node, "leaf1");
}

TEST(DiagnosisJson, AMalformedDocumentIsRefusedWithThePlaceAndWhatWasExpected) {
  const auto refusal = [](std::string_view text) { return parse_diagnosis(text, "d.json").error().message; };
  EXPECT_THAT(refusal("{"), HasSubstr("d.json: not JSON: parse error at line 1, column 2"));
  EXPECT_EQ(refusal("[]"), "d.json: expected an object, found array");
  EXPECT_EQ(refusal("{\"schema\":\"weft.fabric/1\"}"),
            "d.json: schema: expected 'weft.diagnosis/1', found 'weft.fabric/1'");
  auto document = json::parse(diagnosis_json(document_of_everything(two_by_two())));
  document["links"][1]["verdict"] = "bad";
  EXPECT_EQ(
      refusal(document.dump()),
      "d.json: links[1].verdict: expected healthy, unknown, congested, degraded or failed, found 'bad'");
  document["links"][1] = 4;
  EXPECT_EQ(refusal(document.dump()), "d.json: links[1]: expected an object, found number");
  document["links"] = json::array();
  document["hosts"][0]["a"]["port"] = 70000;
  EXPECT_EQ(refusal(document.dump()), "d.json: hosts[0].a.port: expected a whole number from 0 to 65535");
  document["hosts"] = json::array();
  document["timings"] = {{"probe", -1}};
  EXPECT_EQ(refusal(document.dump()), "d.json: timings: probe: expected seconds from 0 to 1000000000");
  document["timings"] = {1};
  EXPECT_EQ(refusal(document.dump()), "d.json: timings: expected seconds by stage");
  document.erase("coverage");
  document["timings"] = json::object();
  EXPECT_EQ(refusal(document.dump()), "d.json: 'coverage' is missing");
}

PathMap two_paths(const Fabric& fabric) {
  PathMap map;
  const auto by_first = channels(fabric, {"host1->leaf1", "leaf1->spine1", "spine1->leaf2", "leaf2->host2"});
  const auto by_second = channels(fabric, {"host1->leaf1", "leaf1->spine2", "spine2->leaf2", "leaf2->host2"});
  map.pairs.push_back({.src = *fabric.find_nic("host1"),
                       .dst = *fabric.find_nic("host2"),
                       .paths = {{map.table.intern(by_first), {PathLabel(49152), PathLabel(49155)}},
                                 {map.table.intern(by_second), {PathLabel(49153)}}}});
  return map;
}

TEST(PathMapJson, WhatSwitchesHashIsWrittenAndReadBackTheSame) {
  const auto fabric = two_by_two();
  const FieldFindings fields{
      .src = *fabric.find_nic("host1"),
      .dst = *fabric.find_nic("host2"),
      .repeats = 32,
      .fields = {{PacketField::source_port, MovesPath::yes, 64, 31, {*fabric.find_node("leaf1")}},
                 {PacketField::queue_pair, MovesPath::unknown, 3, 0}}};
  const auto text = path_map_json(fabric, two_paths(fabric), stamp(), nullptr, &fields);
  expect_matches_schema(text, "pathmap");
  const auto again = parse_path_map_document(fabric, text, "p.json");
  ASSERT_TRUE(again) << again.error().message;
  ASSERT_TRUE(again->fields);
  EXPECT_EQ(again->fields->fields, fields.fields);
  EXPECT_EQ(path_map_json(fabric, again->map, stamp(), nullptr, &*again->fields), text);
  auto document = json::parse(text);
  document["fields"]["tried"][0]["moved"] = 65;
  EXPECT_EQ(parse_path_map(fabric, document.dump(), "p.json").error().message,
            "p.json: fields.tried[0]: 65 of 64 values moved the path");
  document["fields"]["tried"][0]["field"] = "colour";
  EXPECT_THAT(parse_path_map(fabric, document.dump(), "p.json").error().message, HasSubstr("found 'colour'"));
}

TEST(PathMapJson, WhatIsWrittenMeetsTheSchemaAndReadsBackTheSame) {
  const auto fabric = two_by_two();
  const auto text = path_map_json(fabric, two_paths(fabric), stamp());
  expect_matches_schema(text, "pathmap");
  const auto again = parse_path_map(fabric, text, "p.json");
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(path_map_json(fabric, *again, stamp()), text);
}

TEST(PathMapJson, AMapThatContradictsTheFabricIsRefused) {
  const auto fabric = two_by_two();
  const auto good = json::parse(path_map_json(fabric, two_paths(fabric), stamp()));
  const auto refusal = [&](const json& document) {
    const auto map = parse_path_map(fabric, document.dump(), "p.json");
    return map ? "accepted" : map.error().message;
  };
  EXPECT_EQ(refusal(good), "accepted");
  auto bad = good;
  bad["pairs"][0]["paths"][1]["path"][1] = "leaf1->spine9";
  EXPECT_THAT(refusal(bad), HasSubstr("p.json: pairs[0].paths[1].path[1]: "));
  bad = good;
  bad["pairs"][0]["paths"][1]["path"].erase(1);
  EXPECT_THAT(refusal(bad), HasSubstr("does not lead from host1 to host2"));
  bad = good;
  bad["pairs"].push_back(bad["pairs"][0]);
  EXPECT_THAT(refusal(bad), HasSubstr("pairs[1]: the pair host1 to host2 stands twice"));
  bad = good;
  bad["pairs"][0]["paths"][0]["labels"][0] = -1;
  EXPECT_THAT(refusal(bad), HasSubstr("labels[0]: expected a whole number from 0 to 4294967295"));
  bad = good;
  bad["pairs"][0]["paths"][0]["labels"] = {5, 5};
  EXPECT_THAT(refusal(bad), HasSubstr("a label stands twice"));
  bad = good;
  bad["pairs"][0]["src"] = "leaf1";
  EXPECT_THAT(refusal(bad), HasSubstr("pairs[0].src: 'leaf1' is a switch"));
}

TEST(ObservationLines, EveryKindOfLineMeetsTheSchema) {
  const auto fabric = two_by_two();
  Observations seen;
  const auto there = channels(fabric, {"host1->leaf1", "leaf1->spine1", "spine1->leaf2", "leaf2->host2"});
  const auto other = channels(fabric, {"host1->leaf1", "leaf1->spine2", "spine2->leaf2", "leaf2->host2"});
  const std::vector both{seen.paths.intern(there), seen.paths.intern(other)};
  const auto one = seen.paths.only(both[0]);
  const auto set = seen.paths.intern_set(both);
  const RttQuantiles rtt{std::chrono::microseconds(12), std::chrono::nanoseconds(40'500)};
  seen.probes.push_back({.path = one, .sent = 100, .lost = 3, .size = Bytes(128), .rtt = rtt, .corrupt = 1});
  const TimeWindow window{std::chrono::seconds(2), std::chrono::milliseconds(500)};
  seen.probes.push_back({.path = set,
                         .back = set,
                         .sent = 7,
                         .lost = 3,
                         .excused = 1,
                         .window = window,
                         .runs = {{0, 2}, {5, 1}}});
  seen.loads.push_back(
      {.path = one, .round = 2, .wanted = Bandwidth::mbit(50), .sender_stalled = true, .window = window});
  seen.channels.push_back(
      {.channel = there[1], .log_ratio = std::numeric_limits<double>::infinity(), .text = "\n"});
  const auto host = *fabric.find_node("host1");
  seen.hosts.push_back(
      {.host = host, .nic = fabric.nics()[0], .cause = Cause::down, .text = "its agent died"});
  std::istringstream lines(observation_lines(fabric, seen));
  std::vector<json> documents;
  for (std::string line; std::getline(lines, line); documents.push_back(json::parse(line)))
    expect_matches_schema(line, "observation");
  ASSERT_EQ(documents.size(), 5u);
  EXPECT_EQ(documents[0],
            json::parse(R"({"path":["host1->leaf1","leaf1->spine1","spine1->leaf2","leaf2->host2"],
      "sent":100,"lost":3,"bytes":128,"corrupt":1,"rtt_us":{"p50":12.0,"p99":40.5},"row":0})"));
  EXPECT_EQ(documents[4]["row"], 4);
  EXPECT_EQ(documents[1]["paths"].size(), 2u);
  EXPECT_EQ(documents[1]["backs"].size(), 2u);
}

TEST(Schemas, CatchADocumentThatBreaksThem) {
  EXPECT_FALSE(matches_schema("{}", "diagnosis"));
  EXPECT_FALSE(matches_schema("{", "diagnosis"));
  EXPECT_FALSE(matches_schema("{}", "nothing"));
  auto document = json::parse(diagnosis_json(document_of_everything(two_by_two())));
  document["links"][0]["confidence"] = 1.5;
  EXPECT_FALSE(matches_schema(document.dump(), "diagnosis"));
}

TEST(Documents, TheRoutingReportFitsItsSchemaAndNamesWhatIsBroken) {
  const Fabric fabric = two_by_two();
  routing::RoutingReport report{.routes = 10, .unreachable = 2, .looping = 1};
  report.broken.push_back({*fabric.find_node("leaf1"), Lid(5), routing::RouteEnd::loop});
  report.credit_loop = channels(fabric, {"leaf1->spine1", "spine1->leaf1"});
  report.top.switches.emplace_back(*fabric.find_node("spine2"), 8);
  const auto text = routing_json(fabric, report, "updn", stamp());
  expect_matches_schema(text, "routing");
  const auto document = json::parse(text);
  EXPECT_EQ(document["engine"], "updn");
  EXPECT_EQ(document["broken"][0]["at"], "leaf1");
  EXPECT_EQ(document["credit_loop"][1], "spine1->leaf1");
  EXPECT_FALSE(json::parse(routing_json(fabric, report, std::nullopt, stamp())).contains("engine"));
}

}  // namespace
}  // namespace weft::files
