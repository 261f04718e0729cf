#include "topology/host/rdma_resources.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/rdma_netlink.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <fstream>

#include "tests/fakes/netlink_bytes.hpp"
#include "tests/support/hex.hpp"
#include "topology/os/scratch_directory.hpp"

namespace weft::host {
namespace {

using fakes::NetlinkBytes;
using testing::IsEmpty;
using testing::SizeIs;
using Blob = std::vector<std::byte>;

constexpr std::uint16_t kQps = RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_RES_QP_GET);
constexpr std::uint16_t kDevices = RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_GET);
constexpr std::uint16_t kUsers = RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_RES_CTX_GET);

/// An entry as fill_res_qp_entry of nldev.c writes it.
NetlinkBytes entry(std::uint32_t number, std::uint32_t peer, std::uint8_t type, std::uint8_t state) {
  NetlinkBytes bytes;
  bytes.attribute(RDMA_NLDEV_ATTR_PORT_INDEX, std::uint32_t{1})
      .attribute(RDMA_NLDEV_ATTR_RES_LQPN, number)
      .attribute(RDMA_NLDEV_ATTR_RES_PDN, std::uint32_t{3});
  if (peer != 0)
    bytes.attribute(RDMA_NLDEV_ATTR_RES_RQPN, peer).attribute(RDMA_NLDEV_ATTR_RES_RQ_PSN, std::uint32_t{7});
  bytes.attribute(RDMA_NLDEV_ATTR_RES_SQ_PSN, std::uint32_t{9})
      .attribute(RDMA_NLDEV_ATTR_RES_PATH_MIG_STATE, std::uint8_t{0})
      .attribute(RDMA_NLDEV_ATTR_RES_TYPE, type)
      .attribute(RDMA_NLDEV_ATTR_RES_STATE, state);
  return bytes;
}
NetlinkBytes entry_of(std::uint32_t thread, std::uint32_t number, std::uint32_t peer,
                      std::uint8_t type = IB_UVERBS_QPT_RC, std::uint8_t state = 3) {
  auto bytes = entry(number, peer, type, state);
  bytes.attribute(RDMA_NLDEV_ATTR_RES_PID, thread);
  return bytes;
}
Blob qps_of_device(const std::vector<NetlinkBytes>& entries, bool with_name = true) {
  NetlinkBytes table, message;
  for (const auto& one : entries) table.nest(RDMA_NLDEV_ATTR_RES_QP_ENTRY, one);
  message.attribute(RDMA_NLDEV_ATTR_DEV_INDEX, std::uint32_t{0});
  if (with_name) message.attribute(RDMA_NLDEV_ATTR_DEV_NAME, std::to_array("mlx5_0"));
  message.nest(RDMA_NLDEV_ATTR_RES_QP, table);
  return message.message(kQps);
}
Blob done(std::int32_t outcome = 0) {
  NetlinkBytes bytes;
  bytes.value(outcome);
  return bytes.message(NLMSG_DONE);
}
RdmaAnswer answer_of(const Blob& datagram) {
  RdmaAnswer answer;
  const auto taken = take_rdma_datagram(datagram, answer);
  EXPECT_TRUE(taken) << taken.error().message;
  return answer;
}

/// Of soft-RoCE as nldev.c of Linux 6.1 writes it, by hand from rdma_netlink.h: the kernel's queue pair 1 for
/// management, ib_write_bw's 17, connected with 20, and the end of the answer.
constexpr const char* kOfSoftRoce =
    "b4000000 0a14 0200 00000000 00000000"                   // 180 bytes, NLDEV's RES_QP_GET, more come
    "08000100 00000000  0b000200 7278655f70310000"           // device 0, "rxe_p1"
    "90001300"                                               // the table
    "38001400 08000300 01000000 08001500 01000000"           // an entry: port 1, LQPN 1
    "0c001d00 69625f636f726500"                              // "ib_core"
    "08001800 00000000 05001a00 01000000 05001b00 03000000"  // SQ PSN, type GSI, state RTS
    "54001400 08000300 01000000 08001500 11000000"           // an entry: port 1, LQPN 17
    "08003c00 05000000 08001c00 0b010000"                    // PDN 5, PID 267
    "08001600 14000000 08001700 00000000 08001800 00000000"  // RQPN 20, PSNs
    "05001900 00000000 05001a00 02000000 05001b00 03000000"  // no migration, type RC, state RTS
    "14000000 0300 0200 00000000 00000000 00000000";         // NLMSG_DONE

