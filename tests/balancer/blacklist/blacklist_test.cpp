// From a diagnosis to blacklist entries, and their JSON Lines there and back.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "balancer/blacklist/from_diagnosis.hpp"
#include "balancer/blacklist/ledger_json.hpp"
#include "balancer/export/jsonl.hpp"
#include "tests/support/schema.hpp"
#include "topology/model/clos.hpp"

namespace weft::blacklist {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Fabric fabric() { return *make_clos({.name = "roce-a", .leaves = 2, .spines = 2, .hosts_per_leaf = 1}); }

files::DiagnosisDocument document_of(const Diagnosis& diagnosis) {
  return files::diagnosis_document(fabric(), diagnosis, {}, {*parse_utc("2026-01-31T12:00:00Z"), "0.1.0"});
}

LinkFinding finding(std::string_view channel, Verdict verdict, Cause cause) {
  const auto id = *fabric().find_channel(channel);
  return {.link = Fabric::link_of(id),
          .channel = id,
          .verdict = verdict,
          .cause = cause,
          .confidence = 0.99,
          .evidence = {"why"}};
}

TEST(Blacklist, NamesDegradedAndFailedLinksAndLeavesTheRestAlone) {
  Diagnosis diagnosis;
  diagnosis.links = {finding("leaf1->spine2", Verdict::degraded, Cause::loss),
                     finding("leaf1->spine1", Verdict::congested, Cause::congestion),
                     finding("spine1->leaf2", Verdict::unknown, Cause::loss)};
  const auto entries = *blacklist_of(document_of(diagnosis));
  ASSERT_EQ(entries.size(), 1u);
  const auto& entry = entries[0];
  EXPECT_EQ(entry.id, "roce-a:leaf1--spine2");
  EXPECT_EQ(entry.link.kind, files::LinkClass::switch_switch);
  EXPECT_EQ(entry.link.a.node, "leaf1");
  EXPECT_EQ(entry.verdict, Verdict::degraded);
  EXPECT_EQ(entry.owner, "weft");
  EXPECT_EQ(weft::to_string(entry.first_seen), "2026-01-31T12:00:00Z");
  EXPECT_EQ(weft::to_string(entry.expires), "2026-02-01T12:00:00Z");
  EXPECT_THAT(entry.evidence, ElementsAre("loss leaving leaf1", "why"));
}

TEST(Blacklist, BothDirectionsOfALinkAreOneEntryWithTheWorstOfThem) {
  Diagnosis diagnosis;
  diagnosis.links = {finding("leaf1->spine2", Verdict::degraded, Cause::loss),
                     finding("spine2->leaf1", Verdict::failed, Cause::mtu)};
  const auto entries = *blacklist_of(document_of(diagnosis), {.lifetime = std::chrono::hours(1)});
  ASSERT_EQ(entries.size(), 1u);
  EXPECT_EQ(entries[0].verdict, Verdict::failed);
  EXPECT_EQ(weft::to_string(entries[0].expires), "2026-01-31T13:00:00Z");
  EXPECT_THAT(entries[0].evidence, ElementsAre("loss leaving leaf1", "why", "mtu leaving spine2", "why"));
}

TEST(Blacklist, ANicAtFaultIsItsCableAndADeadAgentIsNoLink) {
  const auto host = *fabric().find_node("host2");
  Diagnosis diagnosis;
  diagnosis.hosts = {{.host = host,
                      .nic = fabric().nics()[1],
                      .verdict = Verdict::failed,
                      .cause = Cause::loss,
                      .confidence = 0.97},
                     {.host = host, .verdict = Verdict::failed, .evidence = {"its agent died"}}};
  const auto entries = *blacklist_of(document_of(diagnosis));
  ASSERT_EQ(entries.size(), 1u);
  EXPECT_EQ(entries[0].id, "roce-a:host2--leaf2");
  EXPECT_EQ(entries[0].link.kind, files::LinkClass::host_leaf);
  EXPECT_EQ(entries[0].confidence, 0.97);
}

TEST(Blacklist, AHostWithOneNicThatLosesPacketsIsItsCableToo) {
  Diagnosis diagnosis;
  diagnosis.hosts = {
      {.host = *fabric().find_node("host2"), .verdict = Verdict::degraded, .cause = Cause::loss}};
  auto document = document_of(diagnosis);
  const auto entries = *blacklist_of(document);
  ASSERT_EQ(entries.size(), 1u);
  EXPECT_EQ(entries[0].id, "roce-a:host2--leaf2");
  EXPECT_EQ(entries[0].confidence, 1.0) << "measured: no probability of it is known";
  document.hosts[0].ends.reset();
  ASSERT_TRUE(complete_ends(document, fabric()));
  EXPECT_EQ(*blacklist_of(document), entries);
}

TEST(Blacklist, WhatASetLeavesOpenIsLeftOutOnce) {
  files::DiagnosisDocument document;
  document.sets = {{.verdict = Verdict::failed, .alternatives = {{"a->b"}, {"b->c"}}}};
  document.groups = {{.nodes = {}, .channels = {"b->c", "a->b"}, .verdict = Verdict::failed, .evidence = {}}};
  document.ambiguous = {{"a->b", "b->c"}};
  EXPECT_EQ(left_out_of_blacklist(document),
            std::vector<std::string>{"one of a->b, or b->c: failed, loss; which, is not known"});
  document.sets.clear();
  document.groups[0].verdict = Verdict::unknown;
  EXPECT_EQ(left_out_of_blacklist(document).size(), 1u) << "a class that only a suspicion tells of";
}

TEST(Blacklist, IdsStayTheSameFromRunToRun) {
  Diagnosis diagnosis;
  diagnosis.links = {finding("leaf1->spine2", Verdict::degraded, Cause::loss)};
  const auto first = blacklist_of(document_of(diagnosis))->front().id;
  diagnosis.links.insert(diagnosis.links.begin(), finding("leaf2->spine1", Verdict::failed, Cause::down));
  EXPECT_EQ(blacklist_of(document_of(diagnosis))->back().id, first);
}

TEST(Blacklist, ADocumentThatDoesNotSayWhatItsLinksJoinNeedsTheFabric) {
  Diagnosis diagnosis;
  diagnosis.links = {finding("leaf1->spine2", Verdict::degraded, Cause::loss)};
  diagnosis.hosts = {
      {.host = *fabric().find_node("host2"), .nic = fabric().nics()[1], .verdict = Verdict::failed}};
  auto document = document_of(diagnosis);
  const auto complete = *blacklist_of(document);
  document.links[0].ends.reset();
  document.hosts[0].ends.reset();
  EXPECT_THAT(blacklist_of(document).error().message, HasSubstr("what link leaf1--spine2 joins"));
  ASSERT_TRUE(complete_ends(document, fabric()));
  EXPECT_EQ(*blacklist_of(document), complete);
  document.links[0].ends.reset();
  document.links[0].link = "leaf1--spine9";
  EXPECT_FALSE(complete_ends(document, fabric()));
}

std::vector<BlacklistEntry> two_entries() {
  Diagnosis diagnosis;
  diagnosis.links = {finding("leaf1->spine2", Verdict::degraded, Cause::loss)};
  diagnosis.hosts = {
      {.host = *fabric().find_node("host2"), .nic = fabric().nics()[1], .verdict = Verdict::failed}};
  auto entries = *blacklist_of(document_of(diagnosis));
  entries[0].link.a.guid = Guid(0xab);
  entries[1].actions = {"drained \"host2\""};
  return entries;
}

TEST(BlacklistLines, MeetTheSchemaAndReadBackTheSame) {
  auto entries = two_entries();
  const auto text = exports::blacklist_jsonl(entries);
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) expect_matches_schema(line, "blacklist");
  const auto again = parse_blacklist(text + "\n\n", "b.jsonl");
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ((*again)[0].link.name, "leaf1/p3--spine2/p1") << "a name the fabric knows, made of the ends";
  EXPECT_TRUE(fabric().find_link((*again)[0].link.name));
  for (std::size_t i = 0; i < entries.size(); ++i) entries[i].link.name = (*again)[i].link.name;
  EXPECT_EQ(*again, entries);
}

