#include "balancer/blacklist/evidence.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "tests/support/clean_document.hpp"
#include "topology/findings/observation.hpp"
#include "topology/model/clos.hpp"

namespace weft::blacklist {
namespace {

using namespace std::chrono_literals;
using testing::IsEmpty;
using testing::SizeIs;

Fabric fabric() { return *make_clos({.name = "f", .leaves = 2, .spines = 2, .hosts_per_leaf = 2}); }

std::vector<ChannelId> channels(const Fabric& of, std::string_view name) {
  return channels_of(of, *parse_subject(of, name));
}

TEST(BlacklistEvidence, NamesEachFaultByTheSmallestThingThatCoversIt) {
  const Fabric f = fabric();
  auto document = clean_document(fabric());
  const auto link = [&](const char* name, std::optional<std::string> from) {
    return files::LinkReport{.link = name,
                             .from = std::move(from),
                             .ends = {},
                             .verdict = Verdict::degraded,
                             .confidence = 0.99,
                             .evidence = {}};
  };
  document.links = {link("leaf1--spine1", "leaf1"), link("leaf1--spine2", std::nullopt),
                    link("host1--leaf1", "host1")};
  document.hosts = {{.host = "host2",
                     .nic = std::nullopt,
                     .ends = {},
                     .verdict = Verdict::failed,
                     .cause = std::nullopt,
                     .evidence = {}},
                    {.host = "host3",
                     .nic = "host3",
                     .ends = {},
                     .verdict = Verdict::failed,
                     .cause = Cause::loss,
                     .evidence = {}}};
  document.groups = {
      {.nodes = {"spine2"}, .channels = {"leaf2->spine2"}, .verdict = Verdict::failed, .evidence = {}}};
  document.sets = {{.verdict = Verdict::degraded, .alternatives = {{"host4->leaf2"}, {"leaf2->host4"}}},
                   {.verdict = Verdict::degraded, .alternatives = {{"host1->leaf1"}, {"leaf1->spine1"}}}};
  const auto read = evidence_of(f, as_written(document));
  ASSERT_TRUE(read) << read.error().message;
  std::vector<SubjectName> names;
  for (const Fault& fault : read->evidence.faults) names.push_back(name_of(f, fault.subject));
  EXPECT_THAT(names,
              testing::ElementsAre(
                  SubjectName{SubjectKind::channel, "leaf1->spine1"},
                  SubjectName{SubjectKind::link, "leaf1--spine2"}, SubjectName{SubjectKind::nic, "host1"},
                  SubjectName{SubjectKind::host, "host2"}, SubjectName{SubjectKind::nic, "host3"},
                  SubjectName{SubjectKind::switch_, "spine2"}, SubjectName{SubjectKind::nic, "host4"}));
  EXPECT_THAT(read->advice,
              testing::ElementsAre("one of host1->leaf1, or leaf1->spine1: loss; which, is not known"));
  EXPECT_EQ(read->evidence.until - read->evidence.from, 4s);
}

TEST(BlacklistEvidence, ASetIsAdvisedOnceAndNoSwitchAroundItIsProposed) {
  const Fabric f = fabric();
  auto document = clean_document(f);
  document.sets = {{.verdict = Verdict::degraded, .alternatives = {{"leaf1->spine1"}, {"leaf2->spine1"}}}};
  document.groups = {{.nodes = {},
                      .channels = {"leaf1->spine1", "leaf2->spine1"},
                      .verdict = Verdict::degraded,
                      .evidence = {}}};
  for (const bool is_named : {false, true}) {
    if (is_named) document.groups[0].nodes = {"spine1"};
    const auto read = evidence_of(f, as_written(document));
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_TRUE(read->evidence.faults.empty());
    EXPECT_EQ(read->advice.size(), 1u);
  }
}

TEST(BlacklistEvidence, WhatWasCrossedByEnoughAndIsInNoFindingIsClean) {
  const Fabric f = fabric();
  auto document = clean_document(fabric());
  document.coverage.missing = {"leaf1->spine1"};
  document.coverage.thin = {"spine1->leaf1"};
  document.coverage.probed -= 2;
  document.ambiguous = {{"leaf2->spine1", "spine1->leaf2"}};
  const auto read = evidence_of(f, document);
  ASSERT_TRUE(read);
  for (const char* name : {"leaf1--spine1", "leaf2--spine1"})
    EXPECT_FALSE(is_clean_over(read->evidence, channels(f, name), Cause::loss, {})) << name;
  EXPECT_TRUE(is_clean_over(read->evidence, channels(f, "leaf2--spine2"), Cause::loss, {}));
  EXPECT_TRUE(is_clean_over(read->evidence, channels(f, "leaf2--spine2"), Cause::loss, 0.002));
  EXPECT_FALSE(is_clean_over(read->evidence, channels(f, "leaf2--spine2"), Cause::loss, 0.001))
      << "the run shows .002 and more";
  EXPECT_FALSE(is_clean_over(read->evidence, channels(f, "leaf2--spine2"), Cause::rate, {}))
      << "nothing was loaded";
}

TEST(BlacklistEvidence, NothingIsCleanWhereTheRunDoesNotKnow) {
  const Fabric f = fabric();
  const auto is_clean = [&](const auto& change) {
    auto document = clean_document(fabric());
    change(document);
    return is_clean_over(evidence_of(f, document)->evidence, channels(f, "leaf1--spine1"), Cause::loss, {});
  };
  EXPECT_TRUE(is_clean([](auto&) {}));
  EXPECT_FALSE(is_clean([](auto& document) { document.coverage.out_of_scope = 4; }));
  EXPECT_FALSE(is_clean([](auto& document) { document.coverage.masked = {"leaf1->spine1"}; }));
  EXPECT_FALSE(is_clean([](auto& document) { document.coverage.channels = document.coverage.probed = 3; }));
  EXPECT_FALSE(is_clean([](auto& document) { --document.coverage.probed; })) << "one is named nowhere";
  EXPECT_FALSE(is_clean([](auto& document) { document.account.lost.unexplained = 1; }));
  EXPECT_FALSE(is_clean([](auto& document) { document.fabric_wide = {{.evidence = {}}}; }));
  EXPECT_FALSE(is_clean([](auto& document) { document.sensitivity.loss.reset(); }));
}

TEST(BlacklistEvidence, ARunOfSomeHostsClearsWhatItsPacketsCrossed) {
  const Fabric f = fabric();
  auto document = clean_document(fabric());
  std::set<std::uint32_t> scope;
  const auto add = [&](const char* link) {
    for (const ChannelId channel : channels(f, link)) scope.insert(channel.value());
  };
  const auto is_clean = [&](const char* link) {
    document.coverage.in_scope.clear();
    for (const auto channel : scope) document.coverage.in_scope.push_back(f.name_of(ChannelId(channel)));
    document.coverage.channels = document.coverage.probed = scope.size();
    document.coverage.out_of_scope = f.channel_count() - scope.size();
    const auto read = evidence_of(f, document);
    return read && is_clean_over(read->evidence, channels(f, link), Cause::loss, {});
  };
  for (const char* link : {"host1--leaf1", "leaf1--spine1", "leaf2--spine1"}) add(link);
  EXPECT_FALSE(is_clean("leaf1--spine1")) << "its packets reach no host that was chosen";
  const auto far = f.find_node("leaf2").value();
  for (const ChannelId channel : f.channels_from(far))
    if (!f.between_switches(channel)) add(f.name_of(Fabric::link_of(channel)).c_str());
  EXPECT_TRUE(is_clean("leaf1--spine1"));
  EXPECT_TRUE(is_clean("host1--leaf1"));
  EXPECT_FALSE(is_clean("leaf1--spine2")) << "out of scope";
  document.coverage.in_scope.pop_back();
  const auto short_list = evidence_of(f, document);
  EXPECT_FALSE(is_clean_over(short_list->evidence, channels(f, "leaf1--spine1"), Cause::loss, {}));
  document.coverage.in_scope.push_back("leaf9->spine1");
  EXPECT_FALSE(evidence_of(f, document)) << "the fabric has none of that name";
}

TEST(BlacklistEvidence, ARunOfSmallPacketsOrWithoutCountersClearsNoFaultThatOnlyTheyShow) {
  const Fabric f = fabric();
  auto document = clean_document(fabric());
  document.sensitivity.rate = 0.25, document.sensitivity.size = Bytes(4096);
  const auto evidence = evidence_of(f, document)->evidence;
  const auto link = channels(f, "leaf1--spine1");
  EXPECT_TRUE(is_clean_over(evidence, link, Cause::mtu, 1500));
  EXPECT_FALSE(is_clean_over(evidence, link, Cause::mtu, 4200)) << "nothing larger was sent";
  EXPECT_FALSE(is_clean_over(evidence, link, Cause::counter, {}));
}

TEST(BlacklistEvidence, TimesBeyondAllSenseAreARunOfAMonthAtMost) {
  auto document = clean_document(fabric());
  document.run.timings.assign(100, {"probe", Nanoseconds::max()});
  const auto read = evidence_of(fabric(), document);
  EXPECT_EQ(read->evidence.until - read->evidence.from, 720h);
}

TEST(BlacklistEvidence, ADocumentOfAnotherFabricOrWithUnknownNamesIsRefused) {
  const Fabric f = fabric();
  auto document = clean_document(fabric());
  document.fabric = "g";
  EXPECT_FALSE(evidence_of(f, document));
  document = clean_document(fabric());
  document.coverage.missing = {"leaf9->spine1"};
  EXPECT_FALSE(evidence_of(f, document));
}

TEST(BlacklistEvidence, ADocumentThatContradictsItselfIsRefusedAndSaysWhy) {
  const Fabric f = fabric();
  const auto refusal = [&](const auto& spoil) {
    auto document = clean_document(f);
    document.links = {{.link = "leaf1--spine1",
                       .from = "leaf1",
                       .ends = {},
                       .verdict = Verdict::degraded,
                       .confidence = 0.999,
                       .evidence = {}}};
    document.verdict = Verdict::degraded;
    document.run.sent = 1000, document.run.lost = 20;
    document.account.lost = {.all = 20, .found = 20};
    spoil(document);
    const auto read = evidence_of(f, document);
    return read ? "" : read.error().message;
  };
  const auto says = [](const char* words) {
    return testing::HasSubstr(fmt::format("contradicts itself: {}", words));
  };
  EXPECT_EQ(refusal([](auto&) {}), "");
  EXPECT_THAT(refusal([](auto& d) { d.verdict = Verdict::healthy; }),
              says("it calls the run healthy and something in it degraded"));
  EXPECT_THAT(
      refusal([](auto& d) { d.sets = {{.verdict = Verdict::failed, .alternatives = {{"leaf1->spine1"}}}}; }),
      says("it calls the run degraded and something in it failed"));
  EXPECT_THAT(refusal([](auto& d) { d.run.lost = 1001; }), says("1001 probes of 1000 are lost"));
  EXPECT_THAT(refusal([](auto& d) { d.account.lost.open = 1; }),
              says("its account explains more than the 20"));
  EXPECT_THAT(refusal([](auto& d) { d.account.late = {.found = ~0ULL, .open = 1}; }), says("its account"));
  EXPECT_THAT(refusal([](auto& d) { ++d.coverage.probed; }), says("17 channels were probed, 0 not"));
  EXPECT_THAT(refusal([](auto& d) {
                d.links.push_back(d.links[0]);
                d.links[1].verdict = Verdict::healthy;
              }),
              says("leaf1--spine1 is degraded and healthy by the same cause"));
  EXPECT_EQ(refusal([](auto& d) {
              d.links.push_back(d.links[0]);
              d.links[1].verdict = Verdict::healthy, d.links[1].cause = Cause::delay;
            }),
            "");
  EXPECT_EQ(refusal([](auto& d) {
              d.links.push_back(d.links[0]);
              d.links[1].verdict = Verdict::unknown;
            }),
            "")
      << "weft writes a suspicion beside what it found";
  for (const char* from : {"leaf1", "spine1"}) {
    const auto is_missing = [&](auto& d) {
      d.links[0].from = from;
      d.coverage.missing = {"spine1->leaf1"}, --d.coverage.probed;
    };
    EXPECT_THAT(refusal(is_missing),
                std::string(from) == "leaf1"
                    ? testing::Matcher<std::string>("")
                    : says("spine1->leaf1 is degraded by loss, and no probe crossed it"));
  }
}

TEST(BlacklistEvidence, ARunThatSentNothingTakesNothingOutByItself) {
  const Fabric f = fabric();
  auto document = clean_document(f);
  document.run.sent = 0;
  document.hosts = {{.host = "host1",
                     .nic = {},
                     .ends = {},
                     .verdict = Verdict::failed,
                     .cause = Cause::down,
                     .evidence = {"its port is down"}}};
  const auto read = evidence_of(f, as_written(document));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->evidence.faults.at(0).confidence, 0.9) << "another run has to say so too";
  document.links = {{.link = "leaf1--spine1",
                     .from = {},
                     .ends = {},
                     .verdict = Verdict::degraded,
                     .cause = Cause::counter,
                     .confidence = 0.999,
                     .evidence = {}}};
  EXPECT_EQ(evidence_of(f, as_written(document))->evidence.faults.at(0).confidence, 0.999)
      << "what counters alone tell of";
  document.links[0].cause = Cause::loss;
  EXPECT_THAT(evidence_of(f, as_written(document)).error().message,
              testing::HasSubstr("leaf1--spine1 is degraded by loss, and no probe was sent"));
}

TEST(BlacklistEvidence, GroupsThatContradictThemselvesAreRefused) {
  const Fabric f = fabric();
  const auto refusal = [&](std::vector<files::GroupReport> groups) {
    auto document = clean_document(f);
    document.groups = std::move(groups);
    const auto read = evidence_of(f, as_written(document));
    return read ? "" : read.error().message;
  };
  const files::GroupReport leaf{.nodes = {"leaf1"},
                                .channels = {"leaf1->spine1", "spine2->leaf1"},
                                .cause = Cause::loss,
                                .verdict = Verdict::failed,
                                .confidence = 0.999,
                                .evidence = {}};
  EXPECT_EQ(refusal({leaf}), "");
  auto milder = leaf, elsewhere = leaf, other_cause = leaf;
  milder.verdict = Verdict::degraded, other_cause.verdict = Verdict::degraded;
  other_cause.cause = Cause::delay;
  elsewhere.channels.push_back("leaf2->spine1");
  EXPECT_THAT(refusal({leaf, milder}), testing::HasSubstr("leaf1 is failed and degraded by the same cause"));
  EXPECT_EQ(refusal({leaf, other_cause}), "");
  EXPECT_THAT(refusal({elsewhere}),
              testing::HasSubstr("leaf2->spine1 is told of as one of leaf1, and is none"));
}

TEST(BlacklistEvidence, AHostIsOneAndWhatIsSaidOfItIsItsOwn) {
  const Fabric f = fabric();
  const auto refusal = [&](files::HostReport report) {
    auto document = clean_document(f);
    report.verdict = Verdict::failed, report.cause = Cause::loss;
    document.hosts = {report};
    const auto read = evidence_of(f, as_written(document));
    return read ? "" : read.error().message;
  };
  const auto ends = files::refer_to(f, *f.find_link("host1--leaf1"));
  EXPECT_EQ(refusal({.host = "host1", .nic = {}, .ends = ends, .cause = {}, .evidence = {}}), "");
  EXPECT_THAT(refusal({.host = "host2", .nic = {}, .ends = ends, .cause = {}, .evidence = {}}),
              testing::HasSubstr("told of as one of host2, and is none"));
  EXPECT_THAT(refusal({.host = "host2", .nic = "host1", .ends = {}, .cause = {}, .evidence = {}}),
              testing::HasSubstr("told of as a NIC of host2, and is none"));
  auto document = clean_document(f);
  document.hosts = {{.host = "leaf1",
                     .nic = {},
                     .ends = {},
                     .verdict = Verdict::failed,
                     .cause = Cause::loss,
                     .evidence = {}}};
  const auto of_switch = evidence_of(f, as_written(document));
  EXPECT_THAT(of_switch->evidence.faults, IsEmpty());
  EXPECT_THAT(of_switch->advice,
              testing::ElementsAre(testing::StartsWith("leaf1 is told of as a host, and is none")));
  const files::HostReport host{.host = "host1",
                               .nic = {},
                               .ends = {},
                               .verdict = Verdict::failed,
                               .cause = Cause::loss,
                               .evidence = {}};
  document.hosts = {host, host};
  document.hosts[1].verdict = Verdict::degraded;
  EXPECT_THAT(evidence_of(f, as_written(document)).error().message,
              testing::HasSubstr("host1 is failed and degraded by the same cause"));
}

TEST(BlacklistEvidence, ARunThatSentNothingOrAccountsForNoLossShowsNothingClean) {
  const Fabric f = fabric();
  const auto is_clean = [&](std::uint64_t sent, std::uint64_t lost, std::uint64_t accounted) {
    auto document = clean_document(f);
    document.run.sent = sent, document.run.lost = lost;
    document.account.lost = {.all = accounted, .tolerated = accounted};
    return is_clean_over(evidence_of(f, document)->evidence, channels(f, "host1--leaf1"), Cause::loss, {});
  };
  EXPECT_TRUE(is_clean(1000, 0, 0));
  EXPECT_TRUE(is_clean(1000, 1, 1));
  EXPECT_FALSE(is_clean(0, 0, 0));
  EXPECT_FALSE(is_clean(1000, 1000, 0));
}

TEST(BlacklistEvidence, AFaultOfACableThatHasOtherEndsByNowIsToldAndNotTaken) {
  const Fabric f = fabric();
  auto document = clean_document(f);
  const auto link = *f.find_link("leaf1--spine1");
  const auto nic = *f.port(*f.find_nic("host1")).link;
  document.links = {{.link = "leaf1--spine1",
                     .from = {},
                     .ends = files::refer_to(f, link),
                     .verdict = Verdict::failed,
                     .evidence = {}}};
  document.hosts = {{.host = "host1",
                     .nic = "host1",
                     .ends = files::refer_to(f, nic),
                     .verdict = Verdict::failed,
                     .cause = Cause::down,
                     .evidence = {}}};
  EXPECT_THAT(evidence_of(f, as_written(document))->evidence.faults, SizeIs(2));
  std::swap(document.links[0].ends->a, document.links[0].ends->b);
  EXPECT_THAT(evidence_of(f, as_written(document))->evidence.faults, SizeIs(2)) << "the same cable";
  document.links[0].ends->a.port = PortNumber(9), document.hosts[0].ends->b.port = PortNumber(9);
  const auto moved = evidence_of(f, as_written(document));
  EXPECT_THAT(moved->evidence.faults, IsEmpty());
  EXPECT_THAT(moved->advice,
              testing::ElementsAre(testing::HasSubstr("leaf1--spine1: the run saw it between"),
                                   testing::HasSubstr("host1--leaf1: the run saw it between")));
  EXPECT_FALSE(is_clean_over(moved->evidence, channels(f, "leaf1--spine1"), Cause::loss, {}));
}

TEST(BlacklistEvidence, AHostThatFailedInARunForNoKnownCauseNeedsASecondRunAndAMiswiredOneIsForPeople) {
  const Fabric f = fabric();
  auto document = clean_document(f);
  document.hosts = {{.host = "host1",
                     .nic = "host1",
                     .ends = {},
                     .verdict = Verdict::failed,
                     .cause = {},
                     .evidence = {"its figures contradict those of 2 others"}},
                    {.host = "leaf1",
                     .nic = {},
                     .ends = {},
                     .verdict = Verdict::failed,
                     .cause = Cause::down,
                     .evidence = {"3 traces come into it from leaf2" + std::string(kMiswired)}},
                    {.host = "host2",
                     .nic = "host2",
                     .ends = {},
                     .verdict = Verdict::failed,
                     .cause = Cause::down,
                     .evidence = {"its port is down", "9 traces" + std::string(kMiswired)}}};
  const auto read = evidence_of(f, as_written(document));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->evidence.faults.at(0).confidence, 0.9);
  EXPECT_TRUE(indicates_miswiring(read->evidence.faults.at(1)));
  EXPECT_FALSE(indicates_miswiring(read->evidence.faults.at(2))) << "its NIC is dead too";
  EXPECT_THAT(read->advice, testing::ElementsAre(testing::StartsWith("leaf1: 3 traces come into it")));
  EXPECT_FALSE(is_clean_over(read->evidence, channels(f, "leaf1--spine1"), Cause::loss, {}));
}

