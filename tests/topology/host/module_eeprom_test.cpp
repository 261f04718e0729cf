#include "topology/host/module_eeprom.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fakes/fake_module.hpp"
#include "tests/support/hex.hpp"

namespace weft::host {
namespace {

using fakes::FakeModule;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

ModuleState state_of(const FakeModule& module) {
  const auto state = read_module(module.reader());
  EXPECT_TRUE(state) << (state ? "" : state.error().message);
  return state.value_or(ModuleState());
}

// The lower memory of a Finisar QSFP28 in an Arista 7280CR3, laser of lane 1 off, as `sfputil show
// eeprom-hexdump` printed it (github.com/sonic-net/sonic-utilities/pull/2379).
constexpr std::string_view kFinisar =
    "11 08 00 10 00 10 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 13 85 00 00 80 d3 00 00 00 00"
    "00 00 32 c9 34 d9 2b b9 2f 43 00 00 0f 9f 0f 80 0f 80 00 01 36 17 34 d2 30 43 00 00 00 00 00 00"
    "00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00"
    "00 00 ff 00 00 00 00 00 00 00 00 00 00 04 08 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00";

FakeModule finisar() {
  FakeModule module(0x11);
  module.lower = fakes::from_hex(kFinisar);
  module.put_text(0, 148, "FINISAR CORP");
  module.put_text(0, 168, "FCBR420");
  module.put_text(0, 196, "X1");
  module.sum_up(0, 128, 190, 191);
  return module;
}

TEST(ModuleEeprom, AQsfp28TellsWarmthLightAndCurrentOfEachLane) {
  const ModuleState state = state_of(finisar());
  EXPECT_EQ(state.form, "QSFP28");
  EXPECT_EQ(state.vendor, "FINISAR CORP");
  EXPECT_EQ(state.part, "FCBR420");
  EXPECT_EQ(state.serial, "X1");
  EXPECT_NEAR(state.celsius.value(), 19.5, 0.05);
  EXPECT_NEAR(state.volts.value(), 3.298, 0.001);
  ASSERT_THAT(state.lanes, SizeIs(4));
  EXPECT_NEAR(state.lanes[0].rx_mw.value(), 1.3001, 1e-6);
  EXPECT_NEAR(state.lanes[0].tx_mw.value(), 0.0001, 1e-6);
  EXPECT_EQ(state.lanes[0].bias_ma, 0);
  EXPECT_NEAR(state.lanes[1].bias_ma.value(), 7.998, 1e-6);
  EXPECT_NEAR(state.lanes[3].tx_mw.value(), 1.2355, 1e-6);
}

TEST(ModuleEeprom, AWrongCheckSumSaysNothingOfWhoMadeIt) {
  FakeModule module = finisar();
  module.put_text(0, 196, "Y2");
  module.upper[0][168 - 128] = std::byte{'x'};
  const ModuleState state = state_of(module);
  EXPECT_TRUE(state.wrong_checksum);
  EXPECT_THAT(state.serial, IsEmpty());
  EXPECT_THAT(state.lanes, SizeIs(4));
}

TEST(ModuleEeprom, ACopperCableHasNoLightToMeasure) {
  FakeModule module(0x11);
  module.upper[0][147 - 128] = std::byte{0xA0};
  module.sum_up(0, 128, 190, 191);
  const ModuleState state = state_of(module);
  EXPECT_TRUE(state.copper);
  EXPECT_THAT(state.lanes, IsEmpty());
  EXPECT_FALSE(state.celsius);
}

FakeModule osfp() {
  FakeModule module(0x19);
  module.put(module.lower, 14, 0x2F40);
  module.put(module.lower, 16, 33'000);
  module.put_text(0, 129, "NVIDIA");
  module.put_text(0, 148, "MMS4X00-NM");
  module.put_text(0, 166, "MT2300FT00001");
  module.sum_up(0, 128, 221, 222);
  module.put_byte(1, 142, 0x40);
  module.put_byte(1, 159, 0x03);
  module.put_byte(1, 160, 0x0F);  // bias, sent and received power; the bias is doubled
  for (std::size_t lane = 0; lane < 8; ++lane) {
    module.put_upper(0x11, 154 + 2 * lane, 10'000);
    module.put_upper(0x11, 170 + 2 * lane, 20'000);
    module.put_upper(0x11, 186 + 2 * lane, static_cast<std::uint16_t>(lane == 2 ? 0 : 5'000));
  }
  module.put_upper(0x20, 128, 0x0005);  // SNR of the media input, lane 1
  module.put_upper(0x20, 130, 0x030F);  // bit error rate before FEC, lane 4
  module.put_upper(0x20, 132, 0x0302);  // the current of a cooler: passed over
  module.put_upper(0x24, 128, 0x1580);  // 21.5 dB
  module.put_upper(0x24, 130, 15 << 11 | 25);
  module.put_byte(0x2F, 128, 0);
  return module;
}

TEST(ModuleEeprom, AnOsfpTellsEightLanesAndItsDiagnostics) {
  const ModuleState state = state_of(osfp());
  EXPECT_EQ(state.serial, "MT2300FT00001");
  EXPECT_NEAR(state.celsius.value(), 47.25, 1e-9);
  EXPECT_NEAR(state.volts.value(), 3.3, 1e-9);
  ASSERT_THAT(state.lanes, SizeIs(8));
  EXPECT_NEAR(state.lanes[0].bias_ma.value(), 80, 1e-9);
  EXPECT_NEAR(state.lanes[0].rx_mw.value(), 0.5, 1e-9);
  EXPECT_EQ(state.lanes[2].rx_mw, 0);
  ASSERT_THAT(state.diagnostics, SizeIs(2));
  EXPECT_EQ(state.diagnostics[0], (ModuleDiagnostic{"SNR of the media input", 1, 21.5}));
  EXPECT_EQ(state.diagnostics[1].lane, 4);
  EXPECT_NEAR(state.diagnostics[1].value, 2.5e-8, 1e-15);
}

TEST(ModuleEeprom, LanesThatTheModuleDoesNotHaveAreNotDark) {
  FakeModule four = osfp();
  four.lower[88] = std::byte{0x84};  // its first application: eight lanes of the host, four of the fibre
  four.put_byte(1, 176, 0x01);
  EXPECT_THAT(state_of(four).lanes, SizeIs(4));
  FakeModule breakout = osfp();
  breakout.lower[88] = std::byte{0x11};
  breakout.put_byte(1, 176, 0x3F);
  EXPECT_THAT(state_of(breakout).lanes, SizeIs(6));
  FakeModule unsupported = osfp();
  unsupported.put_byte(0, 210, 0xF2);
  const auto lanes = state_of(unsupported).lanes;
  ASSERT_THAT(lanes, SizeIs(4));
  EXPECT_EQ(lanes[1], ModuleLane());
  FakeModule qsfp = osfp();
  qsfp.lower[0] = std::byte{0x1E};
  EXPECT_THAT(state_of(qsfp).lanes, SizeIs(4)) << "its form has no more";
}

TEST(ModuleEeprom, ACableThatIsFastToItsModulesSaysSo) {
  FakeModule cable = osfp();
  EXPECT_FALSE(state_of(cable).aoc);
  cable.lower[85] = std::byte{4};
  EXPECT_TRUE(state_of(cable).aoc);
  FakeModule older = finisar();
  older.put_byte(0, 130, 0x23);
  EXPECT_TRUE(state_of(older).aoc);
}

TEST(ModuleEeprom, PagesThatCannotBeReadLeaveTheirValuesAbsent) {
  FakeModule module = osfp();
  module.upper.erase(0x11);
  module.upper.erase(0x24);
  const ModuleState state = state_of(module);
  EXPECT_TRUE(state.celsius);
  EXPECT_THAT(state.lanes, IsEmpty());
  EXPECT_THAT(state.diagnostics, IsEmpty());
  module.put(module.lower, 2, 0x8000);
  EXPECT_FALSE(state_of(module).celsius) << "a flat memory has no monitors";
  FakeModule first = osfp();
  first.upper.erase(0x01);
  EXPECT_NEAR(state_of(first).celsius.value(), 47.25, 1e-9) << "it is in the lower memory";
  EXPECT_NEAR(state_of(first).volts.value(), 3.3, 1e-9);
  first.put(first.lower, 14, 0);
  EXPECT_FALSE(state_of(first).celsius) << "nothing says that it is measured";
}

void put_sum(std::vector<std::byte>& bytes, std::size_t count) {
  std::uint8_t sum = 0;
  for (std::size_t at = 0; at < count; ++at) sum = static_cast<std::uint8_t>(sum + load_u8(bytes, at));
  bytes[count] = std::byte{sum};
}

/// Values by hand, at the addresses of SFF-8472.
FakeModule sfp28() {
  FakeModule module(0x03);
  const std::string_view text = "FINISAR CORP.   ";
  for (std::size_t i = 0; i < 16; ++i) module.lower[20 + i] = std::byte(text[i]);
  for (std::size_t i = 0; i < 16; ++i) module.lower[40 + i] = std::byte("FTLF8536P4BCL   "[i]);
  for (std::size_t i = 0; i < 16; ++i) module.lower[68 + i] = std::byte("X2             "[i]);
  module.lower[68 + 15] = std::byte{' '};
  module.lower[2] = std::byte{0x07};  // LC
  module.lower[92] = std::byte{0x68};
  put_sum(module.lower, 63);
  auto& measured = module.diagnostics = std::vector<std::byte>(kHalfPage);
  FakeModule::put(measured, 96, 0x2180);  // 33.5 C
  FakeModule::put(measured, 98, 33'000);
  FakeModule::put(measured, 100, 3'500);
  FakeModule::put(measured, 102, 8'000);
  FakeModule::put(measured, 104, 6'500);
  put_sum(measured, 95);
  return module;
}

TEST(ModuleEeprom, AnSfpTellsItsOneLane) {
  const ModuleState state = state_of(sfp28());
  EXPECT_EQ(state.form, "SFP");
  EXPECT_EQ(state.vendor, "FINISAR CORP.");
  EXPECT_EQ(state.part, "FTLF8536P4BCL");
  EXPECT_EQ(state.serial, "X2");
  EXPECT_NEAR(state.celsius.value(), 33.5, 1e-9);
  EXPECT_NEAR(state.volts.value(), 3.3, 1e-9);
  ASSERT_THAT(state.lanes, SizeIs(1));
  EXPECT_NEAR(state.lanes[0].rx_mw.value(), 0.65, 1e-9);
  EXPECT_NEAR(state.lanes[0].tx_mw.value(), 0.8, 1e-9);
  EXPECT_NEAR(state.lanes[0].bias_ma.value(), 7, 1e-9);
}

TEST(ModuleEeprom, AnSfpThatLeavesCalibrationToTheReaderIsCalibrated) {
  FakeModule module = sfp28();
  module.lower[92] = std::byte{0x58};
  auto& measured = module.diagnostics;
  for (const std::size_t slope : {76, 80, 84, 88}) FakeModule::put(measured, slope, 0x0100);
  FakeModule::put(measured, 76, 0x0180);  // the bias: times 1.5,
  FakeModule::put(measured, 78, 0xFFF6);  // less ten units of 2 uA
  store_be32(measured, 68, 0x3F000000);   // received power: .5 of the reading
  store_be32(measured, 72, 0x42C80000);   // and 100 units of .1 uW
  put_sum(measured, 95);
  const ModuleState state = state_of(module);
  EXPECT_NEAR(state.lanes.at(0).bias_ma.value(), (3'500 * 1.5 - 10) * 2e-3, 1e-9);
  EXPECT_NEAR(state.lanes.at(0).rx_mw.value(), 0.335, 1e-9);
  EXPECT_NEAR(state.lanes.at(0).tx_mw.value(), 0.8, 1e-9);
  EXPECT_NEAR(state.celsius.value(), 33.5, 1e-9);
  store_be32(measured, 56, 0x7FC00000);  // no number
  put_sum(measured, 95);
  EXPECT_FALSE(state_of(module).lanes.at(0).rx_mw);
}

TEST(ModuleEeprom, AnSfpOfCopperOrWithoutDiagnosticsHasNoLight) {
  FakeModule copper = sfp28();
  copper.lower[8] = std::byte{0x04};
  put_sum(copper.lower, 63);
  EXPECT_TRUE(state_of(copper).copper);
  EXPECT_THAT(state_of(copper).lanes, IsEmpty());
  for (const auto& [at, value] : {std::pair(2, 0x22), std::pair(6, 0x08)}) {  // RJ45; 1000BASE-T
    FakeModule twisted = sfp28();
    twisted.lower[static_cast<std::size_t>(at)] = static_cast<std::byte>(value);
    put_sum(twisted.lower, 63);
    EXPECT_TRUE(state_of(twisted).copper) << at;
    EXPECT_THAT(state_of(twisted).lanes, IsEmpty());
  }
  FakeModule plain = sfp28();
  plain.diagnostics.clear();
  EXPECT_THAT(state_of(plain).lanes, IsEmpty());
  FakeModule wrong = sfp28();
  wrong.diagnostics[90] = std::byte{0xFF};
  EXPECT_THAT(state_of(wrong).lanes, IsEmpty()) << "its check sum is wrong";
}

TEST(ModuleEeprom, HalfAnEepromAndOtherModulesAreErrors) {
  FakeModule half = finisar();
  half.lower.resize(100);
  const FakeModule xfp(0x06);
  EXPECT_EQ(read_module(half.reader()).error().kind, ErrorKind::invalid_input);
  EXPECT_EQ(read_module(xfp.reader()).error().kind, ErrorKind::not_supported);
  const auto refused = read_module([](const auto&) -> Result<std::vector<std::byte>> {
    return fail(ErrorKind::permission, "needs CAP_NET_ADMIN");
  });
  EXPECT_THAT(refused.error().message, HasSubstr("CAP_NET_ADMIN"));
}

}  // namespace
}  // namespace weft::host
