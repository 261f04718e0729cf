#include "topology/host/sysfs_values.hpp"

#include <gtest/gtest.h>
#include <sched.h>

#include "topology/host/near_cpus.hpp"

namespace weft::host {
namespace {

TEST(SysfsValues, SpeedsRatesAndStatesReadAsTheKernelWritesThem) {
  EXPECT_EQ(parse_pcie_speed("32.0 GT/s PCIe"), PcieSpeed::giga_transfers(32));
  EXPECT_EQ(parse_pcie_speed("2.5 GT/s"), PcieSpeed::giga_transfers(2.5));
  EXPECT_EQ(parse_port_rate("400 Gb/sec (4X NDR)"), Bandwidth::gbit(400));
  EXPECT_EQ(parse_port_rate("2.5 Gb/sec (1X SDR)"), Bandwidth::gbit(2.5));
  EXPECT_EQ(parse_port_state("4: ACTIVE"), "ACTIVE");
}

TEST(SysfsValues, WhatIsOfAnotherFormIsNothing) {
  for (const char* text : {"", "Unknown", "Unknown speed", "GT/s", "-8 GT/s", "1e300 GT/s", "8"})
    EXPECT_FALSE(parse_pcie_speed(text)) << text;
  for (const char* text : {"", "400", "fast Gb/sec", "0 Gb/sec"}) EXPECT_FALSE(parse_port_rate(text)) << text;
  for (const char* text : {"", "4", "4:", "4:  "}) EXPECT_FALSE(parse_port_state(text)) << text;
}

TEST(SysfsValues, CpuListsReadAndWriteTheSame) {
  for (const char* text : {"0", "0-3", "0-3,8", "0-55,112-167"})
    EXPECT_EQ(to_ranges(*parse_cpu_list(text)), text);
  EXPECT_EQ(to_ranges(*parse_cpu_list("3,1,2,2\n")), "1-3");
  for (const char* text : {"a", "3-1", "1-", "1,,2", "0-70000", "0-4294967295"})
    EXPECT_FALSE(parse_cpu_list(text)) << text;
}

TEST(SysfsValues, FoldersAndDevicesAreNoFiles) {
  EXPECT_FALSE(sysfs_line("/proc"));
  EXPECT_FALSE(sysfs_line("/dev/zero"));
  EXPECT_FALSE(sysfs_line("/nowhere/at/all"));
  EXPECT_TRUE(sysfs_names("/nowhere").empty());
}

TEST(NearCpus, AThreadRunsWhereItIsTold) {
  EXPECT_FALSE(run_this_thread_on(""));
  EXPECT_FALSE(run_this_thread_on("x"));
  EXPECT_FALSE(run_this_thread_on("65535"));
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  std::uint32_t one = 0;
  while (!CPU_ISSET(one, &before)) ++one;
  ASSERT_TRUE(run_this_thread_on(std::to_string(one)));
  EXPECT_EQ(sched_getcpu(), static_cast<int>(one));
  sched_setaffinity(0, sizeof before, &before);
}

}  // namespace
}  // namespace weft::host