TEST(RdmaResources, TheKernelsAnswerIsReadAndItsOwnQueuePairsAreLeftOut) {
  const auto answer = answer_of(fakes::from_hex(kOfSoftRoce));
  EXPECT_TRUE(answer.is_whole);
  ASSERT_THAT(answer.qps, SizeIs(1));
  const RdmaQp& qp = answer.qps[0];
  EXPECT_EQ(qp.device, "rxe_p1");
  EXPECT_EQ(qp.number, QpNum(17));
  EXPECT_EQ(qp.peer, QpNum(20));
  EXPECT_EQ(qp.type, RdmaQpType::rc);
  EXPECT_EQ(to_string(qp.state), "RTS");
  EXPECT_EQ(qp.thread, 267u);
}

TEST(RdmaResources, TypesStatesAndThreadsAreToldApart) {
  const auto answer = answer_of(
      qps_of_device({entry_of(1, 1, 9, IB_UVERBS_QPT_UC), entry_of(1, 2, 0, IB_UVERBS_QPT_UD),
                     entry_of(1, 3, 9, IB_UVERBS_QPT_DRIVER), entry_of(1, 4, 9, IB_UVERBS_QPT_RC, 1),
                     entry(5, 9, IB_UVERBS_QPT_RC, 6), entry_of(0, 6, 9)}));
  ASSERT_THAT(answer.qps, SizeIs(6));
  EXPECT_EQ(answer.qps[0].type, RdmaQpType::uc);
  EXPECT_EQ(answer.qps[1].type, RdmaQpType::other);
  EXPECT_EQ(answer.qps[2].type, RdmaQpType::other);
  EXPECT_EQ(answer.qps[3].peer, std::nullopt) << "in INIT it has none yet";
  EXPECT_EQ(to_string(answer.qps[4].state), "ERR");
  EXPECT_EQ(answer.qps[4].thread, std::nullopt) << "of another pid namespace";
  EXPECT_EQ(answer.qps[5].thread, std::nullopt);
}

TEST(RdmaResources, DevicesAndWhoHasThemOpenAreTold) {
  NetlinkBytes roce, ib, user, users, message;
  roce.attribute(RDMA_NLDEV_ATTR_DEV_INDEX, std::uint32_t{4})
      .attribute(RDMA_NLDEV_ATTR_DEV_NAME, std::to_array("mlx5_0"))
      .attribute(RDMA_NLDEV_ATTR_DEV_PROTOCOL, std::to_array("roce"));
  ib.attribute(RDMA_NLDEV_ATTR_DEV_INDEX, std::uint32_t{5})
      .attribute(RDMA_NLDEV_ATTR_DEV_NAME, std::to_array("mlx5_1"))
      .attribute(RDMA_NLDEV_ATTR_DEV_PROTOCOL, std::to_array("ib"));
  user.attribute(RDMA_NLDEV_ATTR_RES_CTXN, std::uint32_t{1})
      .attribute(RDMA_NLDEV_ATTR_RES_PID, std::uint32_t{77});
  users.nest(RDMA_NLDEV_ATTR_RES_CTX_ENTRY, user);
  message.attribute(RDMA_NLDEV_ATTR_DEV_NAME, std::to_array("mlx5_0")).nest(RDMA_NLDEV_ATTR_RES_CTX, users);
  auto datagram = roce.message(kDevices);
  for (const auto& more : {ib.message(kDevices), message.message(kUsers), done()})
    datagram.insert(datagram.end(), more.begin(), more.end());
  const auto answer = answer_of(datagram);
  ASSERT_THAT(answer.devices, SizeIs(2));
  EXPECT_EQ(answer.devices[0].index, 4u);
  EXPECT_TRUE(answer.devices[0].is_roce);
  EXPECT_FALSE(answer.devices[1].is_roce);
  ASSERT_THAT(answer.users, SizeIs(1));
  EXPECT_EQ(answer.users[0].device, "mlx5_0");
  EXPECT_EQ(answer.users[0].thread, 77u);
}

TEST(RdmaResources, ARefusalIsAnErrorInWords) {
  RdmaAnswer answer;
  for (const int type : {NLMSG_ERROR, NLMSG_DONE}) {
    NetlinkBytes refused;
    refused.value(std::int32_t{-EPERM});
    const auto taken = take_rdma_datagram(refused.message(static_cast<std::uint16_t>(type)), answer);
    ASSERT_FALSE(taken);
    EXPECT_EQ(taken.error().kind, ErrorKind::permission);
    EXPECT_EQ(taken.error().message, "the kernel refuses: Operation not permitted");
  }
  NetlinkBytes odd;
  odd.value(std::int32_t{INT32_MIN});
  EXPECT_FALSE(take_rdma_datagram(odd.message(NLMSG_ERROR), answer));
}

