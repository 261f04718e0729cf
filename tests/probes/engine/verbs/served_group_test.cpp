#include "probes/engine/verbs/served_group.hpp"

#include <gtest/gtest.h>

#include "probes/run/engines.hpp"
#include "tests/fakes/fake_verbs.hpp"

namespace weft::verbs {
namespace {

constexpr std::uint64_t kAnswer = 1ULL << 63U;
constexpr std::uint64_t work_of(std::uint64_t serial, std::uint64_t slot) { return serial << 32U | slot; }

/// A completion is taken off the queue before its group goes, and handed on after the next one came, whose
/// queue pair has the number again.
TEST(ServedGroup, PassesOverWhatAGroupBeforeLeftInTheQueue) {
  const IpAddress address(IpAddress::V4{10, 0, 1, 1});
  fakes::FakeVerbs fake({address});
  const auto device = rdma::VerbsDevice::open(fake.library(), {.address = address}).value();
  auto queue = rdma::CompletionQueue::make(device, 64).value();
  datapath::ReceivedTally tally;
  ConnectQps offer{.batch = BatchId(1),
                   .kind = rdma::QpKind::unreliable,
                   .from = device->address(),
                   .mtu = Bytes(1024),
                   .message = Bytes(64),
                   .depth = 4};
  offer.qps.push_back({.spec = 0, .qp = QpNum(3)});
  const auto group =
      ServedGroup::make(device, *queue, {run::host_memory, run::host_memory}, {}, PortId(1), offer, 2,
                        [&](std::uint32_t) -> datapath::ReceivedTally& { return tally; });
  ASSERT_TRUE(group) << group.error().message;
  const QpNum qp = (*group)->numbers().at(0);
  (*group)->take({.work = kAnswer | work_of(1, 0), .qp = qp});
  (*group)->take({.work = work_of(1, 0), .qp = qp, .bytes = 64});
  EXPECT_EQ(tally.packets, 0u);
  (*group)->take({.work = work_of(2, 0), .qp = qp, .bytes = 64});
  EXPECT_EQ(tally.packets, 1u) << "its own";
  EXPECT_EQ(tally.unsent, 0u);
  fake.refuse(fakes::FakeVerbs::Call::post_send, ENOMEM);
  (*group)->take({.work = work_of(2, 1), .qp = qp, .bytes = 64});
  EXPECT_EQ(tally.packets, 2u);
  EXPECT_EQ(tally.unsent, 1u) << "its own device took no answer";
}

TEST(ServedGroup, CountsTheRingsOfItsQueuePairsAsMemory) {
  ConnectQps offer{.kind = rdma::QpKind::unreliable, .message = Bytes(64), .depth = 4};
  offer.qps.resize(4096);
  constexpr std::uint64_t kPlaces = 4096 * 4;
  constexpr std::uint64_t kSlots = 2 * kPlaces * 64;  // to receive into and to answer from
  EXPECT_EQ(ServedGroup::memory(offer), kSlots + 4096 * 8192 + kPlaces * 512);
  offer.kind = rdma::QpKind::datagram;  // one for all, with 40 bytes of a GRH before each message
  EXPECT_EQ(ServedGroup::memory(offer), 2 * kPlaces * (64 + 40) + 8192 + kPlaces * 512);
  offer.kind = rdma::QpKind::reliable;  // what is written needs no work request here
  EXPECT_EQ(ServedGroup::memory(offer), kPlaces * 64 + 4096 * (8192 + 512));
  offer.operation = FlowOperation::send;
  EXPECT_EQ(ServedGroup::memory(offer), kPlaces * 64 + 4096 * 8192 + kPlaces * 512);
}

}  // namespace
}  // namespace weft::verbs
