// Agents that lie in figures of which each could be true: two of them contradict each other.
#include "probes/session/contradictions.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "probes/session/ping_stage.hpp"
#include "topology/model/clos.hpp"

namespace weft::session {
namespace {

using ::testing::HasSubstr;

datapath::ReceivedTally received(std::uint64_t packets, std::uint64_t corrupt = 0) {
  return {.packets = packets, .bytes = packets * 128, .corrupt = corrupt};
}

TEST(Contradictions, AreMoreReceivedThanSentAndMoreAnsweredThanReceived) {
  const auto of = [](const datapath::PingTally& sent, const datapath::ReceivedTally& came) {
    return contradiction_of(sent, &came).value_or("none");
  };
  EXPECT_EQ(of({0, 10, 10, 0}, received(10)), "none");
  EXPECT_EQ(of({0, 10, 0, 0}, received(0)), "none");
  EXPECT_EQ(of({0, 10, 4, 1}, received(5, 5)), "none");
  EXPECT_THAT(of({0, 10, 0, 0}, received(11)), HasSubstr("11 probes received"));
  EXPECT_THAT(of({0, 10, 0, 0}, received(5, 6)), HasSubstr("6 more damaged"));
  EXPECT_THAT(of({0, 10, 0, 0}, received(1, ~0ull)), HasSubstr("damaged"));
  EXPECT_THAT(of({0, 10, 10, 0}, received(9)), HasSubstr("10 probes answered of 9"));
  EXPECT_THAT(of({0, 10, 5, 5}, received(9)), HasSubstr("10 probes answered of 9"));
  datapath::ReceivedTally silent = received(9);
  silent.unsent = 5;
  EXPECT_EQ(of({0, 10, 4, 0}, silent), "none");
  EXPECT_THAT(of({0, 10, 4, 1}, silent), HasSubstr("5 probes answered, 5 answers not sent, of 9"));
  EXPECT_TRUE(contradiction_of(datapath::PingTally{0, 10, 1, 0}, nullptr))
      << "answered by who received nothing";
  EXPECT_FALSE(contradiction_of(datapath::PingTally{0, 10, 0, 0}, nullptr));
  const datapath::ReceivedTally came = received(10);
  EXPECT_TRUE(contradiction_of(datapath::FlowTally{.packets = 9, .bytes = 9 * 128}, &came));
  EXPECT_FALSE(contradiction_of(datapath::FlowTally{.packets = 10, .bytes = 1280}, &came));
  EXPECT_FALSE(contradiction_of(datapath::FlowTally{.packets = 10, .bytes = 1280}, nullptr));
}

/// Every host pings every other, ten packets each, and all but `liar` tell the truth: nothing was lost.
struct Liars {
  explicit Liars(std::uint32_t hosts = 4)
      : fabric(make_clos({.leaves = hosts, .spines = 1, .hosts_per_leaf = 1}).value()) {}
  Fabric fabric;
  AddressPlan addresses = plan_addresses(fabric, IpFamily::v4).value();
  SweepInputs in{fabric, addresses.book, {}, RunId(1)};
  SweepResults results{in};

  PortId nic(const char* host) const { return *fabric.find_nic(host); }

