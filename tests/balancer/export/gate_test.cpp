#include "balancer/export/gate.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/clean_document.hpp"
#include "topology/findings/observation.hpp"
#include "topology/model/clos.hpp"

namespace weft::exports {
namespace {

using namespace std::chrono_literals;
using blacklist::Caps;
using testing::HasSubstr;
using testing::StartsWith;

constexpr UtcTime kThen = UtcTime(std::chrono::seconds(1'800'000'000));

Fabric fabric() { return *make_clos({.name = "f", .leaves = 3, .spines = 2, .hosts_per_leaf = 8}); }

files::LinkReport link(const char* name, Verdict verdict, Cause cause = Cause::loss) {
  return {.link = name,
          .from = {},
          .ends = {},
          .verdict = verdict,
          .cause = cause,
          .confidence = 0.99,
          .evidence = {}};
}

/// "VERDICT TEXT"
std::string said(const Gate& gate, const std::string& host) {
  const auto found = std::ranges::find(gate.hosts, host, &HostVerdict::host);
  return found == gate.hosts.end() ? "" : fmt::format("{} {}", to_string(found->verdict), found->text);
}
std::string said(const files::DiagnosisDocument& document, const std::string& host) {
  const auto gate = gate_of(fabric(), as_written(document), Caps());
  return gate ? said(*gate, host) : gate.error().message;
}

TEST(Gate, OfACleanRunAllHostsAreHealthyAsOfThatRun) {
  const auto gate = gate_of(fabric(), clean_document(fabric()), Caps());
  ASSERT_TRUE(gate) << gate.error().message;
  EXPECT_EQ(gate->told_at, kThen);
  EXPECT_EQ(gate->hosts.size(), 24u) << "and no switches";
  for (const HostVerdict& host : gate->hosts) EXPECT_EQ(host.verdict, Verdict::healthy) << host.host;
}

TEST(Gate, AHostHasTheWorstOfItsCablesItselfAndItsLeaf) {
  auto document = clean_document(fabric());
  document.links = {link("host1--leaf1", Verdict::degraded),
                    link("host2--leaf1", Verdict::congested, Cause::congestion),
                    link("leaf1--spine1", Verdict::failed, Cause::down)};
  document.hosts = {{.host = "host1",
                     .nic = {},
                     .ends = {},
                     .verdict = Verdict::failed,
                     .cause = {},
                     .evidence = {"its agent fell silent"}}};
  EXPECT_THAT(said(document, "host1"), AllOf(StartsWith("failed "), HasSubstr("fell silent")));
  EXPECT_THAT(said(document, "host2"), StartsWith("congested host2--leaf1"));
  EXPECT_THAT(said(document, "host3"), StartsWith("healthy ")) << "between switches it is nobody's";
  document.groups = {
      {.nodes = {"leaf2"}, .channels = {"leaf2->spine1"}, .verdict = Verdict::degraded, .evidence = {}}};
  EXPECT_THAT(said(document, "host9"), StartsWith("degraded leaf2"));
}

TEST(Gate, WhatWasNotMeasuredIsUnknown) {
  const auto spoilt = [](auto spoil, const char* host = "host1") {
    auto document = clean_document(fabric());
    spoil(document);
    return said(document, host);
  };
  EXPECT_THAT(spoilt([](auto& d) { d.coverage.thin = {"leaf1->host1"}, --d.coverage.probed; }),
              StartsWith("unknown leaf1->host1"));
  EXPECT_THAT(spoilt([](auto& d) { d.coverage.thin = {"leaf1->host1"}, --d.coverage.probed; }, "host2"),
              StartsWith("healthy "));
  EXPECT_THAT(spoilt([](auto& d) {
                d.ambiguous = {{"host1->leaf1", "leaf1->spine1"}};
              }),
              StartsWith("unknown "));
  EXPECT_THAT(spoilt([](auto& d) {
                d.coverage.not_tested = {{"host1", {}, "no right to send"}};
              }),
              StartsWith("unknown not tested: no right to send"));
  EXPECT_THAT(spoilt([](auto& d) { d.coverage.cut_short = "--timeout 10m"; }),
              StartsWith("unknown the sweep was cut short: --timeout"));
  EXPECT_THAT(spoilt([](auto& d) { d.coverage.cut_short = ""; }), StartsWith("unknown "));
  EXPECT_THAT(spoilt([](auto& d) { d.coverage.not_tested = {{"host1", {}, ""}}; }), StartsWith("unknown "));
  EXPECT_THAT(spoilt([](auto& d) {
                d.sensitivity.rate = 0.1;
                d.coverage.rate_untested = {"host1->leaf1"};
              }),
              StartsWith("unknown host1->leaf1: its rate"));
  EXPECT_THAT(
      spoilt([](auto& d) {
        d.sets = {
            {.verdict = Verdict::failed, .alternatives = {{"host3->leaf1"}, {"host4->leaf1"}}, .more = true}};
      }),
      StartsWith("unknown "))
      << "it may be one of those that are left out";
  EXPECT_THAT(spoilt([](auto& d) { d.coverage.out_of_scope = 4; }), StartsWith("unknown "));
  EXPECT_THAT(spoilt([](auto& d) { d.coverage.fell_short = {"a loss of 0.2 % shows by ..."}; }),
              StartsWith("unknown "));
  EXPECT_THAT(spoilt([](auto& d) { d.sensitivity.delay.reset(); }), StartsWith("unknown "));
  EXPECT_THAT(spoilt([](auto& d) { d.sensitivity.loss = 0.17; }), StartsWith("unknown "));
  EXPECT_THAT(spoilt([](auto& d) { d.coverage.channels = d.coverage.probed -= 2; }), StartsWith("unknown "));
  EXPECT_THAT(spoilt([](auto& d) { d.account.lost = {.all = 9, .unexplained = 9}; }), StartsWith("unknown "));
  EXPECT_THAT(spoilt([](auto& d) { d.fabric_wide = {{.verdict = Verdict::failed, .evidence = {}}}; }),
              StartsWith("unknown "));
}

TEST(Gate, ARunOfAnotherFabricOrOfNodesThatAreNotThereIsRefused) {
  auto document = clean_document(fabric());
  document.coverage.not_tested = {{"host99", {}, "why"}};
  EXPECT_FALSE(gate_of(fabric(), document, Caps()));
  document = clean_document(fabric());
  document.fabric = "g";
  EXPECT_FALSE(gate_of(fabric(), document, Caps()));
}

TEST(Gate, MoreFaultsThanHostsMayBeDrainedAreLikelierAnError) {
  auto document = clean_document(fabric());
  for (int host = 1; host <= 6; ++host)
    document.links.push_back(link(fmt::format("host{}--leaf1", host).c_str(), Verdict::failed));
  EXPECT_THAT(said(document, "host6"), StartsWith("failed ")) << "a quarter of 24";
  document.links.push_back(link("host7--leaf1", Verdict::failed));
  for (const char* host : {"host1", "host7"})
    EXPECT_THAT(said(document, host),
                StartsWith("unknown 7 faults of hosts at once, likelier an error (6 are believed): host"));
  EXPECT_THAT(said(document, "host8"), StartsWith("healthy "));
}

TEST(Gate, AMiswiredCableKeepsNoJobFromItsHost) {
  auto document = clean_document(fabric());
  for (int host = 1; host <= 8; ++host) {
    document.links.push_back(link(fmt::format("host{}--leaf1", host).c_str(), Verdict::failed));
    document.links.back().cause = Cause::down;
    document.links.back().evidence = {fmt::format("96 traces enter leaf2 from host{}{}", host, kMiswired)};
  }
  EXPECT_THAT(said(document, "host1"), StartsWith("degraded host1: down, 96 traces"))
      << "packets pass; and eight of them are no error of the sweep";
  document.links[0].evidence = {"38 of 38 lost"};
  EXPECT_THAT(said(document, "host1"), StartsWith("failed host1"));
  document.links[0].evidence.push_back(fmt::format("96 traces{}", kMiswired));
  EXPECT_THAT(said(document, "host1"), StartsWith("failed host1")) << "it is dead, whatever else is said";
  document.links[0].cause = Cause::loss;
  document.links[0].evidence = {"38 of 100 lost", fmt::format("96 traces{}", kMiswired)};
  EXPECT_THAT(said(document, "host1"), StartsWith("failed host1")) << "it loses packets too";
}

TEST(Gate, ALeafThatIsDownIsOneFaultOfAllItsHosts) {
  auto document = clean_document(fabric());
  document.groups = {
      {.nodes = {"leaf2"}, .channels = {"leaf2->spine1"}, .verdict = Verdict::failed, .evidence = {}}};
  for (const char* host : {"host9", "host16"}) EXPECT_THAT(said(document, host), StartsWith("failed leaf2"));
}

TEST(Gate, TheOnlyHostWithoutAFindingIsNotHealthy) {
  const Fabric four = *make_clos({.name = "f", .leaves = 2, .spines = 1, .hosts_per_leaf = 2});
  auto document = clean_document(four);
  document.links = {link("host1--leaf1", Verdict::degraded), link("host2--leaf1", Verdict::degraded),
                    link("host3--leaf2", Verdict::degraded)};
  const auto gate = gate_of(four, as_written(document), Caps());
  ASSERT_TRUE(gate) << gate.error().message;
  EXPECT_THAT(said(*gate, "host4"), StartsWith("unknown host4->leaf2"))
      << "all its packets met larger losses, which may hide a small one";
}

TEST(Gate, ALeafOfOneRailCountsForEachOfItsHosts) {
  const Fabric rails = *make_rails({.name = "f", .groups = 1, .hosts_per_group = 8, .rails = 2, .spines = 2});
  const auto leaf = std::string(
      rails.name_of(rails.source_node(Fabric::reverse(rails.channels_from(rails.hosts()[0])[0]))));
  auto document = clean_document(rails);
  document.groups = {{.nodes = {leaf}, .channels = {}, .verdict = Verdict::failed, .evidence = {}}};
  const auto gate = gate_of(rails, as_written(document), Caps());
  ASSERT_TRUE(gate) << gate.error().message;
  EXPECT_THAT(said(*gate, rails.name_of(rails.hosts()[0])), StartsWith("unknown 8 faults of hosts at once"));
}

TEST(Gate, AHostOfManyBadNicsIsOneFault) {
  const Fabric rails = *make_rails({.name = "f", .groups = 1, .hosts_per_group = 8, .rails = 4, .spines = 2});
  auto document = clean_document(rails);
  const NodeId host = rails.hosts()[0];
  for (const PortId nic : rails.ports_of(host))
    document.hosts.push_back({.host = rails.name_of(host),
                              .nic = rails.name_of_nic(nic),
                              .ends = {},
                              .verdict = Verdict::failed,
                              .cause = Cause::down,
                              .evidence = {}});
  const auto gate = gate_of(rails, as_written(document), Caps());
  ASSERT_TRUE(gate) << gate.error().message;
  EXPECT_THAT(said(*gate, rails.name_of(host)), StartsWith("failed "));
}

blacklist::Ledger ledger_of(
    const std::vector<std::tuple<blacklist::SubjectKind, const char*, blacklist::EntryState>>& its) {
  blacklist::Ledger ledger{.fabric = "f", .drained = {}};
  for (const auto& [kind, name, state] : its) {
    blacklist::Entry entry{
        .id = blacklist::EntryId(++ledger.last_id), .subject = {kind, name}, .state = state};
    entry.evidence = {"5 % lost"};
    ledger.entries.push_back(entry);
  }
  return ledger;
}

TEST(Gate, OfALedgerActiveEntriesRefuseTheirHostsAndNoHostIsHealthy) {
  using enum blacklist::SubjectKind;
  using enum blacklist::EntryState;
  const auto ledger = ledger_of({{nic, "host1", active},
                                 {host, "host2", proposed},
                                 {host, "host3", probation},
                                 {switch_, "leaf2", active},
                                 {switch_, "spine1", active},
                                 {host, "gone", active}});
  auto gate = gate_of(fabric(), ledger, blacklist::NicAction::host, kThen);
  EXPECT_EQ(gate.told_at, kThen);
  EXPECT_EQ(said(gate, "host1"), "failed blacklist entry 1, host1: loss, 5 % lost");
  EXPECT_EQ(said(gate, "host2"), "unknown blacklist entry 2 (proposed), host2: loss, 5 % lost");
  for (const char* other : {"host3", "host4"})
    EXPECT_EQ(said(gate, other), "unknown not on the blacklist") << other;
  EXPECT_THAT(said(gate, "host9"), StartsWith("failed ")) << "under leaf2";
  EXPECT_EQ(gate.hosts.size(), 24u);
  gate = gate_of(fabric(), ledger, blacklist::NicAction::rail, kThen);
  EXPECT_THAT(said(gate, "host1"), StartsWith("degraded ")) << "jobs do without that rail";
}

TEST(Gate, OfBothTheLedgerDecidesWhoIsRefusedAndTheRunWhoIsHealthy) {
  auto document = clean_document(fabric());
  document.links = {link("host1--leaf1", Verdict::failed), link("host5--leaf1", Verdict::degraded)};
  const auto run = gate_of(fabric(), as_written(document), Caps());
  using enum blacklist::EntryState;
  constexpr auto host = blacklist::SubjectKind::host;
  ASSERT_TRUE(run) << run.error().message;
  const auto gate = decided_by(fabric(), ledger_of({{host, "host2", active}, {host, "host3", proposed}}),
                               blacklist::NicAction::host, *run);
  EXPECT_EQ(gate.told_at, kThen) << "as old as the run";
  EXPECT_THAT(said(gate, "host1"), StartsWith("degraded host1"))
      << "the ledger does not have it: a cap, an approval";
  EXPECT_THAT(said(gate, "host2"), StartsWith("failed blacklist entry 1"));
  EXPECT_THAT(said(gate, "host3"), StartsWith("unknown blacklist entry 2 (proposed)"));
  EXPECT_EQ(said(gate, "host4"), "healthy nothing found");
  EXPECT_THAT(said(gate, "host5"), StartsWith("degraded host5"));
}

/// What a host reads of a file that was written then.
std::string read_back(std::string_view text, std::string_view host, UtcTime now = kThen) {
  const auto read = read_gate(text, host, now, 2h);
  EXPECT_EQ(read.host, host);
  return fmt::format("{} {}", to_string(read.verdict), read.text);
}

TEST(GateFile, IsReadBackAsItWasWritten) {
  const Gate gate{.fabric = "pod 7",
                  .told_at = kThen,
                  .hosts = {{"a", Verdict::failed, "its\ncable \"x\""},
                            {"end", Verdict::congested, "y"},
                            {"c", Verdict::healthy, std::string(500, 'z')}}};
  const auto text = gate_text(gate);
  EXPECT_EQ(read_back(text, "a"), "failed its?cable 'x'");
  EXPECT_EQ(read_back(text, "end"), "congested y");
  EXPECT_EQ(read_back(text, "c"), "healthy " + std::string(200, 'z'));
  for (const char* host : {"", "b", "weft.gate/1", "failed"})
    EXPECT_THAT(read_back(text, host), StartsWith("unknown ")) << host;
  EXPECT_THAT(read_back(gate_text({.fabric = "f", .told_at = kThen, .hosts = {}}), "a"),
              StartsWith("unknown "));
}

TEST(GateFile, SaysNothingOnceItIsTooOldOrOfTheFuture) {
  const auto text = gate_text({.fabric = "f", .told_at = kThen, .hosts = {{"a", Verdict::failed, "x"}}});
  EXPECT_EQ(read_back(text, "a", kThen + 2h), "failed x");
  EXPECT_THAT(read_back(text, "a", kThen + 2h + 1s), StartsWith("unknown the file is of 2027-"));
  EXPECT_EQ(read_back(text, "a", kThen - 5min), "failed x");
  EXPECT_THAT(read_back(text, "a", kThen - 5min - 1s), StartsWith("unknown the file is of 2027-"));
}

TEST(GateFile, OfAHostThatStandsThereTwiceItSaysNothing) {
  const auto text = gate_text(
      {.fabric = "f",
       .told_at = kThen,
       .hosts = {{"a", Verdict::healthy, "x"}, {"b", Verdict::failed, "x"}, {"a", Verdict::failed, "y"}}});
  EXPECT_EQ(read_back(text, "a"), "unknown the file has two lines of this host");
  EXPECT_EQ(read_back(text, "b"), "failed x");
}

TEST(GateFile, APartOfItSaysNothing) {
  const auto text = gate_text(
      {.fabric = "f", .told_at = kThen, .hosts = {{"a", Verdict::failed, "x"}, {"b", Verdict::failed, "x"}}});
  EXPECT_EQ(read_back(text, "a"), "failed x");
  for (std::size_t size = 0; size < text.size(); ++size)
    EXPECT_THAT(read_back(text.substr(0, size), "a"), StartsWith("unknown ")) << size;
  EXPECT_THAT(read_back(text + text, "a"), StartsWith("unknown "));
}

}  // namespace
}  // namespace weft::exports
