// Temperatures of a device, from a tree as the kernel shows it.
#include "topology/host/hwmon.hpp"

#include <gtest/gtest.h>

#include "topology/files/file_text.hpp"
#include "topology/os/scratch_directory.hpp"

namespace weft::host {
namespace {

class Device {
 public:
  void put(const std::string& name, std::string_view text) const {
    const auto file = path() / name;
    std::filesystem::create_directories(file.parent_path());
    ASSERT_TRUE(files::write_text_file(file, text));
  }
  std::filesystem::path path() const { return directory_.path() / "device"; }

 private:
  os::ScratchDirectory directory_ = os::ScratchDirectory::make().value();
};

TEST(Hwmon, TheWarmestOfTheNicAndOfItsModuleStandApart) {
  const Device device;
  device.put("hwmon/hwmon3/temp1_input", "61000\n");
  device.put("hwmon/hwmon3/temp1_label", "asic\n");
  device.put("hwmon/hwmon3/temp1_crit", "105000\n");
  device.put("hwmon/hwmon3/temp2_input", "47250\n");
  device.put("hwmon/hwmon3/temp2_label", "Module0\n");
  device.put("hwmon/hwmon4/temp1_input", "63500\n");
  const auto found = hwmon_temperatures(device.path());
  EXPECT_EQ(found.device, 63.5);
  EXPECT_EQ(found.module, 47.25);
}

TEST(Hwmon, BelowZeroIsATemperatureToo) {
  const Device device;
  device.put("hwmon/hwmon0/temp1_input", "-5000\n");
  EXPECT_EQ(hwmon_temperatures(device.path()).device, -5.0);
}

TEST(Hwmon, WhatIsNoTemperatureAndASensorWithAFaultAreLeftOut) {
  const Device device;
  EXPECT_EQ(hwmon_temperatures(device.path()), Temperatures()) << "a device without a monitor";
  device.put("hwmon/hwmon0/temp1_input", "255000\n");
  device.put("hwmon/hwmon0/temp2_input", "-127000\n");
  device.put("hwmon/hwmon0/temp3_input", "hot\n");
  device.put("hwmon/hwmon0/temp4_input", "");
  device.put("hwmon/hwmon0/temp5_input", "50000\n");
  device.put("hwmon/hwmon0/temp5_fault", "1\n");
  device.put("hwmon/hwmon0/temp6_input", "99999999999999999999\n");
  device.put("hwmon/hwmon0/in0_input", "12000\n");
  device.put("hwmon/fan0/temp1_input", "40000\n");
  EXPECT_EQ(hwmon_temperatures(device.path()), Temperatures());
}

}  // namespace
}  // namespace weft::host
