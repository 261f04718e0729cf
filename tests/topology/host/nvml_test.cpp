// Temperatures of GPUs, from functions that stand for NVML's.
#include "topology/host/nvml.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fakes/fake_nvml.hpp"

namespace weft::host {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string why_not(const FakeNvml& fake) {
  const auto read = gpu_temperatures(fake.functions());
  return read ? "it was read" : read.error().message;
}

TEST(Nvml, TellsTheTemperatureOfEachGpu) {
  FakeNvml fake({{.celsius = 41}, {.celsius = 63}});
  const auto read = gpu_temperatures(fake.functions());
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_THAT(*read, ElementsAre(41, 63));
  EXPECT_FALSE(fake.is_held()) << "held open it keeps a GPU from being reset";
}

TEST(Nvml, AGpuThatIsLostOrTellsNonsenseIsLeftOut) {
  FakeNvml fake({{.celsius = 41, .is_lost = true},
                 {.celsius = 70},
                 {.celsius = 4'000'000'000U},
                 {.celsius = 30, .has_no_sensor = true}});
  const auto read = gpu_temperatures(fake.functions());
  ASSERT_TRUE(read);
  EXPECT_THAT(*read, ElementsAre(70));
}

TEST(Nvml, WhereNothingIsToldThatIsAnError) {
  EXPECT_THAT(why_not(FakeNvml(std::vector<FakeNvml::Gpu>{})), HasSubstr("there is no GPU"));
  EXPECT_THAT(why_not(FakeNvml(std::vector<FakeNvml::Gpu>{{.is_lost = true}, {.has_no_sensor = true}})),
              HasSubstr("none of 2 GPUs"));
  FakeNvml many(std::vector<FakeNvml::Gpu>{});
  many.claim(4'000'000'000U);
  EXPECT_THAT(why_not(many), HasSubstr("no host has so many"));
}

TEST(Nvml, ADriverThatRefusesIsAskedAnewTheNextTime) {
  FakeNvml fake(std::vector<FakeNvml::Gpu>{{.celsius = 50}});
  fake.refuse("Driver/library version mismatch\x1b[31m");
  auto read = gpu_temperatures(fake.functions());
  ASSERT_FALSE(read);
  EXPECT_THAT(read.error().message, HasSubstr("nvmlInit failed: Driver/library version mismatch\\x1b"));
  fake.refuse({});
  EXPECT_TRUE(gpu_temperatures(fake.functions()));
  fake.unload();
  EXPECT_FALSE(gpu_temperatures(fake.functions()));
  EXPECT_FALSE(fake.is_held());
  fake.unload(false);
  EXPECT_TRUE(gpu_temperatures(fake.functions())) << "the driver was loaded anew";
}

TEST(Nvml, WordsAreNotNeeded) {
  FakeNvml fake(std::vector<FakeNvml::Gpu>{});
  fake.refuse("");
  auto functions = fake.functions();
  functions.words = nullptr;
  const auto read = gpu_temperatures(functions);
  ASSERT_FALSE(read);
  EXPECT_THAT(read.error().message, HasSubstr("error 9"));
}

TEST(Nvml, ALibraryThatIsNotThereOrIsAnotherIsNamed) {
  const auto absent = open_nvml("libweft-there-is-none.so.1");
  ASSERT_FALSE(absent);
  EXPECT_EQ(absent.error().kind, ErrorKind::absent);
  EXPECT_THAT(absent.error().message, HasSubstr("libweft-there-is-none.so.1"));
  const auto another = open_nvml("libc.so.6");
  ASSERT_FALSE(another);
  EXPECT_EQ(another.error().kind, ErrorKind::not_supported);
}

}  // namespace
}  // namespace weft::host
