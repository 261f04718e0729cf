// SONiC's database of counters as a real Redis keeps it, read by `exec:` with what an operator would write:
// redis-cli --json for each key of the ports. On loopback, at a free port.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "cli/counters.hpp"
#include "tests/collectors/bus/watch_rig.hpp"
#include "tests/support/command.hpp"
#include "tests/support/scratch_file.hpp"
#include "tests/support/test_lab.hpp"
#include "topology/files/file_text.hpp"
#include "topology/os/child_process.hpp"
#include "topology/os/run_program.hpp"

namespace weft {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;

constexpr const char* kFabric =
    "fabric: a\nnodes: [{name: leaf1, kind: switch, tier: leaf}, {name: spine1, kind: switch, tier: spine}]\n"
    "links: [{a: leaf1/Ethernet0, b: spine1/Ethernet0, rate: 400G}, "
    "{a: leaf1/Ethernet8, b: spine1/Ethernet8, rate: 400G}]\n";

/// COUNTERS_DB is database 2; the JSON of all its ports, as docs/counters.md shows it.
constexpr const char* kScript =
    "#!/bin/sh\n"
    "db() { redis-cli -h 127.0.0.1 -p PORT -n 2 --json \"$@\"; }\n"
    "printf '{\"COUNTERS_PORT_NAME_MAP\": %s' \"$(db hgetall COUNTERS_PORT_NAME_MAP)\"\n"
    "for id in $(redis-cli -h 127.0.0.1 -p PORT -n 2 hvals COUNTERS_PORT_NAME_MAP); do\n"
    "  printf ', \"COUNTERS:%s\": %s' \"$id\" \"$(db hgetall \"COUNTERS:$id\")\"\n"
    "done\n"
    "echo '}'\n";

class CounterRedis : public ::testing::Test {
 protected:
  void SetUp() override {
    port_ = std::to_string(bus::free_port());
    auto child = os::ChildProcess::start({.argv = {"redis-server", "--port", port_, "--bind", "127.0.0.1",
                                                   "--save", "", "--dir", files_.path().string()},
                                          .output = os::ToNothing{},
                                          .errors = os::ToNothing{}});
    if (!child) GTEST_SKIP() << child.error().message;
    server_ = std::move(*child);
    const auto end = std::chrono::steady_clock::now() + seconds(20);
    while (redis({"ping"}) != "PONG\n" && std::chrono::steady_clock::now() < end)
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    ASSERT_EQ(redis({"ping"}), "PONG\n");
  }

  std::string redis(std::vector<std::string> words) const {
    std::vector<std::string> argv{"redis-cli", "-h", "127.0.0.1", "-p", port_, "-n", "2"};
    argv.insert(argv.end(), words.begin(), words.end());
    return os::run_program(argv, "", seconds(5)).value_or("");
  }
  void count(const std::string& id, int frames, int failed) const {
    redis({"hset", "COUNTERS:" + id, "SAI_PORT_STAT_IF_IN_UCAST_PKTS", std::to_string(frames),
           "SAI_PORT_STAT_IF_IN_FEC_NOT_CORRECTABLE_FRAMES", std::to_string(failed),
           "SAI_PORT_STAT_IF_IN_FEC_CODEWORD_ERRORS_S1", "7", "SAI_PORT_STAT_PFC_3_RX_PKTS", "5"});
  }

  const TestDirectory files_;
  std::string port_;
  std::optional<os::ChildProcess> server_;
};

TEST_F(CounterRedis, OfSonicIsReadByACommandForEachSwitch) {
  redis({"hset", "COUNTERS_PORT_NAME_MAP", "Ethernet0", "oid:0x1000000000002", "Ethernet8",
         "oid:0x1000000000003"});
  count("oid:0x1000000000002", 41, 0);
  count("oid:0x1000000000003", 42, 3);
  std::string script = kScript;
  for (auto at = script.find("PORT "); at != std::string::npos; at = script.find("PORT "))
    script.replace(at, 4, port_);
  const auto path = files_.path() / "counters";
  ASSERT_TRUE(files::write_text_file(path, script));
  const ScratchFile fabric(std::string(kFabric) +
                           fmt::format("counters: {{exec: \"sh {} {{switch}}\"}}\n", path.string()));
  const auto outcome = call(cli::counters_check_command, {"--fabric", fabric.path()});
  EXPECT_EQ(outcome.status, 0) << outcome.out << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("exec: counters of 4 of 4 ports")) << "both switches have one database";
  for (const char* counter : {"frames_in", "fec_uncorrectable", "fec_bin"})
    EXPECT_THAT(outcome.out, HasSubstr(counter));

  server_->stop(seconds(5));
  const auto gone = call(cli::counters_check_command, {"--fabric", fabric.path()});
  EXPECT_GE(gone.status, 64) << gone.out;
  EXPECT_THAT(gone.err, HasSubstr("exec: no switch"));
}

}  // namespace
}  // namespace weft
