#include "collectors/counters/nic_text.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "collectors/counters/counter_file.hpp"
#include "collectors/counters/counter_observations.hpp"
#include "tests/support/schema.hpp"
#include "topology/model/clos.hpp"

namespace weft::counters {
namespace {

using std::chrono::hours;
using std::chrono::seconds;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

NicAt reading_of(Nanoseconds at, std::uint64_t lost) {
  NicReading reading{.interface = "eth2", .driver = "mlx5_core", .fec = "RS"};
  reading.kernel = {{"uncorrectable_blocks", lost},
                    {"corrected_blocks", lost * 1000 + 7},
                    {"fec_bin.0-15", 78'125'000 * static_cast<std::uint64_t>(
                                                      std::chrono::duration_cast<seconds>(at).count())}};
  reading.module = ModuleState{.form = "OSFP", .vendor = "V", .part = "P\x1b[2J", .serial = "S1"};
  reading.module->lanes = {{.rx_mw = 0.5, .tx_mw = 1.0, .bias_ma = 40}, {.rx_mw = 0.0}};
  for (std::uint8_t lane = 1; lane <= 16; ++lane)
    for (const char* name : {"a", "b", "c", "d", "e", "f"})
      reading.module->diagnostics.push_back({name, lane, 1e-9});
  reading.pcie = {{"correctable BadTLP", 3}};
  reading.not_read = {{"pause frames", "the driver does not tell"}};
  return {at, "host1/p1", std::move(reading)};
}

TEST(NicText, ReadingsPutOneBehindTheOtherAreWindowsOfThePort) {
  const Fabric fabric = make_clos({.leaves = 2, .spines = 2, .hosts_per_leaf = 1}).value();
  const auto both = nic_lines("", "boot1", {reading_of(hours(1), 5)}) +
                    nic_lines("", "boot1", {reading_of(hours(1) + seconds(60), 9)});
  std::istringstream lines(both);
  for (std::string line; std::getline(lines, line);) expect_matches_schema(line, "counters");
  CounterTable table;
  ASSERT_TRUE(read_counter_file(fabric, both, "file", "", hours(2), table));
  EXPECT_THAT(table.refused.first, IsEmpty());
  const auto counts = channel_counts(fabric, table);
  ASSERT_EQ(counts.size(), 1u);
  EXPECT_EQ(counts[0].kind, CounterKind::codewords);
  EXPECT_EQ(counts[0].errors, 4u);
  EXPECT_EQ(fabric.name_of(counts[0].channel), "leaf1->host1");
}

TEST(NicText, AModuleThatWasNotReadOnceCutsNoWindow) {
  const Fabric fabric = make_clos({.leaves = 2, .spines = 2, .hosts_per_leaf = 1}).value();
  auto second = reading_of(hours(1) + seconds(60), 9);
  second.reading.module.reset();
  CounterTable table;
  ASSERT_TRUE(read_counter_file(
      fabric, nic_lines("", "boot1", {reading_of(hours(1), 5)}) + nic_lines("", "boot1", {second}), "file",
      "", hours(2), table));
  EXPECT_EQ(channel_counts(fabric, table).size(), 1u);
}

TEST(NicText, APortOfAHostGoesByItsInterface) {
  auto nic = reading_of(hours(1), 5);
  nic.port = "eth2";
  EXPECT_THAT(nic_lines("host7", "", {nic}), HasSubstr("\"host\":\"host7\"}"));
  EXPECT_THAT(nic_lines("host7", "", {nic}), HasSubstr("\"port\":\"eth2\""));
}

TEST(NicText, PeopleReadCountersLightAndWhatIsMissing) {
  auto nic = reading_of(hours(1), 5);
  nic.reading.module->part = "P";
  const auto text = nic_text({nic}, 80);
  EXPECT_THAT(text, HasSubstr("host1/p1 (eth2), mlx5_core, FEC RS"));
  EXPECT_THAT(text, HasSubstr("fec_uncorrectable                     5  uncorrectable_blocks"));
  EXPECT_THAT(text, HasSubstr("module: OSFP V P, serial S1"));
  EXPECT_THAT(text, HasSubstr("lane 1: received   -3.0 dBm, sent    0.0 dBm, bias 40.0 mA"));
  EXPECT_THAT(text, HasSubstr("lane 2: received   no light, sent          -, bias -"));
  EXPECT_THAT(text, HasSubstr("PCIe: correctable BadTLP: 3"));
  EXPECT_THAT(text, HasSubstr("not read: pause frames: the driver does not tell"));
}

}  // namespace
}  // namespace weft::counters
