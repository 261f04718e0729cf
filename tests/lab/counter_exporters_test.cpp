// Counters of a lab's switch through Debian's programs: node_exporter, and snmp_exporter before snmpd, both
// scraped by a Prometheus, all in the namespace of that switch.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "cli/counter_source.hpp"
#include "collectors/counters/port_history.hpp"
#include "tests/collectors/bus/watch_rig.hpp"
#include "tests/support/test_lab.hpp"
#include "topology/files/file_text.hpp"
#include "topology/model/clos.hpp"
#include "topology/os/clocks.hpp"
#include "topology/os/network_namespace.hpp"

namespace weft {
namespace {

using counters::PortCounter;
using counters::SeriesHistory;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr auto kLimit = seconds(60);  // snmpd reads its interfaces anew after 15 s

/// Names and numbers of IF-MIB (RFC 2863), as prometheus-snmp-generator writes them.
std::string snmp_module() {
  std::string text =
      "if_mib:\n  walk: [1.3.6.1.2.1.31.1.1.1]\n  version: 2\n  auth: {community: lab}\n  metrics:\n";
  for (const auto& [name, number] : {std::pair("ifHCInOctets", 6), std::pair("ifHCInUcastPkts", 7),
                                     std::pair("ifHCOutOctets", 10), std::pair("ifHCOutUcastPkts", 11)})
    text += fmt::format(
        "  - {{name: {}, oid: 1.3.6.1.2.1.31.1.1.1.{}, type: counter, "
        "indexes: [{{labelname: ifIndex, type: gauge}}], lookups: [{{labels: [ifIndex], "
        "labelname: ifName, oid: 1.3.6.1.2.1.31.1.1.1.1, type: DisplayString}}]}}\n",
        name, number);
  return text;
}

class CounterExporters : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto at = [&](const char* name) { return (files_.path() / name).string(); };
    ASSERT_TRUE(files::write_text_file(at("snmp.yml"), snmp_module()));
    // Else it tells of an interface that is gone, beside the new one of that name, for five minutes.
    ASSERT_TRUE(
        files::write_text_file(at("snmpd.conf"), "rocommunity lab 127.0.0.1\ninterface_replace_old yes\n"));
    const auto server = bus::free_port(), node = bus::free_port(), snmp = bus::free_port();
    const auto agent = bus::free_port();
    ASSERT_TRUE(files::write_text_file(
        at("prometheus.yml"),
        fmt::format("global: {{scrape_interval: 1s, scrape_timeout: 1s}}\nscrape_configs:\n"
                    "- job_name: node\n  static_configs: [{{targets: [\"127.0.0.1:{}\"], labels: {{instance: "
                    "leaf1}}}}]\n"
                    "- job_name: snmp\n  metrics_path: /snmp\n  params: {{module: [if_mib], target: "
                    "[\"127.0.0.1:{}\"]}}\n"
                    "  static_configs: [{{targets: [\"127.0.0.1:{}\"], labels: {{instance: leaf1}}}}]\n",
                    node, agent, snmp)));
    url_ = fmt::format("http://127.0.0.1:{}", server);
    start({"prometheus-node-exporter", fmt::format("--web.listen-address=127.0.0.1:{}", node),
           "--collector.disable-defaults", "--collector.netdev", "--collector.netclass", "--collector.stat"});
    start({"/usr/sbin/snmpd", "-f", "-Ln", "-C", "-c", at("snmpd.conf"), "-p", at("snmpd.pid"),
           fmt::format("udp:127.0.0.1:{}", agent)});
    start({"prometheus-snmp-exporter", "--config.file=" + at("snmp.yml"),
           fmt::format("--web.listen-address=127.0.0.1:{}", snmp)});
    start({"prometheus", "--config.file=" + at("prometheus.yml"), "--storage.tsdb.path=" + at("data"),
           fmt::format("--web.listen-address=127.0.0.1:{}", server)});
  }

  void start(std::vector<std::string> argv) {
    if (IsSkipped()) return;
    auto child = os::ChildProcess::start({.argv = std::move(argv),
                                          .env = {"SNMP_PERSISTENT_DIR=" + files_.path().string()},
                                          .output = os::ToNothing{},
                                          .errors = os::ToNothing{},
                                          .network_namespace = lab_->namespace_of(lab_.node("leaf1"))});
    if (!child) GTEST_SKIP() << child.error().message;
    running_.push_back(std::move(*child));
  }

