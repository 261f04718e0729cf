#include "topology/files/host_inventory_json.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/support/captured_host.hpp"
#include "tests/support/schema.hpp"
#include "topology/host/host_reader.hpp"

namespace weft::files {
namespace {

using Json = nlohmann::json;

const HostInventory& dgx() {
  static const HostInventory inventory = [] {
    const CapturedHost host;
    auto read = *host::read_host({.root = host.root(), .serves = CapturedHost::fabric_interfaces()});
    read.gaps.push_back("nothing else");
    return read;
  }();
  return inventory;
}

TEST(HostInventoryJson, ReadsBackWhatItWrote) {
  const auto inventory = dgx();
  const auto again = host_inventory_from(host_inventory_value(inventory));
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(*again, inventory);
  EXPECT_EQ(host_inventory_from(host_inventory_value({})), HostInventory{});
}

TEST(HostInventoryJson, AHostOfTenNicsFitsInAMessageManyTimes) {
  EXPECT_LT(host_inventory_value(dgx()).dump().size(), 20'000u);
}

TEST(HostInventoryJson, TheDocumentMeetsItsSchema) {
  expect_matches_schema(host_inventory_json("gpu001", dgx(), {{}, "0.1.0"}), "host");
  expect_matches_schema(host_inventory_json("gpu001", {}, {{}, "0.1.0"}), "host");
}

/// What is refused when `place` holds `value`.
std::string refusal(const char* place, Json value) {
  Json document = host_inventory_value(dgx());
  document[Json::json_pointer(place)] = std::move(value);
  const auto read = host_inventory_from(document);
  return read ? "" : read.error().message;
}

TEST(HostInventoryJson, WhatNoHostTellsIsRefusedWithItsPlace) {
  EXPECT_NE(refusal("/nics/2/mtu", -5).find("nics[2]"), std::string::npos) << refusal("/nics/2/mtu", -5);
  EXPECT_NE(refusal("/nics/0/rate", 1e300), "");
  EXPECT_NE(refusal("/nics/0/pcie/lanes", 4096), "");
  EXPECT_NE(refusal("/nics/0/serves", "yes"), "");
  EXPECT_NE(refusal("/nics/0/interface", std::string(5000, 'x')), "");
  EXPECT_NE(refusal("/nics/0/interface", "eth0\nspoofed line"), "");
  EXPECT_NE(refusal("/nics/0/settings/trust", 7), "");
  EXPECT_NE(refusal("/nics/0/settings", Json::array()), "");
  EXPECT_NE(refusal("/gpus", 3), "");
  EXPECT_NE(refusal("/gpus", Json(std::vector<Json>(1000, Json::object()))), "");
  EXPECT_FALSE(host_inventory_from(Json::array()));
  EXPECT_FALSE(host_inventory_from(Json(nullptr)));
}

}  // namespace
}  // namespace weft::files
