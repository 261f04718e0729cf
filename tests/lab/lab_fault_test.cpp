// Every fault does what it says, on the channel that it names and on no other, and healing ends it.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <linux/if_ether.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <thread>

#include "tests/support/test_lab.hpp"
#include "topology/lab/netns/state.hpp"
#include "topology/model/clos.hpp"
#include "topology/os/network_namespace.hpp"
#include "topology/os/processes.hpp"

namespace weft {
namespace {

using Clock = std::chrono::steady_clock;

Fabric small_clos() { return make_clos({.leaves = 2, .spines = 2, .hosts_per_leaf = 1}).value(); }

/// A label by which host1's packets to host2 take that channel (or do not).
std::uint16_t label_over(const TestLab& lab, std::string_view channel, bool over = true) {
  for (std::uint16_t label = 49152; label < 49152 + 200; ++label) {
    const auto path = kernel_path(lab, "host1", "host2", label);
    if ((std::ranges::count(path, lab.channel(channel)) > 0) == over) return label;
  }
  ADD_FAILURE() << "no label for " << channel;
  return 0;
}

/// The same for the way from host2 to host1.
std::uint16_t back_label_over(const TestLab& lab, std::string_view channel) {
  for (std::uint16_t label = 49152; label < 49152 + 200; ++label) {
    const auto path = kernel_path(lab, "host2", "host1", label);
    if (std::ranges::count(path, lab.channel(channel)) > 0) return label;
  }
  ADD_FAILURE() << "no label for " << channel;
  return 0;
}

int forward(const TestLab& lab, std::uint16_t label, int count, int size = 100) {
  return arrived(lab, {.from = "host1", .to = "host2", .label = label, .count = count, .size = size});
}

int backward(const TestLab& lab, std::uint16_t label, int count, int size = 100) {
  return arrived(lab, {.from = "host2", .to = "host1", .label = label, .count = count, .size = size});
}

TEST(LabFault, LossTakesItsShareOfOneDirectionOfOneLink) {
  const TestLab lab(small_clos(), {.link_rate = std::nullopt});
  const auto over = label_over(lab, "leaf1->spine2");
  const auto beside = label_over(lab, "leaf1->spine2", false);
  const auto back = back_label_over(lab, "spine2->leaf1");
  ASSERT_TRUE(lab.fault("leaf1--spine2:loss=30%,from=leaf1"));
  // 2,000 draws at 30 %: mean 1,400, standard deviation 20.5; six of them are 123.
  EXPECT_NEAR(forward(lab, over, 2000), 1400, 123);
  EXPECT_EQ(forward(lab, beside, 500), 500);
  EXPECT_EQ(backward(lab, back, 500), 500) << "the other direction";
  ASSERT_TRUE(*lab.heal(lab.link("leaf1--spine2")));
  EXPECT_EQ(forward(lab, over, 500), 500);
}

TEST(LabFault, LossOfALinkIsInBothDirections) {
  const TestLab lab(small_clos(), {.link_rate = std::nullopt});
  ASSERT_TRUE(lab.fault("leaf1--spine2:loss=100%"));
  EXPECT_EQ(forward(lab, label_over(lab, "leaf1->spine2"), 50), 0);
  EXPECT_EQ(backward(lab, back_label_over(lab, "spine2->leaf1"), 50), 0);
}

TEST(LabFault, LossOfAHostsCableComesBeforeTheEnginesOfTheHostSeeIt) {
  const TestLab lab(small_clos(), {.link_rate = std::nullopt});
  ASSERT_TRUE(lab.fault("host2--leaf2:loss=100%,from=leaf2"));
  const auto before = packets_at(lab, lab.nic("host2")).in;
  EXPECT_EQ(forward(lab, 49152, 50), 0);
  EXPECT_EQ(packets_at(lab, lab.nic("host2")).in, before) << "not even on the wire's last inch";
  EXPECT_EQ(backward(lab, 49152, 50), 50);
  ASSERT_TRUE(lab.fault("host2--leaf2:loss=100%,from=host2"));
  EXPECT_EQ(backward(lab, 49152, 50), 0);
}

TEST(LabFault, RateHoldsTheChannelToIt) {
  const TestLab lab(small_clos());
  const auto over = label_over(lab, "leaf1->spine1");
  ASSERT_TRUE(lab.fault("leaf1--spine1:rate=1M,from=leaf1"));
  // 12 packets of 4,014 bytes on the wire, of which 16,384 bytes pass at once: the rest takes 254 ms.
  const auto start = Clock::now();
  EXPECT_EQ(forward(lab, over, 12, 4000), 12) << "its queue holds them";
  EXPECT_GT(Clock::now() - start, std::chrono::milliseconds(240));
  ASSERT_TRUE(*lab.heal());
  const auto tc = lab.run_in("leaf1", {"tc", "qdisc", "show"});
  ASSERT_TRUE(tc);
  EXPECT_EQ(tc->find("1Mbit"), std::string::npos) << *tc;
  EXPECT_NE(tc->find("50Mbit"), std::string::npos) << "the lab's own rate again";
}

TEST(LabFault, RateOfAnUnshapedLabGoesAwayWithTheFault) {
  const TestLab lab(small_clos(), {.link_rate = std::nullopt});
  ASSERT_TRUE(lab.fault("leaf1--spine1:rate=1M"));
  ASSERT_TRUE(*lab.heal());
  const auto tc = lab.run_in("leaf1", {"tc", "qdisc", "show"});
  EXPECT_EQ(tc->find("tbf"), std::string::npos) << *tc;
}

TEST(LabFault, LoadCrossesItsChannelAndNoOther) {
  const TestLab lab(small_clos(), {.link_rate = Bandwidth::mbit(20)});
  const auto bytes_in = [&](const char* channel) {
    return bytes_into(lab, lab.fabric().target(lab.channel(channel)));
  };
  ASSERT_TRUE(lab.fault("leaf1--spine1:load=8M,from=leaf1"));
  const auto start = Clock::now();
  const auto before = bytes_in("leaf1->spine1");
  const auto wanted = 500'000U;  // half a second's worth
  while (bytes_in("leaf1->spine1") - before < wanted && Clock::now() - start < std::chrono::seconds(20))
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
  const double rate = static_cast<double>(bytes_in("leaf1->spine1") - before) * 8 / seconds;
  EXPECT_GE(bytes_in("leaf1->spine1") - before, wanted) << "the load arrives";
  EXPECT_LT(rate, 9e6) << "no faster than asked for";
  for (const char* other : {"spine1->leaf1", "leaf1->spine2", "spine1->leaf2", "leaf1->host1"})
    EXPECT_EQ(bytes_in(other), 0U) << other;
  ASSERT_TRUE(*lab.heal());
  const auto after = bytes_in("leaf1->spine1");
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_EQ(bytes_in("leaf1->spine1"), after) << "it ends when healed";
}

TEST(LabFault, LoadSharesTheQueueOfItsChannel) {
  const TestLab lab(small_clos(), {.link_rate = Bandwidth::mbit(4)});
  const auto over = label_over(lab, "leaf1->spine1");
  ASSERT_TRUE(lab.fault("leaf1--spine1:load=12M,from=leaf1"));
  std::this_thread::sleep_for(std::chrono::milliseconds(100));  // its queue fills
  const int through = arrived(lab, {.from = "host1",
                                    .to = "host2",
                                    .label = over,
                                    .count = 40,
                                    .size = 4096,
                                    .gap = std::chrono::milliseconds(20)});
  EXPECT_LT(through, 36) << "an overfull channel drops: 4 of 13.6 Mbit/s pass";
  EXPECT_EQ(forward(lab, label_over(lab, "leaf1->spine1", false), 20), 20);
}

TEST(LabFault, LoadStopsWhenItsLabGoesDown) {
  std::optional<TestLab> lab(std::in_place, small_clos());
  ASSERT_TRUE(lab->fault("leaf1--spine1:load=1M"));
  const auto workers = lab::read_lab_state(lab->root(), (*lab)->name())->workers;
  ASSERT_EQ(workers.size(), 2U);
  for (const lab::LabWorker& worker : workers) EXPECT_TRUE(is_running(worker.process));
  lab.reset();
  for (const lab::LabWorker& worker : workers) EXPECT_FALSE(is_running(worker.process));
}

/// The shortest round trip of five pings, in ms.
double shortest_ping(const TestLab& lab, std::string_view from, std::string_view to) {
  const auto said = lab.run_in(from, {"ping", "-c5", "-i0.02", "-W3", std::string(to)});
  if (!said) return -1;
  const auto at = said->find("min/avg/max");
  return std::stod(said->substr(said->find('=', at) + 1));
}

TEST(LabFault, DelayHoldsEveryPacketOfItsDirection) {
  const TestLab lab(small_clos());
  const auto to = to_string(lab->nic(lab.nic("host2")).address);
  EXPECT_LT(shortest_ping(lab, "host1", to), 80.0);
  const auto done = lab.fault("host2--leaf2:delay=100ms,from=leaf2");
  ASSERT_TRUE(done) << done.error().message;
  const double one_way = shortest_ping(lab, "host1", to);
  EXPECT_GE(one_way, 100.0);
  EXPECT_LT(one_way, 180.0) << "one way only";
  ASSERT_TRUE(lab.fault("host2--leaf2:delay=100ms,from=host2"));
  EXPECT_GE(shortest_ping(lab, "host1", to), 200.0) << "both ways";
  ASSERT_TRUE(*lab.heal());
  EXPECT_LT(shortest_ping(lab, "host1", to), 80.0);
}

TEST(LabFault, DelayOfIpv6AndAgainWithAnotherTime) {
  const TestLab lab(small_clos(), {.family = IpFamily::v6});
  const auto to = to_string(lab->nic(lab.nic("host2")).address);
  ASSERT_TRUE(lab.fault("host2--leaf2:delay=150ms,from=host2"));
  EXPECT_GE(shortest_ping(lab, "host1", to), 150.0);
  ASSERT_TRUE(lab.fault("host2--leaf2:delay=20ms,from=host2"));
  const double shortest = shortest_ping(lab, "host1", to);
  EXPECT_GE(shortest, 20.0);
  EXPECT_LT(shortest, 120.0);
}

TEST(LabFault, DelayLosesNothing) {
  const TestLab lab(small_clos(), {.link_rate = std::nullopt});
  ASSERT_TRUE(lab.fault("host2--leaf2:delay=5ms"));
  EXPECT_EQ(forward(lab, 49152, 1000), 1000);
}

/// How many of the packets that host2's NIC takes in have a payload other than what was sent.
int changed_payloads(const TestLab& lab, std::uint16_t label, int count) {
  const auto visit = os::NamespaceVisit::enter(lab->namespace_of(lab.node("host2")));
  const os::FileDescriptor tap(socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, htons(ETH_P_IP)));
  EXPECT_EQ(forward(lab, label, count), count);
  int changed = 0;
  int seen = 0;
  std::array<char, 2048> packet{};
  for (ssize_t size = 0; (size = recv(tap.get(), packet.data(), packet.size(), 0)) > 0;) {
    const std::string_view payload(packet.data() + 28, static_cast<std::size_t>(size) - 28);
    if (size != 100) continue;
    ++seen;
    changed += payload.find_first_not_of('x') == std::string_view::npos ? 0 : 1;
    EXPECT_EQ(payload.substr(0, 20), std::string(20, 'x')) << "BTH and DETH stay";
  }
  EXPECT_EQ(seen, count);
  return changed;
}

TEST(LabFault, CorruptionChangesThePayloadOfItsShare) {
  const TestLab lab(small_clos(), {.link_rate = std::nullopt});
  const auto over = label_over(lab, "leaf1->spine1");
  EXPECT_EQ(changed_payloads(lab, over, 50), 0);
  ASSERT_TRUE(lab.fault("leaf1--spine1:corruption=100%,from=leaf1"));
  EXPECT_EQ(changed_payloads(lab, over, 50), 50);
  ASSERT_TRUE(lab.fault("leaf1--spine1:corruption=50%,from=leaf1"));
  EXPECT_NEAR(changed_payloads(lab, over, 200), 100, 43);  // six standard deviations
}

TEST(LabFault, AnMtuIsABlackHoleForLargerPackets) {
  for (const IpFamily family : {IpFamily::v4, IpFamily::v6}) {
    const TestLab lab(small_clos(), {.link_rate = std::nullopt, .family = family});
    const auto over = label_over(lab, "leaf1->spine1");
    ASSERT_TRUE(lab.fault("leaf1--spine1:mtu=1000,from=leaf1"));
    EXPECT_EQ(forward(lab, over, 20, 1000), 20);
    const auto answers = packets_at(lab, lab.nic("host1")).in;
    EXPECT_EQ(forward(lab, over, 20, 1001), 0);
    EXPECT_LT(packets_at(lab, lab.nic("host1")).in, answers + 10) << "no ICMP tells of it";
    EXPECT_EQ(backward(lab, back_label_over(lab, "spine1->leaf1"), 20, 4000), 20);
    ASSERT_TRUE(*lab.heal());
    EXPECT_EQ(forward(lab, over, 20, 4000), 20);
  }
}

TEST(LabFault, DownMakesTheNearLeafChooseAnewAndTheFarLeafLoseItsShare) {
  const TestLab lab(small_clos(), {.link_rate = std::nullopt});
  const auto over = label_over(lab, "leaf1->spine1");
  const auto back = back_label_over(lab, "spine1->leaf1");
  const auto path = kernel_path(lab, "host1", "host2", over);
  ASSERT_TRUE(lab.fault("leaf1--spine1:down"));
  EXPECT_EQ(forward(lab, over, 50), 50) << "over the other spine";
  EXPECT_EQ(backward(lab, back, 50), 0) << "leaf2 does not know";
  ASSERT_TRUE(*lab.heal());
  EXPECT_EQ(kernel_path(lab, "host1", "host2", over), path) << "as before";
  EXPECT_EQ(forward(lab, over, 50), 50);
  EXPECT_EQ(backward(lab, back, 50), 50);
}

TEST(LabFault, DownOfTwoCablesHealsOneByOne) {
  for (const IpFamily family : {IpFamily::v4, IpFamily::v6}) {
    const TestLab lab(small_clos(), {.link_rate = std::nullopt, .family = family});
    const auto back = back_label_over(lab, "spine1->leaf1");
    ASSERT_TRUE(lab.fault("leaf1--spine1:down"));
    ASSERT_TRUE(lab.fault("leaf1--spine2:down"));
    EXPECT_EQ(backward(lab, back, 20), 0);
    ASSERT_TRUE(*lab.heal(lab.link("leaf1--spine1")));
    EXPECT_EQ(lab::lab_status(lab->name(), lab.root())->down.size(), 1U);
    EXPECT_EQ(backward(lab, back, 20), 20);
    EXPECT_EQ(forward(lab, 49152, 20), 20);
    ASSERT_TRUE(*lab.heal(lab.link("leaf1--spine2")));
    EXPECT_EQ(kernel_path(lab, "host1", "host2", label_over(lab, "leaf1->spine2")).size(), 4U);
  }
}

TEST(LabFault, DownOfAHostsCableHealsWithTheHostsRoutes) {
  const TestLab lab(make_rails({.groups = 2, .hosts_per_group = 1, .rails = 2, .spines = 2}).value());
  ASSERT_TRUE(lab.fault("host1/p2--leaf2/p1:down") || lab.fault("host1--leaf2:down"));
  EXPECT_EQ(arrived(lab, {.from = "host2/p2", .to = "host1/p2", .count = 5}), 0);
  EXPECT_EQ(arrived(lab, {.from = "host1/p1", .to = "host2/p1", .count = 5}), 5);
  ASSERT_TRUE(*lab.heal());
  EXPECT_EQ(arrived(lab, {.from = "host2/p2", .to = "host1/p2", .count = 5}), 5);
  EXPECT_EQ(arrived(lab, {.from = "host1/p2", .to = "host2/p2", .count = 5}), 5);
}

TEST(LabFault, DownHasNoDirection) {
  const TestLab lab(small_clos());
  const auto done = lab.fault("leaf1--spine1:down,from=leaf1");
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().kind, ErrorKind::usage);
}

