#include "probes/discover/identity.hpp"

#include <gtest/gtest.h>

#include "topology/model/fabric_builder.hpp"

namespace weft::discover {
namespace {

/// A host on a leaf below a spine. Of a GUID 0: it is not told.
struct Devices {
  std::string leaf = "leaf1";
  std::uint64_t leaf_guid = 0x11;
  std::string spine = "spine1";
  std::uint64_t spine_guid = 0x21;
  std::string host = "host1";
  std::uint64_t host_guid = 0x31;
  std::uint64_t nic_guid = 0x41;
};

std::optional<Guid> guid(std::uint64_t number) {
  return number == 0 ? std::nullopt : std::optional(Guid(number));
}

Fabric fabric_of(const Devices& devices) {
  FabricBuilder builder("f", FabricKind::infiniband);
  const auto add = [&](const std::string& name, std::uint64_t number, Tier tier) {
    const auto kind = tier == Tier::host ? NodeKind::host : NodeKind::switch_;
    return builder.add_node({.name = name, .kind = kind, .tier = tier, .guid = guid(number)}).value();
  };
  const NodeId host = add(devices.host, devices.host_guid, Tier::host);
  const NodeId leaf = add(devices.leaf, devices.leaf_guid, Tier::leaf);
  const NodeId spine = add(devices.spine, devices.spine_guid, Tier::spine);
  const auto join = [&](PortId a, PortId b) { EXPECT_TRUE(builder.add_link(a, b, Bandwidth::gbit(100))); };
  join(builder.add_port(host, PortNumber(1), guid(devices.nic_guid)).value(),
       builder.add_port(leaf, PortNumber(4)).value());
  join(builder.add_port(leaf, PortNumber(1)).value(), builder.add_port(spine, PortNumber(1)).value());
  return std::move(builder).build();
}

class Identified {
 public:
  explicit Identified(const Devices& found) : found_(fabric_of(found)), all_(identify(expected_, found_)) {}

  bool is_there(std::string_view node) const { return all_.is_there[id(node).value()]; }
  /// What the switch of this name is called now; empty: it was not found.
  std::string now_called(std::string_view name) const {
    const auto& there = all_.found_switch[id(name).value()];
    return there ? found_.name_of(*there) : "";
  }
  const Identities& operator*() const { return all_; }
  PortId expected_nic() const { return expected_.nics()[0]; }
  PortId found_nic() const { return found_.nics()[0]; }
  NodeId id(std::string_view name) const { return expected_.find_node(name).value(); }

 private:
  Fabric expected_ = fabric_of({});
  Fabric found_;
  Identities all_;
};

TEST(Identity, ASwitchIsWhatItsGuidSaysThoughTwoSwitchesHaveEachOthersNames) {
  const Identified found({.leaf = "spine1", .spine = "leaf1"});
  EXPECT_EQ(found.now_called("leaf1"), "spine1");
  EXPECT_EQ(found.now_called("spine1"), "leaf1");
}

TEST(Identity, ASwitchThatWasReplacedIsKnownByItsName) {
  const Identified found({.leaf_guid = 0x99});
  EXPECT_EQ(found.now_called("leaf1"), "leaf1");
}

TEST(Identity, WithoutGuidsNamesSufficeAndNoNicIsTakenForKnown) {
  const Identified found({.leaf_guid = 0, .spine_guid = 0, .host_guid = 0, .nic_guid = 0});
  EXPECT_EQ(found.now_called("leaf1"), "leaf1");
  EXPECT_TRUE(found.is_there("host1"));
  EXPECT_FALSE((*found).found_nic[found.expected_nic().value()]);
  EXPECT_EQ((*found).node_of_port[found.found_nic().value()], found.id("host1"));
}

TEST(Identity, ANicInAnotherHostIsStillThatNic) {
  const Identified found({.host = "host7", .host_guid = 0x99});
  EXPECT_EQ((*found).found_nic[found.expected_nic().value()], found.found_nic());
  EXPECT_EQ((*found).nic_of_port[found.found_nic().value()], found.expected_nic());
  EXPECT_TRUE(found.is_there("host1"));
}

TEST(Identity, AHostWithTheGuidOfASwitchIsNotThatSwitch) {
  const Identified found({.leaf = "leaf7", .leaf_guid = 0x98, .host = "host7", .host_guid = 0x11});
  EXPECT_EQ(found.now_called("leaf1"), "");
  EXPECT_FALSE(found.is_there("leaf1"));
}

TEST(Identity, ASwitchThatNobodyNamedIsKnownByWhereItsCablesEnd) {
  const Identified unnamed({.leaf = "Mellanox-Technologies", .leaf_guid = 0x99});
  EXPECT_EQ(unnamed.now_called("leaf1"), "Mellanox-Technologies");
  const Identified named({.leaf = "leaf7", .leaf_guid = 0x99});
  EXPECT_FALSE(named.is_there("leaf1")) << "somebody named it: it is another one";
}

TEST(Identity, AHostThatNobodyNamedIsKnownByItsPortOfTheSwitch) {
  const Identified unnamed({.host = "localhost", .host_guid = 0x99, .nic_guid = 0x98});
  EXPECT_TRUE(unnamed.is_there("host1"));
  EXPECT_EQ((*unnamed).node_of_port[unnamed.found_nic().value()], unnamed.id("host1"));
  const Identified named({.host = "host7", .host_guid = 0x99, .nic_guid = 0x98});
  EXPECT_FALSE(named.is_there("host1"));
  EXPECT_FALSE((*named).node_of_port[named.found_nic().value()]);
}

}  // namespace
}  // namespace weft::discover
