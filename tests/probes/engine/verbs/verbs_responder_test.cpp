#include "probes/engine/verbs/verbs_responder.hpp"

#include <gtest/gtest.h>

#include "probes/run/engines.hpp"
#include "tests/fakes/fake_verbs.hpp"

namespace weft::verbs {
namespace {

const IpAddress kAddress(IpAddress::V4{10, 0, 1, 1});

class ResponderOfADevice : public ::testing::Test {
 protected:
  static ConnectQps offer(std::uint32_t batch, std::size_t qps = 1) {
    ConnectQps made{.batch = BatchId(batch),
                    .kind = rdma::QpKind::unreliable,
                    .from = {},
                    .mtu = Bytes(1024),
                    .message = Bytes(64),
                    .depth = 4};
    for (std::uint32_t spec = 0; spec < qps; ++spec)
      made.qps.push_back({.spec = spec, .qp = QpNum(3 + spec)});
    return made;
  }

  fakes::FakeVerbs fake_{{kAddress}};
  std::shared_ptr<const rdma::VerbsDevice> device_ =
      rdma::VerbsDevice::open(fake_.library(), {.address = kAddress}).value();
  std::unique_ptr<VerbsResponder> responder_ =
      VerbsResponder::start(device_, {run::host_memory, run::host_memory}, {}).value();
};

TEST_F(ResponderOfADevice, MakesAQueuePairForEachThatIsOffered) {
  auto asked = offer(1, 3);
  asked.from = device_->address();
  const auto made = responder_->connect(PortId(1), asked);
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(made->from, device_->address());
  EXPECT_EQ(made->qps.size(), 3u);
}

TEST_F(ResponderOfADevice, RefusesAnOfferThatMakesNoSense) {
  auto none = offer(1, 0);
  auto shallow = offer(1);
  shallow.depth = 0;
  auto small = offer(1);
  small.message = Bytes(1);
  for (ConnectQps* wrong : {&none, &shallow, &small}) {
    wrong->from = device_->address();
    const auto made = responder_->connect(PortId(1), *wrong);
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().kind, ErrorKind::invalid_input);
  }
}

TEST_F(ResponderOfADevice, KeepsWhatItWasToldOfABatchAndNothingOfAnother) {
  responder_->note({.batch = BatchId(9), .from = PortId(1), .spec = 2, .packets = 5});
  const auto received = responder_->received(BatchId(9));
  ASSERT_TRUE(received) << received.error().message;
  ASSERT_EQ(received->size(), 1u);
  EXPECT_EQ((*received)[0].packets, 5u);
  EXPECT_EQ((*received)[0].spec, 2u);
  const auto other = responder_->received(BatchId(8));
  ASSERT_TRUE(other) << other.error().message;
  EXPECT_TRUE(other->empty());
}

TEST_F(ResponderOfADevice, EndsWhatWasNeverBegunWithoutAWord) {
  EXPECT_TRUE(responder_->close(PortId(1), {.batch = BatchId(7)}).empty());
}

TEST_F(ResponderOfADevice, AnOfferOfAnotherBatchTakesThePlaceOfTheOneBefore) {
  for (std::uint32_t batch = 1; batch <= 50; ++batch) {
    auto asked = offer(batch, 4);
    asked.from = device_->address();
    const auto made = responder_->connect(PortId(1), asked);
    ASSERT_TRUE(made) << batch << ": " << made.error().message;
  }
  EXPECT_EQ(fake_.queue_pairs(), 4u);
}

}  // namespace
}  // namespace weft::verbs
