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

/// A sender of probes and the group that serves it, on one device.
class ProbedGroup {
 public:
  static constexpr std::uint32_t kDepth = 4;

  ProbedGroup() {
    ConnectQps offer{.batch = BatchId(1),
                     .kind = rdma::QpKind::unreliable,
                     .from = device_->address(),
                     .mtu = Bytes(1024),
                     .message = Bytes(64),
                     .depth = kDepth};
    offer.qps.push_back({.spec = 0, .qp = sender_->number(), .first_psn = sender_->first_psn()});
    group_ = ServedGroup::make(device_, *queue_, {run::host_memory, run::host_memory}, {}, PortId(1), offer,
                               2, [&](std::uint32_t) -> datapath::ReceivedTally& { return tally; })
                 .value();
    const auto far = group_->answer().qps.at(0);
    EXPECT_TRUE(sender_->connect(
        {.to = device_->address(), .qp = far.qp, .first_psn = far.first_psn, .mtu = Bytes(1024)}));
  }

  void send(std::uint32_t first, std::uint32_t count) {
    for (std::uint32_t sequence = first; sequence < first + count; ++sequence) {
      store(slots_->bytes(0), ProbeNote{.sequence = spec_number(0, sequence)});
      const rdma::Message probe{1, slots_->piece(0, 64)};
      ASSERT_TRUE(sender_->post(FlowOperation::send, {&probe, 1}));
      static_cast<void>(sent_->poll());
    }
  }
  /// The host comes to look, late or not, and takes all.
  void look(bool waited) {
    for (;;) {
      const auto done = queue_->poll();
      ASSERT_TRUE(done);
      if (done->empty()) return;
      for (const rdma::Completion& completion : *done) group_->take(completion, waited);
    }
  }

  datapath::ReceivedTally tally;

 private:
  const IpAddress address_{IpAddress::V4{10, 0, 1, 1}};
  fakes::FakeVerbs fake_{{address_}};
  std::shared_ptr<const rdma::VerbsDevice> device_ =
      rdma::VerbsDevice::open(fake_.library(), {.address = address_}).value();
  std::unique_ptr<rdma::CompletionQueue> queue_ = rdma::CompletionQueue::make(device_, 64).value();
  std::unique_ptr<rdma::CompletionQueue> sent_ = rdma::CompletionQueue::make(device_, 64).value();
  std::unique_ptr<Slots> slots_ = Slots::make(device_, run::host_memory, 1, Bytes(64)).value();
  std::unique_ptr<rdma::QueuePair> sender_ =
      rdma::QueuePair::make(device_, *sent_, *sent_, {rdma::QpKind::unreliable, 16, 16}).value();
  std::unique_ptr<ServedGroup> group_;
};

TEST(ServedGroup, TellsWhatItAnsweredLateAndWhatFoundNoPlaceWhileItsHostWasNotRun) {
  ProbedGroup probed;
  probed.send(0, 2);
  probed.look(false);
  EXPECT_EQ(probed.tally.late, 0u);
  EXPECT_EQ(probed.tally.missing, std::vector<LossRun>());
  probed.send(2, 7);  // four find a place
  probed.look(true);
  EXPECT_EQ(probed.tally.packets, 6u);
  EXPECT_EQ(probed.tally.late, 4u);
  EXPECT_EQ(probed.tally.dropped, 0u) << "nobody knows of them yet";
  probed.send(9, 1);
  probed.look(false);
  EXPECT_EQ(probed.tally.dropped, 3u);
  EXPECT_EQ(probed.tally.missing, (std::vector<LossRun>{{6, 3}}));
  probed.send(12, 1);  // two are lost on their way
  probed.look(false);
  EXPECT_EQ(probed.tally.dropped, 3u) << "there was place";
  EXPECT_EQ(probed.tally.missing, (std::vector<LossRun>{{6, 3}, {10, 2}}));
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
