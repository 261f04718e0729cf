// Standing agents over queue pairs, from the assignment to the windows, with devices in this process: two
// workers as agents have them, each with one NIC.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "probes/run/standing_worker.hpp"
#include "probes/watch/key_epochs.hpp"
#include "probes/watch/ud_codec.hpp"
#include "tests/fakes/fake_verbs.hpp"

namespace weft::verbs {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

const std::vector<IpAddress> kUdAddresses{IpAddress(IpAddress::V4{10, 0, 1, 1}),
                                          IpAddress(IpAddress::V4{10, 0, 2, 1})};

template <class Condition>
bool soon(Condition condition) {
  for (int i = 0; i < 3000 && !condition(); ++i) std::this_thread::sleep_for(10ms);
  return condition();
}

struct UdHost {
  UdHost(fakes::FakeVerbs& fake, std::size_t number)
      : nics({{"eth0", kUdAddresses[number]}},
             run::verbs_standing_nics(
                 [&fake](const UdPortOptions& options) {
                   auto plain = options;
                   plain.gid.interface.clear();  // of the fake device, not of this machine
                   return open_ud_port(fake.library(), plain);
                 },
                 {}, datapath::ProbeTransport::by_device),
             run::OpenWhen::at_once),
        worker(number + 1, 1, nics) {}
  std::optional<packet::UdPair> pair() const {
    const auto pairs = nics.pairs();
    return pairs.empty() ? std::nullopt : std::optional(pairs.begin()->second);
  }

  run::StandingNics nics;
  run::StandingWorker worker;
};

/// Two hosts that probe each other, as a watcher would assign it.
struct TwoUdHosts {
  fakes::FakeVerbs fake{kUdAddresses};
  std::unique_ptr<UdHost> hosts[2];
  watch::KeyEpochs epochs{{std::byte{3}}, 1h};
  Nanoseconds made{};

  TwoUdHosts() {
    for (const std::size_t i : {0, 1}) fake.drive(i, rdma::RdmaDriver::mlx5);
    for (const std::size_t i : {0, 1}) hosts[i] = std::make_unique<UdHost>(fake, i);
    epochs.renew(made);
  }
  std::shared_ptr<const watch::Assignment> assignment(std::size_t i, std::uint32_t plan) {
    const std::size_t other = 1 - i;
    watch::Assignment told{.plan = watch::PlanVersion(plan),
                           .epochs = {},
                           .nics = {{.nic = PortId(static_cast<std::uint32_t>(i)),
                                     .interface = "eth0",
                                     .packets_per_second = 200,
                                     .burst = 2,
                                     .streams = {{0, PathLabel(50'000), PathLabel(50'010)},
                                                 {0, PathLabel(50'001), PathLabel(50'011)}}}},
                           .peers = {{PortId(static_cast<std::uint32_t>(other)), kUdAddresses[other]}},
                           .asked = {{PortId(static_cast<std::uint32_t>(other)), kUdAddresses[other]}}};
    if (const auto pair = hosts[other]->pair()) told.pairs = {{kUdAddresses[other], *pair}};
    epochs.give(told, NodeId(static_cast<std::uint32_t>(i)), {kUdAddresses[i]},
                {NodeId(static_cast<std::uint32_t>(other))}, made);
    return std::make_shared<const watch::Assignment>(std::move(told));
  }
  void assign(std::uint32_t plan) {
    ASSERT_TRUE(soon([&] { return hosts[0]->pair() && hosts[1]->pair(); })) << "opened before it is assigned";
    for (const std::size_t i : {0, 1}) {
      const auto told = assignment(i, plan);
      hosts[i]->nics.assign(told);
      hosts[i]->worker.assign(told);
    }
  }
  struct Seen {
    std::uint64_t sent = 0, lost = 0, excused = 0;
  };
  /// Of the next so many windows of the first host.
  Seen windows(std::size_t count) {
    Seen seen;
    std::size_t got = 0;
    soon([&] {
      static_cast<void>(hosts[1]->worker.windows());
      for (const watch::Window& window : hosts[0]->worker.windows()) {
        ++got;
        for (const watch::NicWindow& nic : window.nics) {
          seen.excused += nic.dropped > 0 ? 1 : 0;
          seen.sent += nic.count, seen.lost += nic.lost.size();
        }
      }
      return got >= count;
    });
    return seen;
  }
};

TEST(StandingQueuePairs, ProbesAreAnsweredAndThoseOfADeviceThatIsCutOffAreLost) {
  TwoUdHosts two;
  two.assign(1);
  two.windows(2);
  const auto healthy = two.windows(2);
  EXPECT_GT(healthy.sent, 200u);
  EXPECT_EQ(healthy.lost, 0u);
  two.fake.cut(1);
  two.windows(2);
  const auto cut = two.windows(2);
  EXPECT_GT(cut.sent, 100u);
  EXPECT_EQ(cut.lost, cut.sent);
}

TEST(StandingQueuePairs, OfADeviceThatFailsNothingIsSaidItIsOpenedAnewAndProbesGoOnOnceItsNewPairIsKnown) {
  TwoUdHosts two;
  two.assign(1);
  two.windows(2);
  const auto before = *two.hosts[0]->pair();
  two.fake.end_with(0, 4);  // IBV_WC_LOC_PROT_ERR
  ASSERT_TRUE(soon([&] { return two.hosts[0]->pair() != before; })) << "opened anew";
  const auto while_it_failed = two.windows(1);
  EXPECT_GT(while_it_failed.excused, 0u) << "no cable lost these";
  // The watcher tells the other, as the agent said hello: no plan begins anew.
  two.hosts[1]->worker.renew_keys(two.assignment(1, 1));
  two.windows(3);
  const auto after = two.windows(2);
  EXPECT_GT(after.sent, 200u);
  EXPECT_EQ(after.lost, 0u);
  EXPECT_EQ(after.excused, 0u);
}

TEST(StandingQueuePairs, WithoutADeviceTheReasonIsToldBeforeAnythingIsAssigned) {
  fakes::FakeVerbs fake({kUdAddresses[1]});
  const UdHost host(fake, 0);
  ASSERT_TRUE(soon([&] { return !host.nics.troubles().empty(); }));
  EXPECT_THAT(host.nics.troubles()[0], HasSubstr("eth0: "));
  EXPECT_THAT(host.nics.troubles()[0], HasSubstr("10.0.1.1"));
  EXPECT_FALSE(host.pair());
}

}  // namespace
}  // namespace weft::verbs
