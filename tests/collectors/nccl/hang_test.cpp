// Whole verdicts over simulated jobs: who is named, and that nobody else is.
#include "collectors/nccl/hang.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "collectors/nccl/hang_report.hpp"
#include "tests/support/hung_job.hpp"
#include "tests/support/schema.hpp"

namespace weft::nccl {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

HungJobSpec small(JobFault fault, std::uint64_t seed = 1) {
  return {.pods = 2, .hosts_per_pod = 4, .rails = 4, .spines = 4, .fault = fault, .seed = seed};
}

TEST(Hang, OfAJobInWhichAllIsCompletedNothingHangs) {
  const auto told = HungJob(small(JobFault::none)).explain();
  EXPECT_EQ(told.cause, HangCause::none) << told.sentence;
  EXPECT_EQ(told.verdict, Verdict::healthy);
}

struct RankCase {
  JobFault fault;
  HangCause cause;
};
class RankFault : public testing::TestWithParam<RankCase> {};
TEST_P(RankFault, NamesThatRankAndNoLink) {
  for (const std::uint64_t seed : {1, 2, 3}) {
    const HungJob job(small(GetParam().fault, seed));
    const auto told = job.explain();
    EXPECT_EQ(told.cause, GetParam().cause) << told.sentence;
    EXPECT_THAT(told.ranks, ElementsAre(*job.faulty_rank)) << told.sentence;
    EXPECT_THAT(told.links, IsEmpty());
  }
}
INSTANTIATE_TEST_SUITE_P(Each, RankFault,
                         testing::Values(RankCase{JobFault::never_entered, HangCause::never_entered},
                                         RankCase{JobFault::dead, HangCause::dead},
                                         RankCase{JobFault::mismatch, HangCause::mismatch},
                                         RankCase{JobFault::host_stopped, HangCause::host},
                                         RankCase{JobFault::gpu_stuck, HangCause::host},
                                         RankCase{JobFault::slow_gpu, HangCause::slow_rank}));

struct LinkCase {
  JobFault fault;
  HangCause cause;
};
class LinkFault : public testing::TestWithParam<LinkCase> {};
TEST_P(LinkFault, NamesTheLink) {
  for (const std::uint64_t seed : {1, 2, 3}) {
    const HungJob job(small(GetParam().fault, seed));
    const auto told = job.explain();
    EXPECT_EQ(told.cause, GetParam().cause) << told.sentence;
    ASSERT_THAT(told.links, SizeIs(1)) << told.sentence;
    EXPECT_EQ(told.links.front().link, job.fabric.name_of(Fabric::link_of(*job.faulty_channel)));
    EXPECT_GE(told.links.front().confidence, 0.9);
  }
}
INSTANTIATE_TEST_SUITE_P(Each, LinkFault,
                         testing::Values(LinkCase{JobFault::black_hole, HangCause::network},
                                         LinkCase{JobFault::loss, HangCause::network},
                                         LinkCase{JobFault::slow_channel, HangCause::slow_network}));

TEST(Hang, NamesTheLinkWhereQueuePairsOfDevicesAndOfPodsHaveEqualNumbers) {
  for (const EqualNumbers equal : {EqualNumbers::of_devices, EqualNumbers::of_pods})
    for (const JobFault fault : {JobFault::black_hole, JobFault::loss, JobFault::slow_channel})
      for (const std::uint64_t seed : {1, 2, 3}) {
        auto spec = small(fault, seed);
        spec.equal = equal;
        const HungJob job(spec);
        const auto told = job.explain();
        ASSERT_THAT(told.links, SizeIs(1)) << told.sentence;
        EXPECT_EQ(told.links.front().link, job.fabric.name_of(Fabric::link_of(*job.faulty_channel)));
      }
}

/// Entries of one group by number; all but the last `open` are completed.
struct History {
  std::string group = "0";
  std::vector<Rank> members = {0, 1, 2, 3};
  std::vector<std::uint64_t> numbers = {1, 2, 3};
  std::size_t open = 1;
  Operation operation = {"nccl:all_reduce", 64, 64, "Float", "Float"};
  bool is_p2p = false;
};

RankDump dump_of(Rank rank, const std::vector<History>& histories) {
  RankDump made{rank, fmt::format("nccl_trace_rank_{}", rank), {}};
  std::uint64_t record = 0;
  for (const History& history : histories) {
    const auto group = static_cast<std::uint32_t>(made.dump.groups.size());
    made.dump.groups.push_back({history.group, "", history.members});
    made.dump.operations.push_back(history.operation);
    for (std::size_t i = 0; i < history.numbers.size(); ++i) {
      FlightEntry entry{
          .record = record++, .collective = history.numbers[i], .group = group, .operation = group};
      entry.is_p2p = history.is_p2p;
      entry.timeout_ms = 600'000;
      const bool open = i + history.open >= history.numbers.size();
      entry.state = open ? EntryState::started : EntryState::completed;
      made.dump.entries.push_back(entry);
    }
  }
  return made;
}

/// Four ranks that wait in the third collective, but for those that `change` says otherwise of.
HangInput four(const std::map<Rank, std::vector<History>>& change, const std::vector<Rank>& without = {}) {
  HangInput made;
  for (Rank rank = 0; rank < 4; ++rank) {
    if (std::ranges::count(without, rank) > 0) continue;
    const auto other = change.find(rank);
    made.dumps.push_back(dump_of(rank, other == change.end() ? std::vector<History>{{}} : other->second));
  }
  return made;
}

HangVerdict told_of(const HangInput& input) { return explain_hang(input, std::nullopt); }

RasReport ras_of(std::size_t size, const std::map<Rank, RasState>& states) {
  RasCommunicator communicator{.hash = "0x1", .size = size};
  for (Rank rank = 0; rank < size; ++rank)
    communicator.ranks.push_back(
        {rank, "10.0.0.1", 100 + rank, states.contains(rank) ? states.at(rank) : RasState::answers});
  return {.communicators = {communicator}};
}

TEST(Hang, ARankWithoutADumpIsUnknownUntilRasCallsItDead) {
  auto input = four({}, {2});
  EXPECT_EQ(told_of(input).cause, HangCause::unknown);
  EXPECT_THAT(told_of(input).sentence, HasSubstr("unknown, because 1 of the 4 ranks"));
  input.ras = ras_of(4, {});
  EXPECT_EQ(told_of(input).cause, HangCause::unknown);
  input.ras = ras_of(4, {{2, RasState::dead}});
  EXPECT_EQ(told_of(input).cause, HangCause::dead);
  EXPECT_THAT(told_of(input).sentence, HasSubstr("rank 2 (process 102 on 10.0.0.1)"));
  EXPECT_THAT(told_of(input).victims, ElementsAre(0, 1, 3));
}

TEST(Hang, ARankThatRasCallsDeadButLeftADumpDiedLater) {
  auto input = four({{1, {{.numbers = {1, 2}, .open = 0}}}});
  input.ras = ras_of(4, {{3, RasState::dead}});
  EXPECT_EQ(told_of(input).cause, HangCause::never_entered);
  EXPECT_THAT(told_of(input).ranks, ElementsAre(1));
}

TEST(Hang, WhenManyAreDeadNobodyIsNamed) {
  HangInput input;
  std::vector<Rank> all(100);
  std::map<Rank, RasState> states;
  for (Rank rank = 0; rank < 100; ++rank) {
    all[rank] = rank;
    if (rank >= 50) states[rank] = RasState::dead;
  }
  for (Rank rank = 0; rank < 50; ++rank) input.dumps.push_back(dump_of(rank, {{.members = all}}));
  input.ras = ras_of(100, states);
  EXPECT_EQ(told_of(input).cause, HangCause::unknown) << told_of(input).sentence;
  EXPECT_THAT(told_of(input).ranks, IsEmpty());
}

TEST(Hang, ADumpOfOnlyWhatIsUnderWayDoesNotSayThatARankNeverEntered) {
  const auto told = told_of(four({{1, {{.numbers = {}}}}}));
  EXPECT_EQ(told.cause, HangCause::unknown) << told.sentence;
  EXPECT_THAT(told.sentence, HasSubstr("may have completed all of it"));
}

TEST(Hang, WhereMostHaveNotEnteredTheDumpsAreOfDifferentMoments) {
  const History behind{.numbers = {1, 2}, .open = 0};
  EXPECT_EQ(told_of(four({{0, {behind}}, {1, {behind}}, {2, {behind}}})).cause, HangCause::unknown);
}

TEST(Hang, OfTwoDumpsOfARankNoneIsUsed) {
  auto input = four({{2, {{.numbers = {1, 2}, .open = 0}}}});
  EXPECT_EQ(told_of(input).cause, HangCause::never_entered);
  input.dumps.push_back(dump_of(2, {{}}));
  const auto told = told_of(input);
  EXPECT_EQ(told.cause, HangCause::unknown) << told.sentence;
  EXPECT_THAT(told.missing, testing::Contains(HasSubstr("more than one dump")));
}

TEST(Hang, OneDumpThatTellsOtherMembersIsNotUsedAndHalfOfThemDecideNothing) {
  HangInput input;
  const std::vector<Rank> members{0, 1, 2, 3, 4, 5, 6, 7};
  for (Rank rank = 0; rank < 8; ++rank)
    input.dumps.push_back(
        dump_of(rank, {{.members = rank == 5 ? std::vector<Rank>{0, 5} : members, .numbers = {1, 2, 3}}}));
  input.dumps[6] = dump_of(6, {{.members = members, .numbers = {1, 2}, .open = 0}});
  EXPECT_EQ(told_of(input).cause, HangCause::never_entered) << told_of(input).sentence;
  EXPECT_THAT(told_of(input).ranks, ElementsAre(6));
  for (Rank rank = 0; rank < 4; ++rank) input.dumps[rank].dump.groups[0].ranks = {0, 1, 2, 3, 4};
  EXPECT_EQ(told_of(input).verdict, Verdict::unknown) << told_of(input).sentence;
}

TEST(Hang, WithoutTheMembersOfAGroupNothingIsHealthy) {
  HangInput input;
  input.dumps.push_back(dump_of(0, {{.members = {}, .open = 0}}));
  EXPECT_EQ(told_of(input).verdict, Verdict::unknown);
  EXPECT_EQ(told_of({}).verdict, Verdict::unknown);
}

TEST(Hang, RanksThatWaitInAnotherGroupAreVictimsThere) {
  // Rank 1 never came to group 1; rank 0 waits there, and all others wait for both.
  const History all{.numbers = {1, 2}, .open = 0};
  const auto told = told_of(four({{0, {all, {.group = "1", .members = {0, 1}, .numbers = {8, 9}}}},
                                  {1, {all, {.group = "1", .members = {0, 1}, .numbers = {8}, .open = 0}}}}));
  EXPECT_EQ(told.cause, HangCause::never_entered) << told.sentence;
  EXPECT_THAT(told.ranks, ElementsAre(1));
  EXPECT_EQ(told.collective->group, "1");
}

TEST(Hang, GroupsCalledInDifferentOrdersAreACircle) {
  const History first{.group = "a", .members = {0, 1}, .numbers = {1, 2}};
  const History second{.group = "b", .members = {0, 1}, .numbers = {1, 2}};
  const auto done = [](History history) {
    history.numbers = {1}, history.open = 0;
    return history;
  };
  HangInput input;
  input.dumps.push_back(dump_of(0, {first, done(second)}));
  input.dumps.push_back(dump_of(1, {done(first), second}));
  const auto told = told_of(input);
  EXPECT_EQ(told.cause, HangCause::order) << told.sentence;
  EXPECT_THAT(told.ranks, ElementsAre(0, 1));
}

TEST(Hang, ATransferWhoseOtherHalfNobodyPostedNamesThePeer) {
  const History send{
      .numbers = {1}, .operation = {"nccl:send 0->2", 64, 64, "Float", "Float"}, .is_p2p = true};
  const History done{.numbers = {1, 2}, .open = 0};
  const auto told = told_of(four({{0, {done, send}}, {1, {done}}, {2, {done}}, {3, {done}}}));
  EXPECT_EQ(told.cause, HangCause::never_entered) << told.sentence;
  EXPECT_THAT(told.ranks, ElementsAre(2));
}

/// The second of two sends waits; rank 2 has posted so many receives, and completed them.
HangVerdict told_of_second_send(std::size_t receives) {
  const History done{.numbers = {1, 2}, .open = 0};
  const History send{
      .numbers = {1, 2}, .operation = {"nccl:send 0->2", 64, 64, "Float", "Float"}, .is_p2p = true};
  const History receive{.numbers = std::vector<std::uint64_t>(receives, 1),
                        .open = 0,
                        .operation = {"nccl:recv 2<-0", 64, 64, "Float", "Float"},
                        .is_p2p = true};
  return told_of(four({{0, {done, send}}, {1, {done}}, {2, {done, receive}}, {3, {done}}}));
}

TEST(Hang, TransfersBetweenTwoRanksAreMatchedByTheirNumber) {
  const auto told = told_of_second_send(1);
  EXPECT_EQ(told.cause, HangCause::never_entered) << told.sentence;
  EXPECT_THAT(told.ranks, ElementsAre(2));
  EXPECT_THAT(told.evidence, testing::Contains(HasSubstr("waits in transfer 2 of nccl:send 0->2")));
  // Its half is done: whatever keeps the other, it is not rank 2.
  EXPECT_EQ(told_of_second_send(2).cause, HangCause::unknown) << told_of_second_send(2).sentence;
}

TEST(Hang, ShapesOfEqualSizeAndSizesOfAnAllToAllAreNoMismatch) {
  const Operation exchange{"nccl:all_to_all", 10, 20, "Float", "Float"};
  auto other = exchange;
  other.input_elements = 99;
  const auto told = told_of(four({{0, {{.operation = exchange}}},
                                  {1, {{.operation = exchange}}},
                                  {2, {{.operation = exchange}}},
                                  {3, {{.operation = other}}}}));
  EXPECT_EQ(told.cause, HangCause::unknown) << told.sentence;
}

TEST(Hang, WhoScattersNothingIsNoMismatch) {
  Operation root{"nccl:scatter", 64, 16, "Float", "Float"}, other{"nccl:scatter", 0, 16, "", "Float"};
  const auto told = told_of(four({{0, {{.operation = root}}},
                                  {1, {{.operation = other}}},
                                  {2, {{.operation = other}}},
                                  {3, {{.numbers = {1, 2}, .open = 0, .operation = other}}}}));
  EXPECT_EQ(told.cause, HangCause::never_entered) << told.sentence;
  EXPECT_THAT(told.ranks, ElementsAre(3));
}

TEST(Hang, WhereNobodyTellsOfStartsNoGpuIsSaidToHaveNeverStarted) {
  // A broadcast that a link cuts: who is before it completed it, who is behind is scheduled.
  const Operation broadcast{"nccl:broadcast", 64, 64, "Float", "Float"};
  auto input = four({{0, {{.open = 0, .operation = broadcast}}},
                     {1, {{.open = 0, .operation = broadcast}}},
                     {2, {{.open = 0, .operation = broadcast}}},
                     {3, {{.operation = broadcast}}}});
  for (RankDump& dump : input.dumps)
    for (FlightEntry& entry : dump.dump.entries)
      if (entry.state == EntryState::started) entry.state = EntryState::scheduled;
  EXPECT_NE(told_of(input).cause, HangCause::host) << told_of(input).sentence;
}

TEST(Hang, TwoRanksThatDisagreeAreBothNamed) {
  HangInput input;
  for (Rank rank : {0, 1}) input.dumps.push_back(dump_of(rank, {{.members = {0, 1}}}));
  input.dumps[1].dump.operations[0].input_type = "Half";
  const auto told = told_of(input);
  EXPECT_EQ(told.cause, HangCause::mismatch);
  EXPECT_THAT(told.ranks, ElementsAre(0, 1));
  EXPECT_THAT(told.sentence, HasSubstr("disagree"));
}

TEST(Hang, WithoutAFabricTheNetworkIsNamedAndNoLink) {
  auto input = four({});
  QpRecord qp{.pid = 1, .rank = 0, .number = QpNum(5), .bytes = 9, .outstanding = 3};
  qp.oldest = std::chrono::seconds(9);
  input.qps.push_back({"host1", {}, {qp}});
  const auto told = told_of(input);
  EXPECT_EQ(told.cause, HangCause::network) << told.sentence;
  EXPECT_THAT(told.links, IsEmpty());
  EXPECT_THAT(told.missing, testing::Contains(HasSubstr("--fabric")));
  // NCCL's values: 4.096 us * 2^20 * 8 = 34.4 s, long before the watchdog.
  ASSERT_THAT(told.limits, SizeIs(2));
  EXPECT_EQ(told.limits[0].what, "queue pair");
  EXPECT_NEAR(told.limits[0].seconds, 34.36, 0.01);
  EXPECT_EQ(told.limits[1].seconds, 600);
}

/// Two tables of four that wait, 3 s apart: number 17 of one process and device moves, that of another
/// stands.
HangInput equal_numbers(const QpRecord& moves, const QpRecord& stands) {
  auto input = four({});
  QpRecord later = moves;
  later.bytes += 500'000;  // no job that moves
  input.qps.push_back({"gpu1", std::chrono::seconds(10), {moves, stands}});
  input.qps.push_back({"gpu1", std::chrono::seconds(13), {stands, later}});
  return input;
}

TEST(Hang, QueuePairsOfTwoDevicesOrRanksAreNotTakenForOneByTheirNumber) {
  const QpRecord fine{.pid = 4711, .rank = 0, .number = QpNum(17), .bytes = 9'000'000, .device = "mlx5_0"};
  QpRecord stalled = fine;
  stalled.outstanding = 3;
  stalled.bytes = 1'000'000;
  const HungJob site(small(JobFault::none));
  const auto expect_one = [&](const HangInput& input, const char* whose) {
    const auto told = told_of(input);
    EXPECT_EQ(told.cause, HangCause::network) << told.sentence;
    EXPECT_THAT(told.sentence, HasSubstr("1 of 2 queue pairs have work under way that nobody acknowledges"));
    EXPECT_THAT(explain_hang(input, JobFabric{&site.fabric}).evidence, testing::Contains(HasSubstr(whose)));
  };
  QpRecord other = stalled;
  other.device = "mlx5_1";
  expect_one(equal_numbers(fine, other), "queue pair mlx5_1/17 of process 4711 on gpu1 (rank 0)");
  other = stalled;
  other.rank = 1;  // two pods
  expect_one(equal_numbers(fine, other), "of process 4711 on gpu1 (rank 1)");
  other = stalled;
  other.nic = "gpu1/p2";
  expect_one(equal_numbers(fine, other), "queue pair");
  other = stalled;
  other.gid = IpAddress(IpAddress::V4{10, 0, 0, 2});
  expect_one(equal_numbers(fine, other), "queue pair");
}

TEST(Hang, AQueuePairThatTellsNoRankIsNobodysWhereTwoRanksHaveItsPid) {
  auto input = four({});
  RasCommunicator all{.hash = "a", .size = 4, .ranks = {}};
  for (Rank rank = 0; rank < 4; ++rank) all.ranks.push_back({rank, "gpu1", rank < 2 ? 7 : 100 + rank});
  input.ras = RasReport{};
  input.ras->communicators = {all};
  const QpRecord waits{.pid = 7, .number = QpNum(5), .bytes = 9};
  QpRecord stalled{.pid = 102, .number = QpNum(6), .bytes = 9, .outstanding = 3};
  stalled.oldest = std::chrono::seconds(9);
  input.qps.push_back({"gpu1", {}, {waits, stalled}});
  EXPECT_EQ(told_of(input).cause, HangCause::network) << told_of(input).sentence;
  EXPECT_THAT(told_of(input).victims, IsEmpty());
}

TEST(Hang, QueuePairsByTheKernelsListAloneAreNoEvidence) {
  auto input = four({});
  QpTable table{.host = "host1", .at = std::chrono::seconds(1)};
  table.by_kernel = true;
  table.qps.push_back({.pid = 1, .number = QpNum(5), .state = "RTS"});
  input.qps = {table, table};
  input.qps[1].at = std::chrono::seconds(5);
  const auto told = told_of(input);
  EXPECT_EQ(told.cause, HangCause::unknown) << told.sentence;
  EXPECT_THAT(told.sentence, HasSubstr("tables of their queue pairs (--qps) would tell"));
  EXPECT_THAT(told.missing, testing::Contains(HasSubstr("the kernel's list alone tells of them")));
  // Beside one that stalls they neither acquit its path nor stand for ranks that wait.
  QpRecord qp{.pid = 2, .rank = 0, .number = QpNum(5), .bytes = 9, .outstanding = 3};
  qp.oldest = std::chrono::seconds(9);
  input.qps.push_back({"host1", {}, {qp}});
  const auto named = told_of(input);
  EXPECT_EQ(named.cause, HangCause::network) << named.sentence;
  EXPECT_THAT(named.evidence, testing::Contains(HasSubstr("1 of 1 queue pairs")));
}

TEST(Hang, ARankWithoutADumpMayBeDeadAndThenNoNetworkIsNamed) {
  auto input = four({});
  input.dumps.pop_back();
  QpRecord qp{.pid = 1, .rank = 0, .number = QpNum(5), .bytes = 9, .outstanding = 3};
  qp.oldest = std::chrono::seconds(9);
  input.qps.push_back({"host1", {}, {qp}});
  const auto unknown = told_of(input);
  EXPECT_EQ(unknown.cause, HangCause::unknown) << unknown.sentence;
  EXPECT_THAT(unknown.sentence, HasSubstr("1 of 4 ranks left no dump"));
  RasCommunicator all{.hash = "a", .size = 4, .ranks = {}};
  for (Rank rank = 0; rank < 4; ++rank) all.ranks.push_back({rank, "host1", 100 + rank, RasState::answers});
  input.ras = RasReport{};
  input.ras->communicators = {all};
  const auto lives = told_of(input);
  EXPECT_EQ(lives.cause, HangCause::network) << lives.sentence;
}

TEST(Hang, AHostThatAcknowledgesNothingIsNoLinksFault) {
  HungJob job(small(JobFault::none));
  auto input = four({});
  const Fabric& fabric = job.fabric;
  std::uint32_t number = 0;
  for (std::size_t host = 1; host < fabric.hosts().size(); ++host) {
    QpTable table{.host = fabric.name_of(fabric.hosts()[host])};
    for (std::size_t rail = 0; rail < 4; ++rail) {
      QpRecord qp{.pid = 1, .number = QpNum(++number), .bytes = 9, .outstanding = 3};
      qp.nic = fabric.name_of_nic(fabric.ports_of(fabric.hosts()[host])[rail]);
      qp.peer_nic = fabric.name_of_nic(fabric.ports_of(fabric.hosts()[0])[rail]);
      qp.oldest = std::chrono::seconds(9);
      table.qps.push_back(qp);
    }
    input.qps.push_back(table);
  }
  for (const PortId nic : fabric.ports_of(fabric.hosts()[0]))
    for (const PortId other : fabric.nics())
      if (other != nic &&
          fabric.target_node(*fabric.channel_from(other)) == fabric.target_node(*fabric.channel_from(nic)))
        job.paths.pairs.push_back(
            {other,
             nic,
             {{job.paths.table.intern({*fabric.channel_from(other), *fabric.channel_into(nic)}), {}}}});
  const auto told = explain_hang(input, JobFabric{&fabric, &job.paths, nullptr});
  EXPECT_EQ(told.cause, HangCause::host) << told.sentence;
  EXPECT_THAT(told.links, IsEmpty());
  EXPECT_THAT(told.sentence, HasSubstr(fabric.name_of(fabric.hosts()[0])));
}

HungJobSpec by_proxies(JobFault fault, std::uint64_t seed) {
  auto spec = small(fault, seed);
  spec.only_under_way = true;
  spec.with_ras = spec.with_qps = false;
  return spec;
}

TEST(HangByProxies, OfDumpsOfOnlyWhatIsUnderWayTheRankIsNamedForWhichTheOthersWait) {
  for (const std::uint64_t seed : {1, 2, 3, 4}) {
    auto spec = by_proxies(JobFault::never_entered, seed);
    spec.with_proxies = true;
    const HungJob job(spec);
    const auto told = job.explain();
    EXPECT_EQ(told.cause, HangCause::never_entered) << told.sentence;
    EXPECT_THAT(told.ranks, ElementsAre(*job.faulty_rank));
    EXPECT_THAT(told.evidence, testing::Contains(HasSubstr(fmt::format("sends, rank"))));
  }
  EXPECT_EQ(HungJob(by_proxies(JobFault::never_entered, 1)).explain().cause, HangCause::unknown);
}

TEST(HangByProxies, WhoWaitsForARankWithoutADumpIsTold) {
  auto spec = small(JobFault::dead, 2);
  spec.with_ras = spec.with_qps = false;
  spec.with_proxies = true;
  const HungJob job(spec);
  const auto told = job.explain();
  EXPECT_EQ(told.cause, HangCause::unknown) << told.sentence;
  const Rank before = (*job.faulty_rank + 28) % 32;  // on its rail, a host earlier
  EXPECT_THAT(told.evidence, testing::Contains(fmt::format(
                                 "rank {} waits on channel 0 to send to rank {}, which left no dump", before,
                                 *job.faulty_rank)));
}

TEST(HangByProxies, OfANetworkThatCarriesNothingNoRankIsNamed) {
  for (const JobFault fault : {JobFault::black_hole, JobFault::loss}) {
    auto spec = by_proxies(fault, 3);
    spec.with_proxies = true;
    EXPECT_THAT(HungJob(spec).explain().ranks, IsEmpty());
    spec.with_qps = true;
    EXPECT_EQ(HungJob(spec).explain().cause, HangCause::network);
  }
}

ProxyState state_of(Rank own, std::vector<ActiveTransfer> active) {
  return {.communicator = "0x1", .rank = own, .is_whole = true, .active = std::move(active)};
}

TEST(HangByProxies, WhileTheyHaveSomethingUnderWayNothingIsCalledHealthy) {
  const History done{.open = 0};
  auto input = four({{0, {done}}, {1, {done}}, {2, {done}}, {3, {done}}});
  EXPECT_EQ(told_of(input).cause, HangCause::none);
  for (Rank rank = 0; rank < 4; ++rank) input.dumps[rank].dump.proxies = {state_of(rank, {})};
  EXPECT_EQ(told_of(input).cause, HangCause::none);
  input.dumps[3].dump.proxies = {state_of(3, {{.remote = 2, .channel = 5}})};
  const auto told = told_of(input);
  EXPECT_EQ(told.cause, HangCause::unknown) << told.sentence;
  EXPECT_THAT(told.sentence, HasSubstr("proxies"));
  EXPECT_THAT(told.evidence,
              ElementsAre("rank 3 waits on channel 5 for what rank 2 sends, which has nothing under way"));
  input.dumps[3].dump.proxies[0].rank.reset();  // whose ranks these are is not known
  for (Rank rank = 0; rank < 3; ++rank) input.dumps[rank].dump.proxies.clear();
  EXPECT_EQ(told_of(input).cause, HangCause::unknown);
}

/// Rank 1 has no entry of the group in which the others wait.
HangInput one_without_entries(std::vector<ActiveTransfer> of_rank_0, std::vector<ActiveTransfer> of_rank_1,
                              std::vector<ActiveTransfer> of_rank_2) {
  const History past{.group = "1", .members = {0, 1}, .open = 0};  // its dump has lost the older
  auto input = four({{1, {past, {.numbers = {}}}}});
  input.dumps[0].dump.proxies = {state_of(0, std::move(of_rank_0))};
  input.dumps[1].dump.proxies = {state_of(1, std::move(of_rank_1))};
  input.dumps[2].dump.proxies = {state_of(2, std::move(of_rank_2))};
  return input;
}

TEST(HangByProxies, ARankIsNamedOnlyWhereOthersWaitForItBothWaysAndItHasNothingUnderWay) {
  const ActiveTransfer to_1{.remote = 1, .sends = true}, of_1{.remote = 1}, to_2{.remote = 2, .sends = true};
  const auto named = told_of(one_without_entries({to_1}, {}, {of_1}));
  EXPECT_EQ(named.cause, HangCause::never_entered) << named.sentence;
  EXPECT_THAT(named.ranks, ElementsAre(1));
  // One way alone may be a lost acknowledgement, or a GPU that does not take what came.
  EXPECT_EQ(told_of(one_without_entries({to_1}, {}, {})).cause, HangCause::unknown);
  EXPECT_EQ(told_of(one_without_entries({}, {}, {of_1})).cause, HangCause::unknown);
  EXPECT_EQ(told_of(one_without_entries({to_1}, {to_2}, {of_1})).cause, HangCause::unknown);
  auto unread = one_without_entries({to_1}, {}, {of_1});
  unread.dumps[1].dump.proxies[0].is_whole = false;
  EXPECT_EQ(told_of(unread).cause, HangCause::unknown);
  auto contradictory = one_without_entries({to_1}, {}, {of_1});
  contradictory.dumps[3].dump.proxies = {state_of(1, {})};
  EXPECT_EQ(told_of(contradictory).cause, HangCause::unknown);
  auto without_rank = one_without_entries({to_1}, {}, {of_1});
  for (RankDump& dump : without_rank.dumps)
    for (ProxyState& state : dump.dump.proxies) state.rank.reset();
  EXPECT_EQ(told_of(without_rank).cause, HangCause::unknown);
}

TEST(HangByProxies, APeerWhoseHalfOfATransferIsUnderWayIsNotSaidNeverToHaveComeToIt) {
  const History send{
      .numbers = {1}, .operation = {"nccl:send 0->2", 64, 64, "Float", "Float"}, .is_p2p = true};
  const History done{.numbers = {1, 2}, .open = 0};
  auto input = four({{0, {done, send}}, {1, {done}}, {2, {done}}, {3, {done}}});
  input.dumps[0].dump.proxies = {state_of(0, {{.remote = 2, .sends = true}})};
  input.dumps[2].dump.proxies = {state_of(2, {})};
  EXPECT_THAT(told_of(input).ranks, ElementsAre(2));
  input.dumps[2].dump.proxies = {state_of(2, {{.remote = 0}})};
  EXPECT_EQ(told_of(input).cause, HangCause::unknown) << told_of(input).sentence;
}

TEST(Hang, ItsReportFitsTheColumnsAndItsDocumentTheSchema) {
  for (const JobFault fault : {JobFault::black_hole, JobFault::dead, JobFault::slow_gpu, JobFault::none}) {
    const auto told = HungJob(small(fault)).explain();
    expect_matches_schema(hang_json(told, {.tool_version = "test"}), "hang");
    std::istringstream text(hang_text(told, 80));
    std::string line;
    for (bool first = true; std::getline(text, line); first = false) {
      EXPECT_LE(line.size(), 80u) << line;
      EXPECT_TRUE(!first || told.sentence.starts_with(line.substr(0, 20))) << line;
    }
  }
}

}  // namespace
}  // namespace weft::nccl
