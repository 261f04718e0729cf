// `weft topology discover` from records alone, and what a host tells of its NICs, as a user calls them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "cli/options.hpp"
#include "cli/topology.hpp"
#include "cli/topology_discover.hpp"
#include "cli/topology_discover_roce.hpp"
#include "tests/support/command.hpp"
#include "tests/support/schema.hpp"
#include "tests/support/scratch_file.hpp"
#include "tests/support/test_lab.hpp"
#include "topology/files/fabric_file.hpp"
#include "topology/files/nic_list.hpp"
#include "topology/model/fabric_builder.hpp"

namespace weft::cli {
namespace {

using ::testing::HasSubstr;

constexpr const char* kLeaf1 =
    R"({"lldp": {"interface": [{"Ethernet1/1": {"chassis": {"gpu1": {"capability": {"type": "Station",
    "enabled": true}}}, "port": {"id": {"type": "ifname", "value": "eth2"}}}}, {"Ethernet1/9": {"chassis": {
    "spine1": {"capability": {"type": "Router", "enabled": true}}}, "port": {"id": {"type": "ifname",
    "value": "Ethernet1/1"}}}}]}})";

struct Dumps : TestDirectory {
  std::string put(const char* name, std::string_view text) const {
    std::ofstream(path() / name) << text;
    return (path() / name).string();
  }
};

TEST(DiscoverRecords, HostsAndRecordsSpeakOfARoceFabricAndAllElseOfAnInfinibandOne) {
  const auto is_roce = [](const Arguments& words) {
    const auto values = topology_discover_options().parse(words);
    EXPECT_TRUE(values) << values.error().message;
    return is_roce_discovery(*values);
  };
  EXPECT_TRUE(is_roce({"--hosts", "gpu[001-004]"}));
  for (const char* record : {"--lldp", "--sonic", "--netbox"})
    EXPECT_TRUE(is_roce({record, "file"})) << record;
  EXPECT_FALSE(is_roce({}));
  EXPECT_FALSE(is_roce({"--dump", "net.txt"}));
  EXPECT_FALSE(is_roce({"--lab=there-is-no-such-lab"}));
}

TEST(DiscoverRecords, AFabricFileWithTheSwitchesOwnPortsComesOfOneLeafsTable) {
  const Dumps dumps;
  dumps.put("leaf1.json", kLeaf1);
  const auto outcome =
      call(topology_discover_command, {"--lldp", dumps.path().string(), "-o", "yaml", "--rate", "200G"});
  EXPECT_EQ(outcome.status, 3) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("only leaf1 told neighbours"));
  EXPECT_THAT(outcome.out, HasSubstr("# assumed: 200 Gbit/s of 2 cables, whose rate nothing tells"));
  const auto file = files::parse_fabric_file(outcome.out, "found");
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(file->fabric.link_count(), 2u);
  EXPECT_TRUE(file->fabric.find_port("leaf1/Ethernet1/9"));
  EXPECT_EQ(file->fabric.link(LinkId(0)).rate, Bandwidth::gbit(200));
  const auto json = call(topology_discover_command, {"--lldp", dumps.path().string(), "-o", "json"});
  expect_matches_schema(json.out, "discovery");
}

TEST(DiscoverRecords, ANodeOfTheFileThatWasNotFoundIsADifference) {
  const Dumps dumps;
  const auto table = dumps.put("leaf1.json", kLeaf1);
  const auto found = call(topology_discover_command, {"--lldp", table, "-o", "yaml"}).out;
  const auto same = dumps.put("same.yaml", found);
  const auto alike = call(topology_discover_command, {"--lldp", table, "--against", same});
  EXPECT_EQ(alike.status, 3) << "only leaf1 told";
  EXPECT_THAT(alike.out, testing::Not(HasSubstr("differs:")));
  FabricBuilder more("other", FabricKind::roce);
  const auto leaf = more.add_node({"leaf1"}).value(), spine = more.add_node({"spine2"}).value();
  ASSERT_TRUE(more.add_link(more.add_next_port(leaf), more.add_next_port(spine), Bandwidth::gbit(400)));
  const auto other = dumps.put("other.yaml", files::write_fabric_file(std::move(more).build()));
  const auto outcome = call(topology_discover_command, {"--lldp", table, "--against", other});
  EXPECT_EQ(outcome.status, 1) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("differs: spine2: in the file, and not found\n"));
  EXPECT_THAT(outcome.out, HasSubstr("differs: gpu1: found, and not in the file\n"));
}

