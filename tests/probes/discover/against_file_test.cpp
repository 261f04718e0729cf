// What was found, held against a file that says otherwise.
#include "probes/discover/against_file.hpp"

#include <gmock/gmock.h>

#include "probes/discover/found_fabric.hpp"
#include "tests/support/simulated_traces.hpp"
#include "topology/model/clos.hpp"

namespace weft::discover {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

using Ends = std::pair<std::string, std::string>;  // of a cable, as "leaf1/p3"
using Cables = std::vector<Ends>;

Cables cables_of(const Fabric& fabric) {
  Cables cables;
  for (const Link& link : fabric.links()) cables.emplace_back(fabric.name_of(link.a), fabric.name_of(link.b));
  return cables;
}

/// Hosts are those called so; ports as written, by number or by name.
Fabric built(const Cables& cables) {
  FabricBuilder builder("f", FabricKind::roce);
  std::map<std::string, NodeId> nodes;
  const auto port = [&](const std::string& text) {
    const auto name = split_port(text).value();
    const std::string node(name.node);
    if (!nodes.contains(node)) {
      const bool is_host = node.starts_with("host");
      const Tier tier = is_host ? Tier::host : node.starts_with("leaf") ? Tier::leaf : Tier::spine;
      nodes[node] = builder.add_node({node, is_host ? NodeKind::host : NodeKind::switch_, tier}).value();
    }
    if (name.port) return builder.add_port(nodes[node], *name.port).value();
    const PortId made = builder.add_next_port(nodes[node]);
    WEFT_CHECK(builder.name_port(made, std::string(name.name)).has_value());
    return made;
  };
  for (const auto& [a, b] : cables) {
    const PortId one = port(a), other = port(b);
    WEFT_CHECK(builder.add_link(one, other, Bandwidth::gbit(400)).has_value());
  }
  return std::move(builder).build();
}

Cables without(Cables cables, const std::string& node) {
  std::erase_if(cables, [&](const Ends& ends) {
    return ends.first.starts_with(node + "/") || ends.second.starts_with(node + "/");
  });
  return cables;
}

Cables without_cable(Cables cables, const std::string& a, const std::string& b) {
  std::erase_if(cables, [&](const Ends& ends) {
    return ends.first.starts_with(a + "/") && ends.second.starts_with(b + "/");
  });
  return cables;
}

void swap_near_ends(Cables& cables, const std::string& one, const std::string& other) {
  const auto at = [&](const std::string& end) -> std::string& {
    return std::ranges::find(cables, end, &Ends::first)->first;
  };
  std::swap(at(one), at(other));
}

const Cables& clos() {
  static const Cables cables = cables_of(make_clos({.leaves = 3, .spines = 3, .hosts_per_leaf = 2}).value());
  return cables;
}

files::FabricFile file_of(const Fabric& fabric, bool with_addresses) {
  return {fabric, {}, with_addresses ? plan_addresses(fabric, IpFamily::v4)->book : AddressBook{}, {}};
}

std::vector<std::string> by_traces(const Fabric& real, const files::FabricFile& file) {
  const auto book = plan_addresses(real, IpFamily::v4)->book;
  const SimulatedDiscovery run(real, book);
  const auto found = found_fabric({.hosts = run.hosts, .traced = run.script.found()}).value();
  return differences_from_file(found.fabric, found.addresses, file);
}
std::vector<std::string> by_traces(const Cables& real, const Cables& file, bool with_addresses = false) {
  return by_traces(built(real), file_of(built(file), with_addresses));
}
std::vector<std::string> by_records(const Cables& real, const Cables& file) {
  return differences_from_file(built(real), {}, file_of(built(file), false));
}

TEST(AgainstFile, ASpineThatIsGoneIsNamedOnce) {
  const auto less = without(clos(), "spine2");
  EXPECT_THAT(by_records(less, clos()), ElementsAre("spine2: in the file, and not found"));
  EXPECT_THAT(by_traces(less, clos()),
              ElementsAre("one of spine1, spine2, spine3: in the file, and not found"));
  const Fabric whole = built(clos());
  const auto file = file_of(whole, true);
  std::vector<std::optional<IpAddress>> kept;
  const Fabric real = built(less);
  for (std::uint32_t p = 0; p < real.port_count(); ++p)
    kept.push_back(file.addresses.address_of(*whole.find_port(real.name_of(PortId(p)))));
  const SimulatedDiscovery run(real, AddressBook(kept));
  const auto found = found_fabric({.hosts = run.hosts, .traced = run.script.found()}).value();
  EXPECT_THAT(differences_from_file(found.fabric, found.addresses, file),
              ElementsAre("spine2: in the file, and not found"));
}

TEST(AgainstFile, ANodeThatTheFileHasNotIsNamed) {
  EXPECT_THAT(by_records(clos(), without(clos(), "spine2")),
              ElementsAre("spine2: found, and not in the file"));
  EXPECT_THAT(by_traces(clos(), without(clos(), "spine2")),
              ElementsAre("a switch beside leaf1, leaf2, leaf3: found, and not in the file"));
  EXPECT_THAT(by_traces(clos(), without(clos(), "host6")), ElementsAre("host6: found, and not in the file"));
  EXPECT_THAT(by_traces(clos(), without(without(without(clos(), "leaf3"), "host5"), "host6")),
              UnorderedElementsAre("host5: found, and not in the file", "host6: found, and not in the file",
                                   "a switch beside host5, host6: found, and not in the file"));
}

TEST(AgainstFile, AHostThatIsNotThereIsNamed) {
  EXPECT_THAT(by_traces(without(clos(), "host6"), clos()), ElementsAre("host6: in the file, and not found"));
}

TEST(AgainstFile, AHostThatIsCabledElsewhereTooHasACableThatTheFileHasNot) {
  auto more = clos();
  more.emplace_back("host1/p2", "leaf2/p9");
  EXPECT_THAT(by_traces(more, clos()), ElementsAre("host1--leaf2: found, and not in the file"));
  EXPECT_THAT(by_traces(clos(), more), ElementsAre("host1--leaf2: in the file, and not found"));
}

TEST(AgainstFile, ASecondParallelCableOfTheFileIsMissed) {
  auto more = clos();
  more.emplace_back("leaf1/p9", "spine1/p9");
  EXPECT_THAT(by_records(clos(), more), ElementsAre("leaf1--spine1: 1 cable found, 2 in the file"));
  EXPECT_THAT(by_traces(clos(), more), ElementsAre("leaf1--spine1: 1 cable found, 2 in the file"));
}

Cables named_clos() {
  auto cables = clos();
  for (auto& [a, b] : cables)
    for (std::string* end : {&a, &b})
      if (!end->starts_with("host")) end->replace(end->find("/p"), 2, "/Ethernet");
  return cables;
}

TEST(AgainstFile, PlugsThatChangedPlacesAreNamedWhereBothKnowTheirPorts) {
  auto real = named_clos();
  swap_near_ends(real, "leaf1/Ethernet3", "leaf1/Ethernet4");
  EXPECT_THAT(by_records(real, named_clos()),
              AllOf(Contains("leaf1/Ethernet3 is cabled to spine2; the file says to spine1/Ethernet1"),
                    Contains("leaf1/Ethernet4 is cabled to spine1; the file says to spine2/Ethernet1")));
  auto moved = named_clos();
  for (auto& [a, b] : moved)
    if (a.starts_with("host1/")) b = "leaf1/Ethernet17";
  EXPECT_THAT(by_records(moved, named_clos()),
              ElementsAre("host1/p1 is cabled to leaf1/Ethernet17; the file says to leaf1/Ethernet1"));
}

TEST(AgainstFile, HostsThatChangedPlacesAreNamedAsTheyAreFound) {
  auto file = clos();
  swap_near_ends(file, "host1/p1", "host3/p1");
  for (const bool with_addresses : {false, true}) {
    const auto said = by_traces(clos(), file, with_addresses);
    EXPECT_THAT(said, Contains(AllOf(HasSubstr("host1/p1"),
                                     HasSubstr("is cabled to leaf1; the file says to leaf2"))));
    EXPECT_THAT(said, Contains(AllOf(HasSubstr("host3/p1"),
                                     HasSubstr("is cabled to leaf2; the file says to leaf1"))));
    EXPECT_THAT(said, Each(Not(HasSubstr("host4/p1"))));
    EXPECT_THAT(said, Each(Not(HasSubstr("host2/p1"))));
  }
}

TEST(AgainstFile, OfSpinesThatNothingTellsApartNoneIsNamed) {
  EXPECT_THAT(by_traces(without_cable(clos(), "leaf1", "spine1"), clos()),
              ElementsAre("one of leaf1--spine1, leaf1--spine2, leaf1--spine3: in the file, and not found"));
  EXPECT_THAT(by_traces(clos(), without_cable(clos(), "leaf1", "spine1")),
              ElementsAre("leaf1--spine1: found, and not in the file"))
      << "the file tells it apart";
}

TEST(AgainstFile, WhatIsAsTheFileSaysDiffersInNothing) {
  for (const auto& fabric :
       {make_clos({.leaves = 4, .spines = 3, .hosts_per_leaf = 1}).value(),
        make_pod_clos({.pods = 3, .leaves = 2, .spines = 2, .cores = 4, .hosts_per_leaf = 2}).value(),
        make_rails({.groups = 2, .hosts_per_group = 4, .rails = 4, .spines = 4}).value()})
    for (const bool with_addresses : {false, true})
      EXPECT_THAT(by_traces(fabric, file_of(fabric, with_addresses)), IsEmpty());
}

}  // namespace
}  // namespace weft::discover
