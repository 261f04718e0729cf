#include "probes/discover/subnet_firmware.hpp"

#include <gmock/gmock.h>

#include "probes/discover/subnet_discovery.hpp"
#include "tests/fakes/fake_subnet.hpp"
#include "topology/model/fabric.hpp"

namespace weft::discover {
namespace {

using fakes::FakeSubnet;
using fakes::make_subnet;
using std::chrono::milliseconds;

InfinibandFabric discovered(FakeSubnet& subnet) {
  return build_infiniband_fabric(discover_subnet(subnet)->subnet, "found").value();
}

TEST(SubnetFirmware, EveryDeviceOfTheVendorTellsItsVersion) {
  FakeSubnet subnet(make_subnet(2, 1, 2, 2));
  for (const auto& node : subnet.subnet().nodes) subnet.firmware[node.guid] = {20, 31, 2006};
  subnet.firmware[Guid(0x1003)] = {20, 29, 300};
  const auto fabric = discovered(subnet);
  const auto read = read_firmware(subnet, fabric);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->unread, 0u);
  ASSERT_EQ(read->devices.size(), 7u);
  EXPECT_EQ(fabric.fabric.name_of(read->devices[2].node), "host3");
  EXPECT_EQ(to_string(read->devices[2].version), "20.29.300");
  EXPECT_EQ(read->devices[2].device, 0x1003);
}

TEST(SubnetFirmware, OthersAreNotAskedAndSilentOnesCostOneTimeoutInAll) {
  auto truth = make_subnet(2, 1, 2);
  truth.nodes[0].about.vendor = 0x8f1;
  FakeSubnet subnet(truth);
  for (const auto& node : truth.nodes) subnet.firmware[node.guid] = {20, 31, 2006};
  subnet.firmware.erase(Guid(0x1002));  // refuses
  for (const std::uint64_t guid : {0x1003, 0x2001})
    subnet.ignored.insert({Guid(guid), mad::MadAttribute::general_info});
  const auto fabric = discovered(subnet);
  const auto before = subnet.now();
  const auto read = read_firmware(subnet, fabric, {.timeout = milliseconds(300), .attempts = 1});
  ASSERT_TRUE(read);
  EXPECT_LE(subnet.now() - before, milliseconds(301));
  EXPECT_EQ(subnet.asked[0x17], 6u);
  EXPECT_EQ(read->devices.size(), 3u);
  EXPECT_EQ(read->unread, 3u);
}

TEST(SubnetFirmware, AVersionOfBytesIsReadWhereTheWordsAreEmpty) {
  std::array<std::byte, 232> data{};
  store_u8(data, 41, 2);
  store_u8(data, 42, 42);
  store_u8(data, 43, 5);
  EXPECT_EQ(mad::decode_general_info(data)->firmware, (FirmwareVersion{2, 42, 5}));
  EXPECT_FALSE(mad::decode_general_info(std::array<std::byte, 232>{}));
  EXPECT_FALSE(mad::decode_general_info(std::span(data).first(80)));
}

}  // namespace
}  // namespace weft::discover