TEST(BlacklistLines, AMalformedLineIsNamed) {
  const auto text = exports::blacklist_jsonl(two_entries());
  const auto refusal = [](const std::string& lines) {
    const auto entries = parse_blacklist(lines, "b.jsonl");
    return entries ? "accepted" : entries.error().message;
  };
  EXPECT_THAT(refusal(text + "{"), HasSubstr("b.jsonl:3: not JSON"));
  EXPECT_THAT(refusal("{}\n"), HasSubstr("b.jsonl:1: 'schema' is missing"));
  auto wrong = text;
  wrong.replace(wrong.find("\"confidence\":0.99"), 17, "\"confidence\":9.99");
  EXPECT_THAT(refusal(wrong), HasSubstr("b.jsonl:1: confidence: expected 0 to 1"));
  wrong = text;
  wrong.replace(wrong.find("2026-02-01T"), 11, "2026-02-30T");
  EXPECT_THAT(refusal(wrong), HasSubstr("expires: '2026-02-30T12:00:00Z' is no time"));
}

TEST(LedgerLines, KeepWhenAnEntryWasPutBack) {
  Entry entry{.id = EntryId(1), .subject = {SubjectKind::link, "leaf1--spine2"}};
  for (const auto& put_back : {std::optional<UtcTime>(), std::optional(*parse_utc("2026-01-31T12:00:00Z"))}) {
    entry.put_back = put_back;
    const auto line = entry_line("roce-a", entry);
    expect_matches_schema(line, "ledger_entry");
    const auto again = parse_entry_line(line, "l.jsonl");
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_EQ(again->entry, entry);
  }
}

TEST(BlacklistEntry, IsActiveUntilItExpires) {
  const auto entry = two_entries().front();
  EXPECT_TRUE(is_active(entry, entry.expires - std::chrono::seconds(1)));
  EXPECT_FALSE(is_active(entry, entry.expires));
}

}  // namespace
}  // namespace weft::blacklist