TEST(BlacklistEvidence, ARunAsItIsReadFromAFileBeganBeforeItsPacketsWereSent) {
  const Fabric f = fabric();
  const auto read = files::parse_diagnosis(diagnosis_json(clean_document(f)), "d.json");
  ASSERT_TRUE(read) << read.error().message;
  const auto evidence = evidence_of(f, *read)->evidence;
  EXPECT_EQ(evidence.until - evidence.from, 4s) << "two such runs at once share packets";
}

/// Clean, where these hosts' cables and links are at fault.
bool is_clean(const Fabric& of, const std::vector<std::string>& bad, const char* name) {
  auto document = clean_document(of);
  for (const std::string& link : bad)
    document.links.push_back(
        {.link = link, .from = {}, .ends = {}, .verdict = Verdict::failed, .evidence = {}});
  const auto read = evidence_of(of, as_written(document));
  EXPECT_TRUE(read) << read.error().message;
  return read && is_clean_over(read->evidence, channels(of, name), Cause::loss, std::nullopt);
}

TEST(BlacklistEvidence, ACableAllOfWhosePacketsMeetLargerFaultsIsNotClean) {
  const Fabric five = *make_clos({.name = "f", .leaves = 5, .spines = 2, .hosts_per_leaf = 1});
  const std::vector<std::string> three{"host1--leaf1", "host2--leaf2", "host3--leaf3"};
  auto four = three;
  four.emplace_back("host4--leaf4");
  EXPECT_TRUE(is_clean(five, three, "host5--leaf5")) << "host4 and host5 vouch for each other";
  EXPECT_FALSE(is_clean(five, four, "host5--leaf5"));
  EXPECT_FALSE(is_clean(five, four, "leaf5--spine1"));
  EXPECT_TRUE(is_clean(five, three, "leaf5--spine1"));
  EXPECT_FALSE(is_clean(five, three, "leaf1--spine1")) << "nothing behind it is well";
  EXPECT_FALSE(is_clean(five, {"leaf5--spine1", "leaf5--spine2"}, "host5--leaf5"))
      << "cut off from all others";
  EXPECT_TRUE(is_clean(five, {"leaf5--spine1"}, "host5--leaf5"));
}

