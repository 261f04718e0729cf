// From a slow collective to its link: profiles and tables of queue pairs of a ring whose paths are known.
#include <gmock/gmock.h>

#include <array>
#include <map>
#include <set>

#include "collectors/nccl/slow.hpp"
#include "tests/support/schema.hpp"
#include "topology/model/clos.hpp"
#include "topology/routing/ecmp_routing.hpp"

namespace weft::nccl {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr std::uint32_t kQps = 4;
constexpr std::int64_t kStep = 1'000'000;  // nanoseconds that a step waits for the network
constexpr std::size_t kSteps = 8;          // of an operation, in turns over its queue pairs

/// 16 ranks on 8 leaves in a ring that crosses leaves at each hop: `slow` is the channel that holds up the
/// steps of whatever crosses it, by `times` what is usual.
class SlowRing {
 public:
  explicit SlowRing(std::optional<ChannelId> slow = std::nullopt) : slow_(slow) {
    for (std::size_t rank = 0; rank < ranks(); ++rank) add_qps(rank);
    for (const auto& [ends, by_path] : ways_) {
      PairPaths pair{ends.first, ends.second, {}};
      for (const auto& [channels, labels] : by_path)
        pair.paths.push_back({paths.table.intern(channels), {labels.begin(), labels.end()}});
      paths.pairs.push_back(std::move(pair));
    }
  }
  std::size_t ranks() const { return fabric.hosts().size(); }
  /// Neighbours of the ring stand on different leaves.
  PortId nic(std::size_t rank) const { return fabric.nics()[(rank % 8) * 2 + rank / 8]; }

  /// `healthy` all-reduces, then one that waits; `with_qps`: steps tell their queue pairs.
  SlowReport told(int healthy, int held_up, bool with_qps = true) {
    std::vector<RankProfile> profiles;
    for (std::size_t rank = 0; rank < ranks(); ++rank) {
      RankProfile& profile = profiles.emplace_back();
      profile.communicators.push_back({.id = "c0",
                                       .pid = 100 + rank,
                                       .rank = static_cast<std::int64_t>(rank),
                                       .ranks = ranks(),
                                       .host = host_of(rank)});
      for (int i = 0; i < healthy + held_up; ++i) add_collective(profile, rank, i, i >= healthy, with_qps);
    }
    auto report = explain_slow(profiles);
    locate_slow(profiles, tables, {&fabric, &paths, &addresses}, report);
    return report;
  }
  std::string host_of(std::size_t rank) const { return fabric.name_of(fabric.port(nic(rank)).node); }
  /// Crossed by what rank sends by its first queue pair; between switches.
  ChannelId way_of(std::size_t rank) const { return qps_.at(rank).at(0).way.at(1); }

  Fabric fabric = make_clos({.leaves = 8, .spines = 4, .hosts_per_leaf = 2}).value();
  AddressBook addresses = plan_addresses(fabric, IpFamily::v4).value().book;
  PathMap paths;
  std::vector<QpTable> tables;

 private:
  static constexpr std::array<std::size_t, 3> kPeers{1, 3, 6};
  static constexpr std::uint32_t kSending = kQps * static_cast<std::uint32_t>(kPeers.size());
  struct Qp {
    std::uint32_t number;
    std::size_t peer;
    std::vector<ChannelId> way;
  };

