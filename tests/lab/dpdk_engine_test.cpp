// What is DPDK's own: it starts once in a process and leaves the caller its CPUs, its devices come and go,
// and what it drops is counted.
#include "probes/engine/dpdk/dpdk_engine.hpp"

#include <gmock/gmock.h>
#include <sched.h>

#include <thread>

#include "probes/engine/dpdk/dpdk_device.hpp"
#include "probes/engine/dpdk/dpdk_library.hpp"
#include "probes/engine/raw/raw_engine.hpp"
#include "tests/places.hpp"
#include "tests/support/router_chain.hpp"
#include "tests/support/text_of.hpp"

namespace weft {
namespace {

using fakes::InNamespace;
using fakes::RouterChain;
using testing::AllOf;
using testing::HasSubstr;

constexpr const char* kModule = WEFT_BINARY_DIR "/libweft_dpdk.so";
const packet::RunSecrets kSecrets{.run = RunId(7), .key = {std::byte{1}}};

class DpdkEngineTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "network namespaces of our own need root";
    if (!std::filesystem::exists(kModule)) GTEST_SKIP() << "built without DPDK";
    auto made = RouterChain::make();
    ASSERT_TRUE(made) << made.error().message;
    chain_ = std::move(*made);
  }
  Result<std::unique_ptr<nic::PacketEngine>> open(int host,
                                                  std::string_view arguments = dpdk::kUsualArguments) const {
    const InNamespace here(chain_->name(host == 1 ? "h1" : "h2"));
    const auto nics = std::make_shared<const datapath::RunNics>(std::vector<datapath::RunNic>{
        {PortId(1), RouterChain::address(1, false)}, {PortId(2), RouterChain::address(2, false)}});
    WEFT_TRY(auto parsed, dpdk::parse_dpdk_arguments(arguments));
    const nic::HostNic nic{.interface = host == 1 ? "r1" : "r2",
                           .address = RouterChain::address(host, false)};
    WEFT_TRY(auto opened, dpdk::open_dpdk_engine(nic, {std::move(parsed), kModule}, kSecrets,
                                                 PortId(static_cast<std::uint32_t>(host)), nics));
    return std::move(opened.engine);
  }
  /// A device at the second host, for whoever reads it by hand. DPDK runs already.
  Result<std::shared_ptr<dpdk::DpdkDevice>> open_device(std::string_view arguments) const {
    const InNamespace here(chain_->name("h2"));
    const nic::HostNic nic{.interface = "r2", .address = RouterChain::address(2, false)};
    return dpdk::DpdkDevice::open(*dpdk::DpdkLibrary::load(kModule),
                                  *dpdk::device_for(*dpdk::parse_dpdk_arguments(arguments), nic.interface),
                                  nic, *nic::look_up_nic(nic));
  }
  static datapath::PingRequest ping(BatchId batch, std::uint32_t count, double pace) {
    return {.run = kSecrets.run,
            .batch = batch,
            .peers = {{PortId(2), RouterChain::address(2, false)}},
            .specs = {{.label = PathLabel(50001), .back_label = PathLabel(50002), .count = count}},
            .pace = {.packets_per_second = pace}};
  }
  std::unique_ptr<RouterChain> chain_;
};

bool has_huge_pages() {
  const std::string text = text_of("/proc/meminfo");
  return text.find("HugePages_Total:       0\n") == std::string::npos;
}

cpu_set_t cpus_of_this_thread() {
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  EXPECT_EQ(::sched_getaffinity(0, sizeof cpus, &cpus), 0);
  return cpus;
}

TEST_F(DpdkEngineTest, OpensAndClosesInOneProcessFromManyThreadsAndLeavesTheirCpus) {
  const cpu_set_t before = cpus_of_this_thread();
  for (std::uint32_t round = 1; round <= 4; ++round) {
    std::thread([&] {
      const auto first = open(1);
      ASSERT_TRUE(first) << first.error().message;
      const auto second = open(2);
      ASSERT_TRUE(second) << second.error().message;
      const cpu_set_t now = cpus_of_this_thread();
      EXPECT_TRUE(CPU_EQUAL(&before, &now));
      const auto tallies = (*first)->ping(ping(BatchId(round), 50, 5000), {});
      ASSERT_TRUE(tallies) << tallies.error().message;
      EXPECT_EQ(tallies->at(0).answered, 50u) << round;
    }).join();
  }
}