TEST(BlacklistEvidence, ACableBetweenPodsNeedsHostsThatAreWellInBoth) {
  const Fabric pods =
      *make_pod_clos({.name = "f", .pods = 2, .leaves = 1, .spines = 1, .cores = 1, .hosts_per_leaf = 2});
  const auto name = [&](std::size_t host) {
    return pods.name_of(Fabric::link_of(pods.channels_from(pods.hosts()[host])[0]));
  };
  std::string core;
  for (std::uint32_t i = 0; i < pods.link_count(); ++i)
    if (pods.name_of(LinkId(i)).find("core") != std::string::npos) core = pods.name_of(LinkId(i));
  EXPECT_TRUE(is_clean(pods, {name(0), name(2)}, core.c_str()));
  EXPECT_FALSE(is_clean(pods, {name(0), name(1)}, core.c_str()));
}

TEST(BlacklistEvidence, TheOtherDirectionOfAFaultIsClean) {
  const Fabric f = fabric();
  auto document = clean_document(f);
  document.links = {
      {.link = "leaf1--spine1", .from = "leaf1", .ends = {}, .verdict = Verdict::degraded, .evidence = {}}};
  const auto read = evidence_of(f, as_written(document));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_TRUE(is_clean_over(read->evidence, channels(f, "spine1->leaf1"), Cause::loss, std::nullopt));
  EXPECT_FALSE(is_clean_over(read->evidence, channels(f, "leaf1->spine1"), Cause::loss, std::nullopt));
}

}  // namespace
}  // namespace weft::blacklist
