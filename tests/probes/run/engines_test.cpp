#include "probes/run/engines.hpp"

#include <gtest/gtest.h>
#include <sched.h>

#include <thread>

namespace weft::run {
namespace {

/// How many CPUs a thread may use that is started where the engines of `interface` are opened.
int cpus_of_engines(const HostInventory& inventory, const std::string& interface) {
  int allowed = 0;
  std::thread([&] {
    const session::OpenEngines open = [&](const session::NicAssignment&, const packet::RunSecrets&,
                                          const datapath::SharedNics&) -> Result<session::NicEngines> {
      std::thread([&] {
        cpu_set_t set;
        sched_getaffinity(0, sizeof set, &set);
        allowed = CPU_COUNT(&set);
      }).join();
      return session::NicEngines{};
    };
    EXPECT_TRUE(near_nics(open, inventory)({interface, PortId(0)}, {}, {}));
  }).join();
  return allowed;
}

TEST(NearNics, ThreadsOfAnEngineRunOnTheCpusOfItsNic) {
  cpu_set_t mine;
  ASSERT_EQ(sched_getaffinity(0, sizeof mine, &mine), 0);
  std::uint32_t first = 0;
  while (!CPU_ISSET(first, &mine)) ++first;
  HostInventory inventory;
  inventory.nics.push_back({.interface = "eth0", .served_as = "eth0", .near_cpus = std::to_string(first)});
  inventory.nics.push_back({.interface = "eth1", .served_as = "eth1", .near_cpus = "65535"});
  EXPECT_EQ(cpus_of_engines(inventory, "eth0"), 1);
  EXPECT_EQ(cpus_of_engines(inventory, "eth1"), CPU_COUNT(&mine)) << "CPUs that are not there hold nobody";
  EXPECT_EQ(cpus_of_engines(inventory, "eth2"), CPU_COUNT(&mine));
}

}  // namespace
}  // namespace weft::run