TEST_F(DpdkEngineTest, APortTellsWhatNobodyHasReadYet) {
  ASSERT_TRUE(open(2)) << "DPDK starts";
  const auto device = open_device(dpdk::kUsualArguments);
  ASSERT_TRUE(device) << device.error().message;
  const auto ports = (*device)->ports();
  const auto past = ports.responder->now();
  while (!ports.responder->receive(past)->empty())
    ;  // neighbours ask for addresses
  EXPECT_FALSE(ports.responder->has_unread());
  const auto sender = open(1);
  ASSERT_TRUE(sender) << sender.error().message;
  ASSERT_TRUE((*sender)->ping(ping(BatchId(1), 10, 5000), {}));
  EXPECT_TRUE(ports.responder->has_unread());
  std::size_t read = 0;
  for (auto came = ports.responder->receive(past); !came->empty(); came = ports.responder->receive(past))
    read += came->size();
  EXPECT_EQ(read, 10u);
  EXPECT_FALSE(ports.responder->has_unread());
}

TEST_F(DpdkEngineTest, FramesCameWhenTheKernelHadThemNotWhenTheyAreRead) {
  ASSERT_TRUE(open(2)) << "DPDK starts";
  const auto device = open_device(dpdk::kUsualArguments);
  ASSERT_TRUE(device) << device.error().message;
  EXPECT_EQ((*device)->stamps(), dpdk::ArrivalTimes::Source::kernel);
  EXPECT_THAT((*device)->uses(), AllOf(HasSubstr("; time stamps of the kernel; "),
                                       HasSubstr("no flow rules (no isolated mode: ")));
  const auto ports = (*device)->ports();
  const auto sender = open(1);
  ASSERT_TRUE(sender) << sender.error().message;
  for (std::uint32_t round = 1; round <= 3; ++round) {
    const auto before = ports.responder->now();
    ASSERT_TRUE((*sender)->ping(ping(BatchId(round), 100, 5000), {}));  // 20 ms, and it waits for echoes
    const auto sent = ports.responder->now();
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    std::vector<Nanoseconds> at;
    for (auto came = ports.responder->receive(before); !came->empty();
         came = ports.responder->receive(before))
      for (const auto& arrival : *came) at.push_back(arrival.at);
    ASSERT_EQ(at.size(), 100u);
    EXPECT_TRUE(std::ranges::is_sorted(at));
    EXPECT_GE(at.front(), before);
    EXPECT_LE(at.back(), sent);
    EXPECT_GT(at.back() - at.front(), std::chrono::milliseconds(15)) << "as they were sent, not read";
  }
}

TEST_F(DpdkEngineTest, SeveralQueuesAreNotStampedAndSaySo) {
  ASSERT_TRUE(open(2)) << "DPDK starts";
  const auto device = open_device("--no-huge --vdev=net_af_packet0,iface={interface},qpairs=2");
  ASSERT_TRUE(device) << device.error().message;
  EXPECT_EQ((*device)->stamps(), dpdk::ArrivalTimes::Source::host);
  EXPECT_THAT((*device)->uses(), HasSubstr("; time stamps of the host; "));
}

TEST_F(DpdkEngineTest, RoundTripsAreThoseThatRawPacketsHave) {
  const auto median = [&](nic::PacketEngine& engine) {
    const auto tallies = engine.ping(ping(BatchId(1), 500, 5000), {});
    EXPECT_TRUE(tallies && tallies->at(0).rtt);
    return tallies->at(0).rtt->p50;
  };
  const auto nics = std::make_shared<const datapath::RunNics>(std::vector<datapath::RunNic>{
      {PortId(1), RouterChain::address(1, false)}, {PortId(2), RouterChain::address(2, false)}});
  const auto open_raw = [&](int host) {
    const InNamespace here(chain_->name(host == 1 ? "h1" : "h2"));
    return raw::open_raw_engine(
        {.interface = host == 1 ? "r1" : "r2", .address = RouterChain::address(host, false)}, kSecrets,
        PortId(static_cast<std::uint32_t>(host)), nics);
  };
  Nanoseconds by_raw{}, by_dpdk{};
  {
    const auto first = open_raw(1), second = open_raw(2);
    ASSERT_TRUE(first && second);
    by_raw = median(**first);
  }
  {
    const auto first = open(1), second = open(2);
    ASSERT_TRUE(first && second);
    by_dpdk = median(**first);
  }
  EXPECT_GT(by_dpdk.count(), 0);
  // A busy host wakes readers up late: both are stamped before that.
  EXPECT_LT(by_dpdk, by_raw * 3 + std::chrono::microseconds(200)) << by_raw.count() << " " << by_dpdk.count();
  RecordProperty("raw_ns", std::to_string(by_raw.count()));
  RecordProperty("dpdk_ns", std::to_string(by_dpdk.count()));
}