  /// As `weft counters check` reads, called at the switch.
  counters::CounterTable read() const {
    const auto visit = os::NamespaceVisit::enter(lab_->namespace_of(lab_.node("leaf1")));
    const auto source = cli::CounterSource::open({}, {.prometheus = url_,
                                                      .presets = {"node_exporter", "snmp_exporter"},
                                                      .window = std::chrono::minutes(10)});
    counters::CounterTable table;
    if (visit && source) (void)source->read(lab_.fabric(), table);  // not yet there: read again
    return table;
  }

  SeriesHistory history(std::string_view port, PortCounter counter, std::string_view source) const {
    auto table = read();
    SeriesHistory found;
    each_history(lab_.fabric(), table, [&](std::span<const SeriesHistory> of_port) {
      for (const SeriesHistory& one : of_port)
        if (one.key.counter == counter && lab_.fabric().name_of(one.port) == port &&
            table.source_name(one.source) == source)
          found = one;
    });
    return found;
  }
  static std::uint64_t grew(const SeriesHistory& one) {
    std::uint64_t sum = 0;
    for (const auto& window : one.windows) sum += window.grew;
    return sum;
  }

  template <class Is>
  static bool comes_true(Is is) {
    const auto end = os::steady_now() + kLimit;
    while (!is() && os::steady_now() < end) std::this_thread::sleep_for(milliseconds(500));
    return is();
  }

  void ping(int times) const {
    EXPECT_TRUE(lab_.run_in("host1", {"ping", "-q", "-c", std::to_string(times), "-i", "0.02",
                                      to_string(lab_->nic(lab_.nic("host1")).gateway)}));
  }

  const TestLab lab_{make_clos({.leaves = 2, .spines = 1, .hosts_per_leaf = 1}).value()};
  const TestDirectory files_;
  std::string url_;
  std::vector<os::ChildProcess> running_;
};

TEST_F(CounterExporters, TellFramesAlikeAndAFlappedLink) {
  const auto frames = [&](const char* source) { return history("leaf1/p1", PortCounter::frames_in, source); };
  for (const char* exporter : {"snmp_exporter", "node_exporter"})  // what is not read before tells no growth
    ASSERT_TRUE(comes_true([&] { return frames(exporter).exporter != 0; })) << exporter;
  ping(50);
  EXPECT_TRUE(comes_true([&] { return grew(frames("node_exporter")) >= 50; }));
  EXPECT_TRUE(comes_true([&] { return grew(frames("snmp_exporter")) >= 50; }));

  const auto flaps = [&](const char* port) {
    return grew(history(port, PortCounter::link_events, "node_exporter"));
  };
  ASSERT_EQ(flaps("leaf1/p2"), 0U);
  ASSERT_TRUE(lab_.run_in("leaf1", {"ip", "link", "set", "p2", "down"}));
  ASSERT_TRUE(lab_.run_in("leaf1", {"ip", "link", "set", "p2", "up"}));
  EXPECT_TRUE(comes_true([&] { return flaps("leaf1/p2") >= 2; })) << flaps("leaf1/p2");
  EXPECT_EQ(flaps("leaf1/p1"), 0U);
}

TEST_F(CounterExporters, TellAPortThatCountsAnewWhichIsNoRate) {
  const auto frames = [&](const char* source) { return history("leaf1/p1", PortCounter::frames_in, source); };
  constexpr std::array kSources{"node_exporter", "snmp_exporter"};
  for (const auto* source : kSources)
    ASSERT_TRUE(comes_true([&] { return frames(source).exporter != 0; })) << source;
  ping(200);
  for (const auto* source : kSources)
    ASSERT_TRUE(comes_true([&] { return grew(frames(source)) >= 200; })) << source;
  std::map<std::string, std::uint64_t> before;
  for (const auto* source : kSources) before[source] = grew(frames(source));
  // As after a restart of the device: the interface of that name is another (of another ifIndex), which has
  // counted nothing.
  ASSERT_TRUE(lab_.run_in("leaf1", {"ip", "link", "delete", "p1"}));
  ASSERT_TRUE(lab_.run_in("leaf1", {"ip", "link", "add", "p1", "type", "veth", "peer", "name", "far"}));
  for (const char* end : {"p1", "far"}) ASSERT_TRUE(lab_.run_in("leaf1", {"ip", "link", "set", end, "up"}));
  for (const auto* source : kSources) {
    EXPECT_TRUE(comes_true([&] { return frames(source).left_out.restarted > 0; })) << source;
    EXPECT_LT(grew(frames(source)), before[source] + 100) << source << ": what the new one counted alone";
  }
  EXPECT_EQ(read().doubled.count, 0U);
}

}  // namespace
}  // namespace weft
