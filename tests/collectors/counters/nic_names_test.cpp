#include "collectors/counters/nic_names.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weft::counters {
namespace {

using enum PortCounter;
using ::testing::IsEmpty;

std::uint64_t value(const NicReading& reading, CounterKey key) {
  const auto counts = nic_counts(reading);
  const auto found = counts.find(key);
  return found == counts.end() ? 0 : found->second.value;
}

TEST(NicNames, EveryNameOfAProfileIsOneOfWefts) {
  for (const NicProfile& profile : nic_profiles())
    for (const NicName& rule : profile.names) {
      std::string name(rule.name);
      const auto hole = name.find('#');
      if (hole != std::string::npos) name[hole] = '3';
      NicReading reading{.interface = "eth0", .driver = std::string(profile.driver)};
      reading.driver_counters = {{name, 5}};
      const CounterKey key{rule.counter,
                           hole == std::string::npos ? std::nullopt : std::optional<std::uint8_t>(3)};
      EXPECT_EQ(value(reading, key), 5u) << profile.name << " " << name;
    }
}

TEST(NicNames, ADriversNameMeansNothingAtAnother) {
  const NicReading reading{.interface = "eth0", .driver = "veth", .driver_counters = {{"rx_prio3_pause", 5}}};
  EXPECT_THAT(nic_counts(reading), IsEmpty());
}

TEST(NicNames, WhatAStandardDefinesStandsBeforeTheDriversAndTheKernels) {
  NicReading reading{.interface = "eth0", .driver = "mlx5_core"};
  reading.driver_counters = {
      {"rx_crc_errors_phy", 5}, {"rx_packets_phy", 900}, {"rx_prio3_pause_duration", 1}};
  reading.kernel = {{"rx_packets", 20}, {"rx_bytes", 7}};
  EXPECT_EQ(value(reading, {fcs_errors}), 5u);
  EXPECT_EQ(value(reading, {frames_in}), 900u) << "the kernel's leave out what RDMA received";
  EXPECT_EQ(value(reading, {bytes_in}), 7u);
  reading.kernel["eth-mac-FrameCheckSequenceErrors"] = 4;
  EXPECT_EQ(value(reading, {fcs_errors}), 4u);
}

TEST(NicNames, FramesOfIceAreASum) {
  NicReading reading{.interface = "eth0", .driver = "ice"};
  reading.driver_counters = {{"rx_unicast.nic", 5}, {"rx_multicast.nic", 2}, {"rx_broadcast.nic", 1}};
  EXPECT_EQ(value(reading, {frames_in}), 8u);
}

TEST(NicNames, OfTwoThatTellThePausesOfAPortOneStands) {
  NicReading reading{.interface = "eth0", .driver = "mlx5_core"};
  reading.driver_counters = {{"rx_pause_ctrl_phy", 9}, {"rx_global_pause", 7}, {"tx_pause_ctrl_phy", 5}};
  EXPECT_EQ(value(reading, {pause_in}), 7u);
  EXPECT_EQ(value(reading, {pause_out}), 5u);
}

TEST(NicNames, TimesOfPausesAreThoseOfMlx5) {
  NicReading reading{.interface = "eth0", .driver = "mlx5_core"};
  reading.driver_counters = {{"rx_prio3_pause_duration", 9},  {"tx_prio0_pause_duration", 0},
                             {"rx_global_pause_duration", 7}, {"rx_prio3_pause", 1},
                             {"rx_prio8_pause_duration", 1},  {"rx_prio3_pause_transition", 1},
                             {"rx_prio33_pause_duration", 1}, {"rx__pause_duration", 1},
                             {"x_prio3_pause_duration", 1},   {"rx_pause_duration", 1}};
  EXPECT_THAT(pause_times(reading), testing::ElementsAre(testing::Pair("rx_global_pause_duration", 7),
                                                         testing::Pair("rx_prio3_pause_duration", 9),
                                                         testing::Pair("tx_prio0_pause_duration", 0)));
  reading.driver = "ice";
  EXPECT_THAT(pause_times(reading), IsEmpty());
}

TEST(NicNames, FramesThatIceDropsAreThoseOfRingsAndOfThePort) {
  NicReading reading{.interface = "eth0", .driver = "ice"};
  reading.driver_counters = {{"rx_dropped", 5}, {"rx_dropped.nic", 2}};
  reading.kernel = {{"rx_dropped", 5}};
  EXPECT_EQ(value(reading, {discards_in}), 7u);
}

TEST(NicNames, BinsThatAreCompleteSumToTheCodewords) {
  NicReading reading{.interface = "eth0"};
  reading.kernel = {
      {"uncorrectable_blocks", 2}, {"fec_bin.0-0", 900}, {"fec_bin.1-1", 50}, {"fec_bin.2-15", 5}};
  EXPECT_EQ(value(reading, {fec_codewords}), 957u);
  EXPECT_EQ(value(reading, {fec_bin, 1}), 50u);
  EXPECT_EQ(value(reading, {fec_bin, 2}), 0u) << "a bin of several is none of one";
  reading.kernel.erase("fec_bin.1-1");
  EXPECT_EQ(value(reading, {fec_codewords}), 0u);
}

TEST(NicNames, CongestionControlIsToldByTheRdmaDevice) {
  NicReading reading{.interface = "eth0", .driver = "mlx5_core"};
  reading.rdma = {{"np_cnp_sent", 5}, {"np_ecn_marked_roce_packets", 9}};
  EXPECT_EQ(value(reading, {cnp_out}), 5u);
  EXPECT_EQ(value(reading, {ecn_marked}), 9u);
}

}  // namespace
}  // namespace weft::counters
