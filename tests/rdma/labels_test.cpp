// Programs that know nothing of weft, over soft-RoCE and real packets: libweft-nccl.so before them, every
// queue pair has its label on the wire, in both directions.
#include <gmock/gmock.h>

#include "probes/packet/roce.hpp"
#include "tests/rdma/jobs_of_others.hpp"

namespace weft {
namespace {

TEST_F(JobsOfOthers, UnmodifiedIbWriteBwHasItsLabelsByBothWaysOfPostingInBothDirections) {
  tell_both();
  EXPECT_EQ(ports_in_order(write_between("host1", {}, true)), labels_from(50'000)) << "posts by ibv_wr_*";
  EXPECT_EQ(ports_in_order(write_between("host3", {}, true)), labels_from(60'000));
  EXPECT_EQ(ports_in_order(write_between("host1", {"--use_old_post_send"}, true)), labels_from(50'000));
  EXPECT_EQ(ports_in_order(write_between("host3", {"--use_old_post_send"}, true)), labels_from(60'000));
}

TEST_F(JobsOfOthers, UnmodifiedUcxHasItsLabelInBothDirections) {
  tell_both();
  const std::vector<std::vector<std::uint32_t>> to{{50'000}};
  const std::vector<std::vector<std::uint32_t>> back{{60'000}};
  EXPECT_EQ(ports_in_order(ucx_between("host1", "put_lat", "20", true, seconds(100))), to);
  EXPECT_EQ(ports_in_order(ucx_between("host3", "put_lat", "20", true, seconds(100))), back);
}

/// What both ends of queue pairs send, as captured.
struct BothEnds {
  PortsByQp one;  // by the number at the other
  PortsByQp other;
};

/// Each queue pair has one port, both ends have the same, and it is the device's own choice: by Linux's rule
/// it follows from the numbers of the two.
void expect_ports_of_the_device(const BothEnds& ends, std::size_t count) {
  ASSERT_EQ(ends.one.size(), count);
  ASSERT_EQ(ends.other.size(), count);
  for (const auto& [number, ports] : ends.one) {
    ASSERT_EQ(ports.size(), 1u);
    EXPECT_TRUE(std::ranges::any_of(ends.other,
                                    [&](const auto& end) {
                                      return end.second == ports &&
                                             packet::udp_port_of(packet::default_flow_label(
                                                 number, end.first)) == *ports.begin();
                                    }))
        << "queue pair " << number.value() << " has port " << ports.begin()->value();
  }
}

TEST_F(JobsOfOthers, TheLibraryWithoutAnAgentChangesNothingInThePortsOfIbWriteBwAndUcx) {
  for (const char* host : {"host1", "host3"}) rig().in(host, {"rm", "-rf", "/tmp/job"});
  for (const bool with_weft : {false, true}) {
    BothEnds ends;
    ends.one = rig().ports_used("host1", [&] { ends.other = write_between("host3", {}, with_weft); });
    expect_ports_of_the_device(ends, kQps);
    // UCX sets a flow label of its own, the same for all: 0xFFFFF.
    const std::vector<std::vector<std::uint32_t>> of_ucx{{65'472}};
    EXPECT_EQ(ports_in_order(ucx_between("host1", "put_lat", "20", with_weft, seconds(100))), of_ucx);
    EXPECT_EQ(ports_in_order(ucx_between("host3", "put_lat", "20", with_weft, seconds(100))), of_ucx);
  }
}

TEST_F(Ring, CarriesExactlyTheAssignedPortsForDataAndCreditsAtBothEnds) {
  tell_all(1, 50'000);
  std::vector<SeenPacket> of_two;
  const auto of_one = rig().packets_of("host1", [&] {
    of_two = rig().packets_of("host2", [&] {
      auto processes = start("100", "4096");
      end(processes);
    });
  });
  EXPECT_EQ(seen(ports_by_qp(of_one)), expected({50'000}));
  // The n-th queue pair has the n-th label, not only some of them.
  const auto first_of = [](std::uint32_t first) {
    auto all = labels_from(first);
    all.resize(kRing);
    return all;
  };
  EXPECT_EQ(ports_in_order(ports_to(rig().peer("host2").address, of_one)), first_of(50'000));
  EXPECT_EQ(ports_in_order(ports_to(rig().peer("host1").address, of_two)), first_of(51'000));
}

TEST_F(Ring, MovesToAnotherListUnderLoadAndEveryMessageIsRight) {
  tell_all(1, 50'000);
  const auto ports = rig().ports_used("host1", [&] {
    auto processes = start("0", "4096");
    EXPECT_TRUE(all_move({"host1", "host2", "host3", "host4"}, 1, kMaxWait));
    tell_all(2, 55'000);
    EXPECT_TRUE(all_move({"host1", "host2", "host3", "host4"}, 2, kMaxWait));
    std::this_thread::sleep_for(seconds(2));  // each queue pair sends by its new label
    stop(processes);
  });
  EXPECT_EQ(seen(ports), expected({50'000, 55'000}));
}

TEST_F(Ring, AQueuePairOfUcxMovesToAnotherListUnderLoad) {
  const auto own = rig().peer("host1").address;
  const auto peer = rig().peer("host3").address;
  tell("host1", {1, {pair_of(own, peer, 50'000)}});
  auto job =
      std::async(std::launch::async, [&] { return ucx_between("host1", "put_bw", "8000", true, kMaxJob); });
  EXPECT_TRUE(all_move({"host1"}, 1, kMaxWait));
  tell("host1", {2, {pair_of(own, peer, 55'000)}});
  EXPECT_TRUE(all_move({"host1"}, 2, kMaxWait));
  const std::vector<std::vector<std::uint32_t>> both{{50'000, 55'000}};
  EXPECT_EQ(ports_in_order(job.get()), both);
}

}  // namespace
}  // namespace weft
