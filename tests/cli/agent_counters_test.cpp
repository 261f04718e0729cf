// From the counters of a NIC to what a watch shows: two standing agents, a real nats-server, a watcher that
// nobody named a source to. Errors are made up, for no interface of a test machine counts any.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "cli/counter_watch.hpp"
#include "collectors/metrics/metrics.hpp"
#include "probes/run/standing_agent.hpp"
#include "probes/run/watch_loop.hpp"
#include "tests/collectors/bus/watch_rig.hpp"
#include "topology/model/clos.hpp"
#include "topology/os/clocks.hpp"

namespace weft::cli {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::SizeIs;

/// A standing agent whose only NIC counts as the test says.
class AgentWithNic {
 public:
  AgentWithNic(std::unique_ptr<watch::AgentLink> link, const std::string& host, const IpAddress& address)
      : link_(std::move(link)), thread_([this, host, address](const std::stop_token& stop) {
          const run::StandingOptions options{
              .host = host,
              .version = "test",
              .nics = {{"eth0", address}},
              .open = [](const session::NicReport&) -> Result<run::OpenedNic> {
                return fail(ErrorKind::absent, "it does not probe");
              },
              .read_counters =
                  [&](bool, const std::stop_token&) {
                    NicReading reading{.interface = "eth0", .driver = "any"};
                    reading.driver_counters["rx_crc_errors"] = errors;
                    reading.kernel["rx_packets"] = frames_ += 1000;
                    return std::vector<counters::NicAt>{{os::wall_now(), to_string(address), reading}};
                  },
              .counter_timing = {.read = 200ms, .told = 10min},
              .timing = {.look = 10ms}};
          EXPECT_TRUE(run_standing_agent(options, *link_, stop));
        }) {}

  std::atomic<std::uint64_t> errors = 3;

 private:
  std::unique_ptr<watch::AgentLink> link_;
  std::uint64_t frames_ = 1000;
  std::jthread thread_;
};

class ToCounters final : public run::WatchListener {
 public:
  explicit ToCounters(CounterWatch& counters) : counters_(counters) {}
  void on_event(const IncidentEvent&, const watch::StoredEvent&, bool) override {}
  void on_state(const watch::WatchState&) override {}
  void on_note(std::string_view) override {}
  void on_counters(counters::HostPorts own, std::string text) override {
    counters_.take(std::move(own), std::move(text)), ++told;
  }
  int told = 0;

 private:
  CounterWatch& counters_;
};

TEST(AgentCounters, OfTheirNicsAreWarningsOfTheWatchWithoutAnyOtherSource) {
  const Fabric fabric =
      make_clos({.name = bus::kFabric, .leaves = 1, .spines = 1, .hosts_per_leaf = 1}).value();
  const auto book = plan_addresses(fabric, IpFamily::v4).value().book;
  const PortId nic = fabric.find_nic("host1").value();
  const auto nats = bus::server();
  const run::WatchPlace place{fabric, book, {}, {}, nats.address_for("watcher"), {}};
  const run::WatchOptions options;
  const auto counters = CounterWatch::open(CounterSource(), fabric, {}).value();
  ToCounters listener(*counters);
  const auto map = [](const run::HeardHosts&, const std::stop_token&) -> Result<run::MappedPlan> {
    return fail(ErrorKind::absent, "nothing is mapped");
  };
  run::WatchLoop loop(place, options, listener, {bus::watcher(nats), map, os::steady_now, os::wall_now});
  loop.turn();
  AgentWithNic agent(bus::agent(nats, "host1"), "host1", *book.address_of(nic));
  const auto turn_until_told = [&](int times) {
    for (const auto until = os::steady_now() + bus::kSoon; listener.told < times && os::steady_now() < until;)
      loop.turn();
    EXPECT_EQ(listener.told, times);
    counters->look(os::wall_now());
  };
  turn_until_told(1);
  EXPECT_TRUE(counters->warnings().ports.empty());
  agent.errors = 10;
  turn_until_told(2);
  const auto found = counters->warnings();
  ASSERT_THAT(found.ports, SizeIs(1)) << found.trouble;
  EXPECT_EQ(found.ports[0].port, nic);
  EXPECT_EQ(found.ports[0].errors, 7);
  EXPECT_THAT(found.ports[0].source, HasSubstr("agent host1"));
  EXPECT_EQ(found.trouble, "");
  const auto metrics = metrics::metrics_text(fabric, found);
  EXPECT_THAT(metrics, HasSubstr("weft_port_counted_errors{fabric=\"pod.1\",port=\"host1/p1\""));
  loop.end();
}

}  // namespace
}  // namespace weft::cli