TEST_F(DpdkEngineTest, WhatFindsNoPlaceInTheRingIsCountedAsDroppedHere) {
  const auto first = open(1);
  ASSERT_TRUE(first) << first.error().message;
  const auto second = open(2, "--no-huge --vdev=net_af_packet0,iface=r2,framecnt=16");
  ASSERT_TRUE(second) << second.error().message;
  const auto tallies = (*first)->ping(ping(BatchId(1), 30'000, 0), {});
  ASSERT_TRUE(tallies) << tallies.error().message;
  const auto received = (*second)->received(BatchId(1));
  ASSERT_EQ(received->size(), 1u);
  EXPECT_GT(received->at(0).dropped, 0u) << "the ring was large enough";
  EXPECT_LT(received->at(0).packets, tallies->at(0).sent);
  EXPECT_GE(received->at(0).packets + received->at(0).dropped, tallies->at(0).sent) << "taken for loss";
}

TEST_F(DpdkEngineTest, AFullQueueOfTheInterfaceHoldsBackAndLosesNothing) {
  const auto first = open(1);
  ASSERT_TRUE(first) << first.error().message;
  const auto second = open(2);
  ASSERT_TRUE(second) << second.error().message;
  ASSERT_TRUE(chain_->shell("h1", "tc qdisc add dev r1 root tbf rate 4mbit burst 4k limit 4k"));
  const auto tallies = (*first)->ping(ping(BatchId(1), 2'000, 0), {});
  ASSERT_TRUE(tallies) << tallies.error().message;
  EXPECT_GT(tallies->at(0).sent, 100u);
  EXPECT_EQ(tallies->at(0).answered, tallies->at(0).sent);
}

TEST_F(DpdkEngineTest, StartsOnceAndAnEngineWithOtherArgumentsIsAConflict) {
  ASSERT_TRUE(open(1));
  const auto other = open(1, "--no-huge -m 64 --vdev=net_af_packet0,iface={interface}");
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().kind, ErrorKind::conflict);
  EXPECT_THAT(other.error().message, HasSubstr("it starts once"));
  EXPECT_TRUE(open(1)) << "the first start serves on";
}

TEST_F(DpdkEngineTest, ThatDidNotStartSaysTheSameEachTime) {
  // A process of its own, from the program's start: here DPDK may run already, and would be lost to other
  // tests.
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto end_with_what_it_says = [&](const std::string& arguments) {
    const auto first = open(1, arguments);
    const auto second = open(1, arguments);
    const bool same = !first && !second && first.error().message == second.error().message &&
                      first.error().kind == ErrorKind::not_supported;
    std::fprintf(stderr, "%s", first ? "it started" : first.error().message.c_str());
    chain_.reset();
    std::exit(same ? 0 : 1);
  };
  EXPECT_EXIT(end_with_what_it_says("--no-huge --lcores=0@9999 --vdev=net_af_packet0,iface=r1"),
              ::testing::ExitedWithCode(0), "DPDK does not start");
  if (has_huge_pages()) return;
  EXPECT_EXIT(end_with_what_it_says("--vdev=net_af_packet0,iface=r1"), ::testing::ExitedWithCode(0),
              "reserve some, or add --no-huge");
}

TEST_F(DpdkEngineTest, AForeignModuleIsRefused) {
  const InNamespace here(chain_->name("h1"));
  const nic::HostNic nic{.interface = "r1", .address = RouterChain::address(1, false)};
  const auto opened =
      dpdk::open_dpdk_engine(nic, {*dpdk::parse_dpdk_arguments(dpdk::kUsualArguments), WEFT_FAKE_CUDA},
                             kSecrets, PortId(1), nullptr);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().kind, ErrorKind::not_supported);
  EXPECT_THAT(opened.error().message, HasSubstr("belongs to another version of weft"));
}

}  // namespace
}  // namespace weft
