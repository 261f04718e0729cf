// The temperature of a fabric at a time, from what its agents told.
#include "collectors/counters/fabric_temperature.hpp"

#include <gmock/gmock.h>

namespace weft::counters {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr Nanoseconds kBegin = hours(480'000);

FabricTemperatures temperatures_of(const CounterTable& table) {
  return fabric_temperatures(std::span(&table, 1)).front();
}

void tell(CounterTable& table, std::uint32_t port, Nanoseconds after, double celsius) {
  table.temperatures[{PortId(port), table.source("s")}].push_back(
      {kBegin + after, {.device = celsius, .module = 90}});
}

TEST(FabricTemperature, IsTheMedianOfItsNicsWhichNoFewSensorsMove) {
  CounterTable table;
  for (std::uint32_t port = 0; port < 9; ++port) {
    tell(table, port, hours(1), 30);  // not the newest of these two hours
    tell(table, port, minutes(100 + port), port < 2 ? 200 : 50.0 + port);
  }
  const auto found = temperatures_of(table);
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found.begin()->first, kBegin + minutes(104));
  EXPECT_EQ(found.begin()->second, 56);
}

TEST(FabricTemperature, IsOfTheSensorThatMostPortsReportAndOfNicsWhereAsManyDo) {
  CounterTable table;
  for (std::uint32_t port = 0; port < 3; ++port)
    table.temperatures[{PortId(port), table.source("s")}].push_back(
        {kBegin + hours(1), {.gpu = 70.0 + port}});
  ASSERT_THAT(temperatures_of(table), SizeIs(1));
  EXPECT_EQ(temperatures_of(table).begin()->second, 71);
  tell(table, 4, hours(1), 50);
  tell(table, 5, hours(1), 50);
  ASSERT_THAT(temperatures_of(table), SizeIs(1));
  EXPECT_EQ(temperatures_of(table).begin()->second, 71) << "two NICs are not the fabric";
  tell(table, 6, hours(1), 50);
  EXPECT_EQ(temperatures_of(table).begin()->second, 50) << "the two are no one series";
}

TEST(FabricTemperature, OfTwoFabricsIsThatOfOneKindOfSensor) {
  std::vector<CounterTable> tables(2);
  for (std::uint32_t port = 0; port < 2; ++port) tell(tables[0], port, hours(1), 50);
  for (std::uint32_t port = 0; port < 3; ++port)
    tables[1].temperatures[{PortId(port), tables[1].source("s")}].push_back({kBegin + hours(1), {.gpu = 70}});
  auto found = fabric_temperatures(tables);
  ASSERT_THAT(found, SizeIs(2));
  EXPECT_THAT(found[0], IsEmpty()) << "its NICs are no series with the other's GPUs";
  EXPECT_EQ(found[1].begin()->second, 70);
  for (std::uint32_t port = 2; port < 4; ++port) tell(tables[0], port, hours(1), 50);
  for (std::uint32_t port = 0; port < 3; ++port) tell(tables[1], port, hours(1), 40);
  found = fabric_temperatures(tables);
  EXPECT_EQ(found[0].begin()->second, 50);
  EXPECT_EQ(found[1].begin()->second, 40);
}

TEST(FabricTemperature, TwoHoursOfWhichFewToldAreLeftOut) {
  CounterTable table;
  for (std::uint32_t port = 0; port < 9; ++port) {
    tell(table, port, hours(1), 50);
    if (port < 4) tell(table, port, hours(3), 30);
    if (port < 5) tell(table, port, hours(5), 40);
  }
  EXPECT_THAT(temperatures_of(table), SizeIs(2));
  EXPECT_THAT(temperatures_of(CounterTable()), IsEmpty());
}

TEST(FabricTemperature, BetweenTwoItIsOnTheLineAndFarFromAnyItIsUnknown) {
  const std::map<Nanoseconds, double> told{{kBegin, 40}, {kBegin + hours(2), 50}, {kBegin + hours(8), 60}};
  EXPECT_EQ(temperature_at(told, kBegin), 40);
  EXPECT_EQ(temperature_at(told, kBegin + minutes(30)), 42.5);
  EXPECT_EQ(temperature_at(told, kBegin + hours(2)), 50);
  EXPECT_FALSE(temperature_at(told, kBegin + hours(5))) << "the watch was away";
  EXPECT_EQ(temperature_at(told, kBegin - minutes(59)), 40);
  EXPECT_FALSE(temperature_at(told, kBegin - minutes(61)));
  EXPECT_EQ(temperature_at(told, kBegin + hours(9)), 60);
  EXPECT_FALSE(temperature_at(told, kBegin + hours(10)));
  EXPECT_FALSE(temperature_at({}, kBegin));
}

}  // namespace
}  // namespace weft::counters