TEST(LabFault, SeveralOnOneChannelAddUpAndAreMendedLinkByLink) {
  const TestLab lab(small_clos(), {.link_rate = std::nullopt});
  ASSERT_TRUE(lab.fault("leaf1--spine1:loss=50%,mtu=1000,from=leaf1"));
  ASSERT_TRUE(lab.fault("leaf1--spine1:delay=1ms,from=leaf1"));
  ASSERT_TRUE(lab.fault("leaf1--spine2:loss=100%"));
  const auto one = label_over(lab, "leaf1->spine1");
  const auto two = label_over(lab, "leaf1->spine2");
  EXPECT_EQ(forward(lab, one, 20, 1500), 0);
  const int half = forward(lab, one, 400);
  EXPECT_NEAR(half, 200, 60);  // six standard deviations
  ASSERT_TRUE(*lab.heal(lab.link("leaf1--spine1")));
  EXPECT_EQ(forward(lab, one, 100, 1500), 100);
  EXPECT_EQ(forward(lab, two, 20), 0) << "the other link's fault stays";
  ASSERT_TRUE(*lab.heal());
  EXPECT_EQ(forward(lab, two, 20), 20);
  EXPECT_FALSE(*lab.heal()) << "nothing left to mend";
}

TEST(LabFault, IsReportedByStatusFromAnyProcess) {
  const TestLab lab(small_clos());
  ASSERT_TRUE(lab.fault("leaf1--spine1:loss=0.5%,from=leaf1"));
  ASSERT_TRUE(lab.fault("leaf1--spine1:loss=2%,rate=10M,from=leaf1"));
  ASSERT_TRUE(lab.fault("leaf2--spine1:down"));
  const auto status = lab::lab_status(lab->name(), lab.root());
  ASSERT_TRUE(status);
  ASSERT_EQ(status->faults.size(), 1U);
  EXPECT_EQ(status->faults[0].channel, lab.channel("leaf1->spine1"));
  EXPECT_EQ(status->faults[0].fault.loss, Fraction::percent(2)) << "the later one counts";
  EXPECT_EQ(status->faults[0].fault.rate, Bandwidth::mbit(10));
  EXPECT_EQ(status->down, std::vector{lab.link("leaf2--spine1")});
}

}  // namespace
}  // namespace weft
