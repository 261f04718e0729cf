// Lines of the form that the drivers print, with times as dmesg writes them.
#include "topology/host/kernel_log.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weft::host {
namespace {

using testing::HasSubstr;

constexpr std::string_view kLog =
    "[    0.000000] Linux version 6.1.0-18-amd64 (debian-kernel@lists.debian.org)\n"
    "[ 1201.101] NVRM: Xid (PCI:0000:18:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the "
    "bus.\n"
    "[ 1201.102] NVRM: GPU 0000:18:00.0: GPU has fallen off the bus.\n"
    "[ 1300.000] NVRM: Xid (PCI:0000:3a:00): 94, pid=4711, name=python, Contained: SM (0x1). RST: No, D-RST: "
    "No\n"
    "[ 1301.000] NVRM: Xid (PCI:0000:3a:00): 13, pid=4711, Graphics Exception: ESR 0x504648=0x0\n"
    "[ 1302.000] NVRM: Xid (PCI:0000:5d:00): 119, pid=99, Timeout after 6s of waiting for RPC response from "
    "GPU0 "
    "GSP!\n"
    "[ 1400.000] EDAC MC0: 1 UE memory read error on CPU_SrcID#0_MC#0_Chan#1_DIMM#0 (channel:1 slot:0)\n"
    "[ 1401.000] EDAC MC0: 1 CE memory read error on CPU_SrcID#0_MC#0_Chan#1_DIMM#0 (channel:1 slot:0)\n"
    "[ 1500.000] mlx5_core 0000:1a:00.0: PCIe Bus Error: severity=Uncorrected (Non-Fatal), type=Transaction "
    "Layer, (Requester ID)\n"
    "[ 1501.000] mlx5_core 0000:1a:00.0: PCIe Bus Error: severity=Corrected, type=Physical Layer\n"
    "[ 1600.000] mlx5_core 0000:1a:00.0: poll_health:825:(pid 0): device's health compromised - reached miss "
    "count\n";

KernelOffence find(const std::vector<KernelOffence>& all, KernelOffenceKind kind) {
  for (const KernelOffence& each : all)
    if (each.kind == kind) return each;
  ADD_FAILURE() << "no " << to_string(kind);
  return {};
}

TEST(KernelLog, NamesBrokenDevicesWithTheirCounts) {
  const auto all = offences_in(kLog);
  EXPECT_EQ(all.size(), 6u);
  const auto off_bus = find(all, KernelOffenceKind::gpu_off_bus);
  EXPECT_EQ(off_bus.device, "0000:18:00.0");
  EXPECT_EQ(off_bus.code, 79u);
  EXPECT_EQ(off_bus.count, 2u) << "both lines are of that GPU";
  EXPECT_THAT(off_bus.last, HasSubstr("fallen off the bus"));
  EXPECT_EQ(find(all, KernelOffenceKind::gpu_memory).device, "0000:3a:00.0");
  EXPECT_EQ(find(all, KernelOffenceKind::gpu_error).code, 119u);
  EXPECT_EQ(find(all, KernelOffenceKind::host_memory).count, 1u) << "what was corrected is none";
  EXPECT_EQ(find(all, KernelOffenceKind::pcie_error).device, "0000:1a:00.0");
  EXPECT_EQ(find(all, KernelOffenceKind::nic_unhealthy).count, 1u);
}

TEST(KernelLog, WhatAProgramCausesIsNoOffence) {
  for (const int code : {13, 31, 43, 45})
    EXPECT_TRUE(offences_in(fmt::format("NVRM: Xid (PCI:0000:18:00): {}, pid=1, ...", code)).empty()) << code;
}

TEST(KernelLog, HalfALineAndNonsenseAreNothing) {
  for (const char* line : {"", "NVRM: Xid (", "NVRM: Xid (PCI:0000:18:00): ", "NVRM: Xid (PCI:0000:18:00): x",
                           "NVRM: Xid (PCI:0000:18:00): 99999999999"})
    EXPECT_TRUE(offences_in(line).empty()) << line;
  const auto nameless = offences_in("NVRM: Xid (PCI:here): 79, gone");
  ASSERT_EQ(nameless.size(), 1u);
  EXPECT_EQ(nameless[0].device, "");
}

TEST(KernelLog, ALogThatNamesADeviceOnEachLineStaysBounded) {
  std::string log;
  for (int i = 0; i < 5000; ++i)
    log += fmt::format("NVRM: Xid (PCI:0000:{:02x}:{:02x}): {}, x\n", i % 256, i % 32, i + 200);
  EXPECT_LE(offences_in(log).size(), 128u);
}

TEST(KernelLog, OfThisMachineIsReadOrRefused) {
  const auto log = read_kernel_log();
  if (log)
    EXPECT_FALSE(log->empty());
  else
    EXPECT_THAT(log.error().message, HasSubstr("/dev/kmsg"));
}

}  // namespace
}  // namespace weft::host
