// An agent that asks for queue pairs that make no sense, or tells of them what cannot be: it costs its own
// specs, never those of others, and no host the belief in what it says.
#include <gmock/gmock.h>

#include <set>

#include "probes/datapath/probe_engine.hpp"
#include "probes/engine/verbs/qp_messages.hpp"
#include "tests/probes/engine/verbs/fake_hosts.hpp"

namespace weft::verbs {
namespace {

using ::testing::HasSubstr;

/// The agent here asks for something else than its engine did.
template <class Change>
void offer_falsely(FakeHosts& hosts, Change change) {
  hosts.exchange.ask_falsely(FakeHosts::nic(FakeHosts::kHere), [change](const std::string& truth) {
    auto question = decode_qp_question(truth).value();
    if (auto* offer = std::get_if<ConnectQps>(&question)) change(*offer);
    return encode(question);
  });
}

/// The agent here tells something else of what it moved.
template <class Change>
void close_falsely(FakeHosts& hosts, Change change) {
  hosts.exchange.ask_falsely(FakeHosts::nic(FakeHosts::kHere), [change](const std::string& truth) {
    auto question = decode_qp_question(truth).value();
    if (auto* close = std::get_if<CloseQps>(&question)) change(*close);
    return encode(question);
  });
}

/// Every row once, with figures that can be: what a coordinator believes an honest host.
void expect_believable(const std::vector<datapath::ReceivedTally>& rows) {
  std::set<std::pair<PortId, std::uint32_t>> seen;
  for (const datapath::ReceivedTally& row : rows) {
    EXPECT_TRUE(seen.emplace(row.from, row.spec).second) << "spec " << row.spec << " twice";
    EXPECT_TRUE(datapath::fit(row.bytes, row.packets)) << row.bytes << " bytes in " << row.packets;
  }
}

TEST(LyingAgent, ThatAsksForMoreThanAHostCanSpareIsRefused) {
  FakeHosts hosts;
  offer_falsely(hosts, [](ConnectQps& offer) {
    offer.message = Bytes(1 << 20);
    offer.depth = 256;
    offer.qps.resize(kMaxGroupQps, offer.qps[0]);  // a terabyte
  });
  EXPECT_THAT(said_no(hosts.here->run(hosts.flows({50'000}), {})),
              HasSubstr("fake1: 1048610 MiB of memory for the flows of others, at most"));
  for (const std::int64_t message : {(1 << 20) + 1, 1 << 30}) {
    offer_falsely(hosts, [message](ConnectQps& offer) { offer.message = Bytes(message); });
    EXPECT_THAT(said_no(hosts.here->run(hosts.flows({50'000}), {})), HasSubstr("make no sense"));
  }
  offer_falsely(hosts, [](ConnectQps& offer) { offer.message = Bytes(1 << 20); });
  EXPECT_THAT(said_no(hosts.here->ping(hosts.pings(1), {})), HasSubstr("make no sense"))
      << "no probe is so large";
  offer_falsely(hosts, [](ConnectQps& offer) { offer.qps.clear(); });
  EXPECT_THAT(said_no(hosts.here->run(hosts.flows({50'000}), {})), HasSubstr("0 queue pairs"));
  EXPECT_EQ(hosts.leaked(), 0u);
}

TEST(LyingAgent, ThatNeverClosesItsQueuePairsHasThoseOfOneRequest) {
  FakeHosts hosts;
  hosts.exchange.ask_falsely(FakeHosts::nic(FakeHosts::kHere), [](const std::string& truth) {
    const auto question = decode_qp_question(truth).value();
    return std::holds_alternative<CloseQps>(question) ? encode(QpQuestion(CloseQps{BatchId(999), {}}))
                                                      : truth;
  });
  for (std::uint32_t batch = 1; batch <= 5; ++batch) {
    auto request = hosts.pings(2, 3);
    request.batch = BatchId(batch);
    ASSERT_TRUE(hosts.here->ping(request, {}));
    EXPECT_EQ(hosts.fake.queue_pairs(), 3u) << "after batch " << batch;
  }
  EXPECT_EQ(hosts.there->received(BatchId(1)).value().size(), 3u) << "what came is still known";
}

TEST(LyingAgent, ThatOffersASpecTwiceHasOneRowOfIt) {
  FakeHosts hosts;
  offer_falsely(hosts, [](ConnectQps& offer) {
    for (OfferedQp& qp : offer.qps) qp.spec = 0;
  });
  (void)hosts.here->ping(hosts.pings(3, 3), {});
  (void)hosts.here->ping(hosts.pings(3, 3), {});
  const auto rows = hosts.there->received(BatchId(2)).value();
  EXPECT_EQ(rows.size(), 1u);
  expect_believable(rows);
}

TEST(LyingAgent, ThatTellsFalselyWhatItMovedMakesNoRowsThatCannotBe) {
  const auto rows_after = [](auto change) {
    FakeHosts hosts;
    close_falsely(hosts, change);
    EXPECT_TRUE(hosts.here->run(hosts.flows({50'000, 50'001}), {}));
    const auto rows = hosts.there->received(BatchId(1)).value();
    expect_believable(rows);
    return rows.size();
  };
  EXPECT_EQ(rows_after([](CloseQps&) {}), 2u);
  EXPECT_EQ(rows_after([](CloseQps& close) {
              close.moved.resize(2);
              close.moved[1].spec = 0;
            }),
            1u);
  EXPECT_EQ(rows_after([](CloseQps& close) { close.moved.at(0).bytes = ~0ULL; }), 1u);
  EXPECT_EQ(rows_after([](CloseQps& close) { close.moved.at(0).packets = ~0ULL; }), 1u);
  EXPECT_EQ(rows_after([](CloseQps& close) { close.moved.resize(kMaxGroupQps); }), 2u);
}

TEST(LyingAgent, ThatClaimsARowOfAReadHereDoesNotDoubleIt) {
  FakeHosts hosts;
  auto reads = hosts.flows({50'000});
  reads.flow_options.operation = FlowOperation::read;
  ASSERT_TRUE(hosts.here->run(reads, {}));
  auto writes = hosts.flows({50'000});  // of the same batch and spec
  writes.peers = {{FakeHosts::nic(FakeHosts::kHere), hosts.addresses[FakeHosts::kHere]}};
  ASSERT_TRUE(hosts.there->run(writes, {}));
  expect_believable(hosts.here->received(BatchId(1)).value());
}

TEST(LyingAgent, SaysOfItsOwnFlowsAloneThatTheyWereChanged) {
  constexpr PortId kSecond(12);  // the same device once more
  FakeHosts hosts;
  hosts.nics = std::make_shared<const datapath::RunNics>(
      std::vector<datapath::RunNic>{{FakeHosts::nic(FakeHosts::kHere), hosts.addresses[FakeHosts::kHere]},
                                    {FakeHosts::nic(FakeHosts::kThere), hosts.addresses[FakeHosts::kThere]},
                                    {kSecond, hosts.addresses[FakeHosts::kThere]}});
  hosts.here = hosts.open(FakeHosts::kHere);
  hosts.exchange.join(kSecond, *hosts.there);
  hosts.exchange.answer_falsely(kSecond, [](const std::string& truth) {
    return decode_differing(truth) ? encode_differing({0, 1, 2, 77}) : truth;
  });
  auto request = hosts.flows({50'000, 50'001});
  request.peers.push_back({kSecond, hosts.addresses[FakeHosts::kThere]});
  request.specs[1].peer = 1;
  const auto tallies = hosts.here->run(request, {});
  ASSERT_TRUE(tallies) << tallies.error().message;
  EXPECT_FALSE(tallies->at(0).corrupted);
  EXPECT_TRUE(tallies->at(1).corrupted);
}

TEST(LyingAgent, WhoseLabelsAreNoPortsIsRefused) {
  FakeHosts hosts;
  offer_falsely(hosts, [](ConnectQps& offer) { offer.qps[0].back_label = PathLabel(70'000); });
  EXPECT_THAT(said_no(hosts.here->run(hosts.flows({50'000}), {})), HasSubstr("label 70000 is no UDP port"));
}

}  // namespace
}  // namespace weft::verbs