  /// To each of three peers, and for what comes of three.
  void add_qps(std::size_t rank) {
    const routing::EcmpRouting routing(fabric, {.seed = 5});
    auto& table = tables.emplace_back();
    table.host = host_of(rank);
    for (std::uint32_t i = 0; i < 2 * kSending; ++i) {
      const bool sends = i < kSending;
      const std::size_t stride = kPeers[i / kQps % kPeers.size()];
      const std::size_t peer = (rank + (sends ? stride : ranks() - stride)) % ranks();
      const std::uint32_t other_end = (i + kSending) % (2 * kSending);
      QpRecord record{.pid = 100 + rank, .number = QpNum(10 + i), .peer_number = QpNum(10 + other_end)};
      record.gid = addresses.address_of(nic(rank));
      record.peer_gid = addresses.address_of(nic(peer));
      record.label = PathLabel(static_cast<std::uint32_t>(50'000 + 100 * rank + 7 * i));
      record.role = sends ? "sends" : "answers";
      std::vector<ChannelId> way;
      routing.path_of(nic(rank), nic(peer), *record.label, way);
      ways_[{nic(rank), nic(peer)}][way].insert(*record.label);
      if (sends) qps_[rank].push_back({record.number.value(), peer, way});
      table.qps.push_back(std::move(record));
    }
  }
  void add_collective(RankProfile& profile, std::size_t rank, int sequence, bool is_held, bool with_qps) {
    profile.collectives.push_back(
        {0, "AllReduce", static_cast<std::uint64_t>(sequence), 4096, "f32", "RING", "SIMPLE"});
    for (const std::size_t stride : kPeers) {
      const std::size_t peer = (rank + stride) % ranks();
      ProfileOperation sends{.collective = profile.collectives.size() - 1,
                             .peer = static_cast<std::int64_t>(peer),
                             .sends = true,
                             .steps = kSteps};
      Nanoseconds all{};
      for (const Qp& qp : qps_[rank]) {
        if (qp.peer != peer) continue;
        const bool crosses = slow_ && std::ranges::count(qp.way, *slow_) > 0;
        const Nanoseconds waited(static_cast<std::int64_t>(kSteps / kQps) * kStep *
                                 (is_held && crosses ? 20 : 1));
        all += waited;
        if (with_qps) sends.qps.push_back({QpNum(qp.number), kSteps / kQps, waited});
      }
      sends.waited[static_cast<std::size_t>(Wait::network)] = all;
      sends.took = all;
      profile.operations.push_back(sends);
    }
  }

  std::optional<ChannelId> slow_;
  std::map<std::size_t, std::vector<Qp>> qps_;
  std::map<std::pair<PortId, PortId>, std::map<std::vector<ChannelId>, std::set<PathLabel>>> ways_;
};

TEST(SlowLinks, OfOneSlowCollectiveTheLinkIsNamedByTheQueuePairsOfItsSteps) {
  const SlowRing any;
  for (std::size_t rank = 0; rank < any.ranks(); ++rank) {
    SlowRing ring(any.way_of(rank));
    const auto told = ring.told(20, 1);
    ASSERT_THAT(told.slow, SizeIs(1)) << rank;
    ASSERT_THAT(told.links, SizeIs(1)) << slow_text(told, 100, 10);
    EXPECT_EQ(told.links[0].link, ring.fabric.name_of(Fabric::link_of(any.way_of(rank)))) << rank;
    EXPECT_THAT(told.evidence, Contains(HasSubstr("a step waits 20 ms for the network, 1 ms elsewhere")));
  }
}

TEST(SlowLinks, OfALinkThatIsSlowAllTheTimeItIsNamed) {
  const SlowRing any;
  SlowRing ring(any.way_of(3));
  const auto told = ring.told(0, 20);
  ASSERT_FALSE(told.standing.empty());
  ASSERT_THAT(told.links, SizeIs(1)) << slow_text(told, 100, 10);
  EXPECT_EQ(told.links[0].link, ring.fabric.name_of(Fabric::link_of(any.way_of(3))));
  expect_matches_schema(slow_json(told, {.tool_version = "x"}), "nccl_slow");
}

TEST(SlowLinks, WhereStepsDoNotTellTheirQueuePairsNoLinkIsNamed) {
  const SlowRing any;
  SlowRing ring(any.way_of(2));
  const auto told = ring.told(20, 1, false);
  EXPECT_THAT(told.links, IsEmpty());
  EXPECT_THAT(told.evidence, Contains(HasSubstr("do not tell by which queue pairs they went")));
}

TEST(SlowLinks, AQueuePairThatTwoDevicesHaveByOneNumberSaysNothing) {
  const SlowRing any;
  SlowRing ring(any.way_of(2));
  for (auto& table : ring.tables) {
    const auto own = table.qps;
    for (QpRecord record : own) {
      record.gid = IpAddress(IpAddress::V4{192, 0, 2, 1});
      table.qps.push_back(record);
    }
  }
  EXPECT_THAT(ring.told(20, 1).links, IsEmpty());
}

TEST(SlowLinks, OfAHealthyJobAndOfOneWithoutTablesNoLinkIsNamed) {
  EXPECT_THAT(SlowRing().told(20, 1).links, IsEmpty());
  const SlowRing any;
  SlowRing ring(any.way_of(0));
  ring.tables.clear();
  const auto told = ring.told(20, 1);
  EXPECT_THAT(told.links, IsEmpty());
  EXPECT_THAT(told.evidence, Contains(HasSubstr("are not in the tables")));
}

TEST(SlowLinks, TablesOfOtherJobsAndContradictoryNumbersNameNothing) {
  const SlowRing any;
  SlowRing ring(any.way_of(0));
  for (auto& table : ring.tables)
    for (auto& record : table.qps) record.number = QpNum(7), record.peer_gid = record.gid;
  EXPECT_THAT(ring.told(20, 1).links, IsEmpty());
  for (auto& table : ring.tables) table.host = "elsewhere";
  EXPECT_THAT(ring.told(20, 1).links, IsEmpty());
}

}  // namespace
}  // namespace weft::nccl
