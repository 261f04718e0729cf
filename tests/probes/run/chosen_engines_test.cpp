// What an agent offers to send by, and which engine opens a NIC then.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "probes/run/engines.hpp"
#include "topology/os/scratch_directory.hpp"

namespace weft::run {
namespace {

using testing::HasSubstr;

const IpAddress kAddress(IpAddress::V4{192, 0, 2, 1});

/// A sysfs tree in which a GID of mlx5_0 belongs to eth0.
class Tree {
 public:
  Tree() : directory_(os::ScratchDirectory::make().value()) {
    const auto devices = directory_.path() / "class/infiniband/mlx5_0/ports/1/gid_attrs/ndevs";
    std::filesystem::create_directories(devices);
    std::ofstream(devices / "0") << "eth9\n";
    std::ofstream(devices / "3") << "eth0\n";
  }
  std::vector<session::NicOffer> offers_of(const std::string& interface) const {
    return run::offers_of({{interface, kAddress}}, directory_.path());
  }

 private:
  os::ScratchDirectory directory_;
};

session::OpenEngines opening(const char* name) {
  return [name](const session::NicAssignment&, const packet::RunSecrets&,
                const datapath::SharedNics&) -> Result<session::NicEngines> {
    return session::NicEngines{nullptr, nullptr, nullptr, nullptr, name};
  };
}

std::string opened(const std::vector<session::NicOffer>& offers, const std::string& engine) {
  const auto open = chosen_engines(offers, opening("raw"), opening("verbs"));
  const auto engines = open({"eth0", PortId(1), engine}, {}, {});
  return engines ? engines->uses : engines.error().message;
}

TEST(Offers, AreTheDevicesWhoseGidsAreOfTheInterface) {
  const Tree tree;
  EXPECT_EQ(tree.offers_of("eth0").at(0).rdma_device, "mlx5_0");
  EXPECT_EQ(tree.offers_of("eth1").at(0).rdma_device, "");
  EXPECT_EQ(tree.offers_of("eth1").at(0).why, "no RDMA device has an address of eth1");
  EXPECT_NE(tree.offers_of(to_string(kAddress)).at(0).why, "") << "no interface has that address";
}

TEST(ChosenEngines, AreWhatTheRunSaysElseWhatTheNicHas) {
  const Tree tree;
  const auto with = tree.offers_of("eth0");
  const std::vector<session::NicOffer> without{{"eth0", "", "no RDMA device has an address of eth0"}};
  EXPECT_EQ(opened(with, "verbs"), "verbs");
  EXPECT_EQ(opened(with, "raw"), "raw");
  EXPECT_EQ(opened(without, "raw"), "raw: no RDMA device has an address of eth0");
  EXPECT_EQ(opened(with, ""), "verbs");
  EXPECT_THAT(opened(without, ""), HasSubstr("raw: no RDMA device"));
  EXPECT_THAT(opened(with, "dpdk"), HasSubstr("knows no engine 'dpdk'"));
}

TEST(ChosenEngines, GoOnByRawPacketsWhereDpdkDoesNotOpenAndSayWhy) {
  const auto refusing = [](const session::NicAssignment&, const packet::RunSecrets&,
                           const datapath::SharedNics&) -> Result<session::NicEngines> {
    return fail(ErrorKind::not_supported, "DPDK does not start: no memory");
  };
  const auto uses = [](const session::OpenEngines& open) {
    return open({"eth0", PortId(1), ""}, {}, {})->uses;
  };
  EXPECT_EQ(uses(dpdk_else_raw_engines(opening("DPDK"), opening("raw"))), "DPDK");
  EXPECT_EQ(uses(dpdk_else_raw_engines(refusing, opening("raw"))),
            "raw packets, not DPDK: DPDK does not start: no memory");
}

}  // namespace
}  // namespace weft::run