TEST(RdmaResources, APartOfAnAnswerTellsNoMoreThanItHolds) {
  const auto whole = fakes::from_hex(kOfSoftRoce);
  for (std::size_t size = 0; size < whole.size(); ++size) {
    RdmaAnswer answer;
    const auto taken = take_rdma_datagram(ByteSpan(whole).first(size), answer);
    EXPECT_EQ(taken.has_value(), size == 0 || size == 180) << size;
    EXPECT_LE(answer.qps.size(), 1u);
  }
}

TEST(RdmaResources, ValuesThatCannotBeAreNoQueuePair) {
  NetlinkBytes wide, none;
  wide.attribute(RDMA_NLDEV_ATTR_RES_LQPN, std::uint64_t{17})  // of another size
      .attribute(RDMA_NLDEV_ATTR_RES_TYPE, std::uint8_t{2})
      .attribute(RDMA_NLDEV_ATTR_RES_STATE, std::uint8_t{3});
  EXPECT_THAT(answer_of(qps_of_device({wide, none, entry_of(1, 1 << 24, 9), entry_of(1, 2, 9, 2, 7)})).qps,
              IsEmpty());
  EXPECT_THAT(answer_of(qps_of_device({entry_of(1, 17, 9)}, false)).qps, IsEmpty()) << "of no device";
  const auto far = answer_of(qps_of_device({entry_of(~0u, 17, 1 << 24)}));
  ASSERT_THAT(far.qps, SizeIs(1));
  EXPECT_EQ(far.qps[0].peer, std::nullopt);
  EXPECT_EQ(far.qps[0].thread, std::nullopt);
}

TEST(RdmaResources, NestedTablesWithoutEndTellNothing) {
  NetlinkBytes nest;
  for (int depth = 0; depth < 500; ++depth) {
    NetlinkBytes outer;
    outer.nest(RDMA_NLDEV_ATTR_RES_QP, nest);
    nest = outer;
  }
  NetlinkBytes message;
  message.attribute(RDMA_NLDEV_ATTR_DEV_NAME, std::to_array("mlx5_0")).nest(RDMA_NLDEV_ATTR_RES_QP, nest);
  EXPECT_THAT(answer_of(message.message(kQps)).qps, IsEmpty());
}

TEST(RdmaResources, MoreThanAHostHasAreCountedAndNotKept) {
  const auto datagram = qps_of_device(std::vector(250, entry_of(1, 17, 9)));
  RdmaAnswer answer;
  for (int turn = 0; turn < 401; ++turn) ASSERT_TRUE(take_rdma_datagram(datagram, answer));
  EXPECT_EQ(answer.qps.size(), 100'000u);
  EXPECT_EQ(answer.left_out, 250u);
}

TEST(RdmaResources, AThreadIsOfItsProcess) {
  const auto scratch = os::ScratchDirectory::make().value();
  for (const char* name : {"70", "77"}) std::filesystem::create_directory(scratch.path() / name);
  std::ofstream(scratch.path() / "77/status")
      << "Name:\tproxy\nUmask:\t0022\nState:\tS\nTgid:\t70\nNgid:\t0\n";
  std::ofstream(scratch.path() / "70/comm") << "train\x1b[1m\n";
  EXPECT_EQ(process_of_thread(scratch.path(), 77).pid, 70u);
  EXPECT_EQ(process_of_thread(scratch.path(), 77).program, "") << "a name that would steer a terminal";
  std::ofstream(scratch.path() / "70/comm") << "train\n";
  EXPECT_EQ(process_of_thread(scratch.path(), 77).program, "train");
  EXPECT_EQ(process_of_thread(scratch.path(), 78).pid, 78u);
  EXPECT_EQ(process_of_thread("/proc", static_cast<std::uint32_t>(getpid())).pid,
            static_cast<std::uint32_t>(getpid()));
}

TEST(RdmaResources, AKernelWithoutRdmaSaysSo) {
  const auto known = read_rdma_resources();
  if (!known) {
    EXPECT_FALSE(known.error().message.empty());
  } else {
    EXPECT_THAT(known->trouble, IsEmpty());
  }
}

}  // namespace
}  // namespace weft::host
