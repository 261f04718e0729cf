// A queue pair moves to another label whoever made it.
#include <gmock/gmock.h>
#include <infiniband/verbs.h>

#include <cerrno>

#include "probes/packet/roce.hpp"
#include "probes/rdma/queue_pair.hpp"
#include "probes/rdma/relabel.hpp"
#include "tests/fakes/fake_verbs.hpp"

namespace weft::rdma {
namespace {

using fakes::FakeVerbs;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;

const IpAddress kHere(IpAddress::V4{10, 0, 0, 1});

/// A queue pair as another library makes it, ready to send, of no QueuePair.
class ForeignQueuePair {
 public:
  explicit ForeignQueuePair(std::optional<LidRange> lids = std::nullopt, ibv_qp_type type = IBV_QPT_RC) {
    if (lids) fake.join_subnet(0, *lids);
    int count = 0;
    context_ = library->open_device(library->get_device_list(&count)[0]);
    pd_ = library->alloc_pd(context_);
    cq_ = library->create_cq(context_, 4, nullptr, nullptr, 0);
    ibv_qp_init_attr wanted{};
    wanted.send_cq = wanted.recv_cq = cq_;
    wanted.qp_type = type;
    qp = library->create_qp(pd_, &wanted);
    ibv_qp_attr connected{};
    connected.qp_state = IBV_QPS_RTS;
    connected.ah_attr.is_global = 1;
    connected.ah_attr.sl = 3;
    connected.ah_attr.grh.traffic_class = 104;
    connected.ah_attr.grh.flow_label = packet::flow_label_for(UdpPort(50'000));
    if (lids) connected.ah_attr.dlid = 32;
    library->modify_qp(qp, &connected, IBV_QP_STATE | IBV_QP_AV);
  }
  ~ForeignQueuePair() {
    library->destroy_qp(qp);
    library->destroy_cq(cq_);
    library->dealloc_pd(pd_);
    library->close_device(context_);
  }
  ForeignQueuePair(const ForeignQueuePair&) = delete;
  ForeignQueuePair& operator=(const ForeignQueuePair&) = delete;

  FakeVerbs fake{{kHere}};
  std::shared_ptr<const VerbsLibrary> library = fake.library();
  ibv_qp* qp = nullptr;

 private:
  ibv_context* context_ = nullptr;
  ibv_pd* pd_ = nullptr;
  ibv_cq* cq_ = nullptr;
};

TEST(Relabel, ChangesTheLabelOfAnothersQueuePairAndNothingElse) {
  ForeignQueuePair its;
  EXPECT_EQ(relabel(*its.library, its.qp, PathLabel(61'000)).value(), "by the drained state");
  EXPECT_THAT(its.fake.marks(),
              ElementsAre(FakeVerbs::Marks{packet::flow_label_for(UdpPort(61'000)), 104, 3}));
  ibv_qp_attr now{};
  ibv_qp_init_attr made_with{};
  its.library->query_qp(its.qp, &now, IBV_QP_STATE, &made_with);
  EXPECT_EQ(now.qp_state, IBV_QPS_RTS);
}

TEST(Relabel, TakesTheDevicesOwnCallWhereThereIsOne) {
  ForeignQueuePair its;
  its.fake.drive(0, RdmaDriver::mlx5);
  EXPECT_EQ(relabel(*its.library, its.qp, PathLabel(61'000)).value(), "by the device's own call");
}

TEST(Relabel, OnInfinibandTakesALidOfThePeer) {
  ForeignQueuePair its(LidRange{Lid(8), 2});
  EXPECT_TRUE(relabel(*its.library, its.qp, PathLabel(34), LidRange{Lid(32), 2}));
  EXPECT_THAT(its.fake.marks(), ElementsAre(Field(&FakeVerbs::Marks::dlid, 34)));
  const auto unknown = relabel(*its.library, its.qp, PathLabel(33));
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().kind, ErrorKind::invalid_input);
  const auto foreign = relabel(*its.library, its.qp, PathLabel(36), LidRange{Lid(32), 2});
  ASSERT_FALSE(foreign);
  EXPECT_THAT(foreign.error().message, HasSubstr("it has 32 to 35"));
  EXPECT_THAT(its.fake.marks(), ElementsAre(Field(&FakeVerbs::Marks::dlid, 34)));
}

TEST(Relabel, GivesBackAQueuePairThatSendsWhereTheDeviceRefusesTheLabel) {
  ForeignQueuePair its;
  its.fake.refuse(FakeVerbs::Call::modify_qp, EINVAL, 1);
  const auto refused = relabel(*its.library, its.qp, PathLabel(61'000));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::not_supported);
  ibv_qp_attr now{};
  ibv_qp_init_attr made_with{};
  its.library->query_qp(its.qp, &now, IBV_QP_STATE, &made_with);
  EXPECT_EQ(now.qp_state, IBV_QPS_RTS);
}

TEST(Relabel, RefusesWhatHasNoLabelOfItsOwnAndWhatDoesNotSend) {
  {
    ForeignQueuePair datagrams(std::nullopt, IBV_QPT_UD);
    const auto refused = relabel(*datagrams.library, datagrams.qp, PathLabel(61'000));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind, ErrorKind::not_supported);
  }
  ForeignQueuePair ended;
  ibv_qp_attr error{};
  error.qp_state = IBV_QPS_ERR;
  ended.library->modify_qp(ended.qp, &error, IBV_QP_STATE);
  const auto refused = relabel(*ended.library, ended.qp, PathLabel(61'000));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::conflict);
}

}  // namespace
}  // namespace weft::rdma