  void run(PortId liar, bool lies_as_receiver, std::size_t hosts = 4) {
    std::vector<CountedPing> pings;
    const auto nics = fabric.nics();
    for (std::size_t from = 0; from < hosts; ++from)
      for (std::size_t to = 0; to < hosts; ++to)
        if (from != to) pings.push_back({{.pair = {nics[from], nics[to]}, .label = PathLabel(50'000)}, 10});
    PingStage stage(in, results, pings, Bytes(128), 1000);
    std::map<PortId, std::vector<PortId>> targets;  // by spec
    for (const WorkItem& item : stage.next_wave()) {
      const auto& request = std::get<datapath::PingRequest>(item.work);
      std::vector<datapath::PingTally> tallies;
      for (std::uint32_t spec = 0; spec < request.specs.size(); ++spec) {
        targets[item.nic].push_back(request.peers[request.specs[spec].peer].nic);
        tallies.push_back({spec, item.nic == liar && !lies_as_receiver ? 5u : 10u, 5, 0});
      }
      const TaskAnswer answer = tallies;
      stage.take(item, &answer);
    }
    for (const WorkItem& item : stage.next_wave()) {
      std::vector<datapath::ReceivedTally> tallies;
      for (const auto& [from, peers] : targets)
        for (std::uint32_t spec = 0; spec < peers.size(); ++spec)
          if (peers[spec] == item.nic)
            tallies.push_back({.batch = std::get<ReceivedQuery>(item.work).batch,
                               .from = from,
                               .spec = spec,
                               .packets = item.nic == liar && lies_as_receiver ? 4u : 10u});
      const TaskAnswer answer = tallies;
      stage.take(item, &answer);
    }
    EXPECT_TRUE(stage.next_wave().empty());
  }
};

TEST(Contradictions, AHostThatContradictsAllOthersIsNamedAndNothingItSaidIsKept) {
  for (const bool lies_as_receiver : {true, false}) {
    Liars run;
    const PortId liar = run.nic("host3");
    run.run(liar, lies_as_receiver);
    ASSERT_EQ(run.results.observations.hosts.size(), 1u);
    const HostEvidence& said = run.results.observations.hosts[0];
    EXPECT_EQ(said.nic, liar);
    EXPECT_EQ(said.verdict, Verdict::failed);
    EXPECT_THAT(said.text, HasSubstr("contradict those of 3 others"));
    EXPECT_FALSE(run.results.takes_part(liar));
    EXPECT_EQ(run.results.sent, 6u * 10u) << "what the other three said of each other";
    EXPECT_EQ(run.results.lost, 0u);
  }
}

TEST(Contradictions, OfTwoHostsBothAreNamedAndNeitherIsBelieved) {
  Liars run;
  run.run(run.nic("host2"), true, 2);
  ASSERT_EQ(run.results.observations.hosts.size(), 2u);
  for (const HostEvidence& said : run.results.observations.hosts) {
    EXPECT_EQ(said.verdict, Verdict::unknown);
    EXPECT_THAT(said.text, HasSubstr("5 probes answered of 4 received"));
  }
  EXPECT_TRUE(run.results.takes_part(run.nic("host1")));
  EXPECT_EQ(run.results.sent, 10u) << "the other way is not contradicted";
}

/// Figures of NICs by their place among `nics`, each of which contradicts all others that it is asked about.
std::set<PortId> culprits_of(Liars& run, const std::vector<PortId>& nics,
                             const std::vector<std::pair<std::size_t, std::size_t>>& contradicting) {
  std::vector<Contradiction> all;
  for (const auto& [one, other] : contradicting) all.push_back({nics[one], nics[other], "11 of 10"});
  return note_contradictions(run.fabric, run.results, all);
}

std::vector<PortId> nics_of(const Liars& run) {
  const auto nics = run.fabric.nics();
  return {nics.begin(), nics.end()};
}

TEST(Contradictions, TwoThatCountTooMuchAreNamedAndNoneOfThoseThatProbedThem) {
  Liars run(16);
  const auto nics = nics_of(run);
  std::vector<std::pair<std::size_t, std::size_t>> all;
  for (std::size_t liar : {3, 8})
    for (std::size_t from = 0; from < nics.size(); ++from)
      if (from != liar) all.emplace_back(from, liar);
  EXPECT_EQ(culprits_of(run, nics, all), (std::set{nics[3], nics[8]}));
  ASSERT_EQ(run.results.observations.hosts.size(), 2u) << "the others are believed";
  for (const HostEvidence& said : run.results.observations.hosts) EXPECT_EQ(said.verdict, Verdict::failed);
}

TEST(Contradictions, WhomTwoAccuseMayBeTheOneThatTellsTheTruth) {
  Liars run(16);
  const auto nics = nics_of(run);
  EXPECT_TRUE(culprits_of(run, nics, {{0, 5}, {1, 5}}).empty());
  ASSERT_EQ(run.results.observations.hosts.size(), 3u);
  for (const HostEvidence& said : run.results.observations.hosts) EXPECT_EQ(said.verdict, Verdict::unknown);
  for (const std::size_t one : {0, 1, 5}) EXPECT_TRUE(run.results.takes_part(nics[one]));
}

TEST(Contradictions, OfWhomTwoLiarsAccuseNobodyIsNamedWhateverElseTheyContradict) {
  std::mt19937 random(3);
  std::size_t named = 0;
  for (int draw = 0; draw < 300; ++draw) {
    Liars run(16);
    auto nics = nics_of(run);
    std::ranges::shuffle(nics, random);
    const std::size_t share = 1 + random() % 4;  // of four whom a liar contradicts
    std::vector<std::pair<std::size_t, std::size_t>> all;
    for (std::size_t liar = 0; liar < 2; ++liar)
      for (std::size_t other = liar + 1; other < nics.size(); ++other)
        if (random() % 4 < share) all.emplace_back(liar, other);
    const auto culprits = culprits_of(run, nics, all);
    for (const PortId culprit : culprits) EXPECT_TRUE(culprit == nics[0] || culprit == nics[1]) << draw;
    named += culprits.size();
  }
  EXPECT_GT(named, 400u) << "of 600";
}

TEST(Contradictions, OneThatContradictsItselfIsNamed) {
  Liars run;
  const PortId liar = run.nic("host1");
  EXPECT_EQ(note_contradictions(run.fabric, run.results, {{liar, liar, "5 of 4"}}), std::set{liar});
  EXPECT_THAT(run.results.observations.hosts.at(0).text, HasSubstr("its own figures"));
}

}  // namespace
}  // namespace weft::session