TEST(DiscoverRecords, SlurmsTreeIsHeldAgainstTheCables) {
  const Dumps dumps;
  const auto table = dumps.put("leaf1.json", kLeaf1);
  const auto with = [&](const char* name, std::string_view text) {
    return call(topology_discover_command, {"--lldp", table, "--slurm", dumps.put(name, text)});
  };
  const auto other = with("other.yaml", "- {topology: t, tree: {switches: [{switch: a, nodes: cpu1}]}}\n");
  EXPECT_EQ(other.status, 3) << other.err;
  EXPECT_THAT(other.out, HasSubstr("other.yaml: 1 of its nodes were not found: cpu1"));
  std::string untold(kLeaf1);  // nothing says that gpu1 is a host
  untold.replace(untold.find("Station"), 7, "Telephone");
  const auto alone = call(topology_discover_command, {"--lldp", dumps.put("untold.json", untold), "--slurm",
                                                      (dumps.path() / "other.yaml").string()});
  EXPECT_THAT(alone.out, HasSubstr("other.yaml: not compared"));
  const auto wrong = with("wrong.conf", "SwitchName=leaf1 Nodes=gpu1\nNodeName=gpu1\n");
  EXPECT_EQ(wrong.status, 64) << wrong.out;
  EXPECT_THAT(wrong.err, HasSubstr("wrong.conf:2: 'nodename' is not known"));
}

TEST(DiscoverRecords, TwoTablesOfOneDeviceAreRefusedWithBothFiles) {
  const Dumps dumps;
  const auto a = dumps.put("leaf1.json", kLeaf1), b = dumps.put("leaf1.txt", kLeaf1);
  const auto outcome = call(topology_discover_command, {"--lldp", a, "--lldp", b});
  EXPECT_EQ(outcome.status, 64);
  EXPECT_THAT(outcome.err, HasSubstr("leaf1.json and"));
  EXPECT_THAT(outcome.err, HasSubstr("both the table of leaf1"));
}

TEST(DiscoverRecords, OptionsOfTracesWithoutHostsAreRefused) {
  const Dumps dumps;
  const auto table = dumps.put("leaf1.json", kLeaf1);
  for (const Arguments& option :
       {Arguments{"--time-limit", "1min"}, {"--answer-rate", "50"}, {"--subnet", "10.0.0.0/8"}})
    for (const Arguments& rest : {Arguments{"--lldp", table}, {"--dump", "net.txt"}}) {
      Arguments words = option;
      words.insert(words.end(), rest.begin(), rest.end());
      const auto outcome = call(topology_discover_command, words);
      EXPECT_EQ(outcome.status, 64) << option.front();
      EXPECT_THAT(outcome.err, HasSubstr(option.front()));
    }
}

TEST(DiscoverRecords, HalfAFileAndWhatIsNoneAreNamed) {
  const Dumps dumps;
  const auto half = dumps.put("leaf2.json", std::string_view(kLeaf1).substr(0, 100));
  EXPECT_THAT(call(topology_discover_command, {"--lldp", half}).err, HasSubstr("leaf2.json: not JSON"));
  EXPECT_EQ(call(topology_discover_command, {"--lldp", "/no/such"}).status, 64);
  EXPECT_EQ(call(topology_discover_command, {"--lldp", half, "-o", "ibnetdiscover"}).status, 64);
  EXPECT_EQ(call(topology_discover_command, {"--hosts", "a[1-"}).status, 64);
  EXPECT_EQ(call(topology_discover_command, {"--hosts", "one"}).status, 64);
}

TEST(DiscoverHosts, ALoginThatGreetsIsUnderstoodAndOneThatSaysNothingIsNamed) {
  const ScratchFile launcher(
      "echo 'Welcome to {this} host'; echo\n"
      "printf '{\"schema\": \"weft.nics/1\", \"host\": \"h\",\\n \"nics\": []}\\n'\n");
  const auto asked = [&](const std::string& hosts) {
    return call(topology_discover_command,
                {"--hosts", hosts, "--launcher", "sh " + launcher.path() + " {host}"});
  };
  EXPECT_THAT(asked("h1,h2").err, HasSubstr("h1: it has no NIC"));
  const ScratchFile mute("true\n");
  EXPECT_THAT(
      call(topology_discover_command, {"--hosts", "h1,h2", "--launcher", "sh " + mute.path() + " {host}"})
          .err,
      HasSubstr("h1: it answered nothing"));
}

TEST(ShowNics, TellsThisHostsAddressesSoThatTheyReadBack) {
  const auto outcome = call(topology_command, {"show", "--nics", "-o", "json"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  expect_matches_schema(outcome.out, "nics");
  const auto list = files::parse_nic_list(outcome.out, "this host");
  ASSERT_TRUE(list) << list.error().message;
  EXPECT_FALSE(files::parse_nic_list(outcome.out.substr(0, outcome.out.size() / 2), "half"));
  EXPECT_FALSE(files::parse_nic_list("{\"schema\": \"weft.nics/1\"}", "empty"));
}

}  // namespace
}  // namespace weft::cli
