// The warmest GPU of a host, and what is printed where there is none.
#include "probes/run/gpu_temperature.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "collectors/counters/host_counters.hpp"
#include "probes/run/standing_counters.hpp"
#include "tests/fakes/fake_nvml.hpp"

namespace weft::run {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

struct Printed {
  std::vector<std::string> lines;
  std::function<void(const std::string&)> print() {
    return [this](const std::string& line) { lines.push_back(line); };
  }
};

TEST(GpuTemperature, IsThatOfTheWarmest) {
  FakeNvml fake({{.celsius = 41}, {.celsius = 63}, {.celsius = 44}});
  Printed printed;
  const auto warmest =
      warmest_gpu([&] { return Result<host::NvmlFunctions>(fake.functions()); }, printed.print());
  EXPECT_EQ(warmest(), 63);
  fake.set(2, 80);
  EXPECT_EQ(warmest(), 80);
  EXPECT_THAT(printed.lines, IsEmpty());
}

TEST(GpuTemperature, AnAbsentLibraryIsSaidOnceAndNotTriedAgain) {
  Printed printed;
  int opened = 0;
  const auto warmest = warmest_gpu(
      [&]() -> Result<host::NvmlFunctions> {
        ++opened;
        return fail(ErrorKind::absent, "libnvidia-ml.so.1: cannot open shared object file");
      },
      printed.print());
  EXPECT_EQ(opened, 0) << "not before it is asked";
  for (int i = 0; i < 3; ++i) EXPECT_EQ(warmest(), std::nullopt);
  EXPECT_EQ(opened, 1);
  EXPECT_THAT(printed.lines, ElementsAre(HasSubstr("no temperature of GPUs: libnvidia-ml.so.1")));
}

TEST(GpuTemperature, ADriverThatComesBackIsAskedAgain) {
  FakeNvml fake(std::vector<FakeNvml::Gpu>{{.celsius = 55}});
  fake.refuse("Driver Not Loaded");
  Printed printed;
  const auto warmest =
      warmest_gpu([&] { return Result<host::NvmlFunctions>(fake.functions()); }, printed.print());
  EXPECT_EQ(warmest(), std::nullopt);
  EXPECT_EQ(warmest(), std::nullopt);
  fake.refuse({});
  EXPECT_EQ(warmest(), 55);
  EXPECT_THAT(printed.lines, ElementsAre(HasSubstr("Driver Not Loaded")));
}

TEST(GpuTemperature, StandsBesideTheCountersOfEachNicWhereModulesDo) {
  int asked = 0;
  const auto read =
      counters_of_nics({{.interface = "lo", .address = *IpAddress::parse("127.0.0.1")}}, "/sys", [&] {
        ++asked;
        return std::optional(71.0);
      });
  const auto with = read(true, {});
  ASSERT_EQ(with.size(), 1U);
  EXPECT_EQ(with[0].reading.temperatures.gpu, 71);
  EXPECT_THAT(counters::host_text("boot", with), HasSubstr("\"gpu_celsius\":71"));
  EXPECT_EQ(read(false, {})[0].reading.temperatures.gpu, std::nullopt);
  EXPECT_EQ(asked, 1) << "as seldom as modules";
}

}  // namespace
}  // namespace weft::run
