#include "topology/lab/netns/state.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "tests/support/test_lab.hpp"
#include "topology/lab/netns/kernel.hpp"
#include "topology/lab/netns/names.hpp"
#include "topology/model/clos.hpp"

namespace weft::lab {
namespace {

LabState full_state() {
  LabState state{
      .name = "demo",
      .owner = LabOwner::user,
      .complete = true,
      .holder = os::ProcessMark{.pid = 4711, .start = 99},
      .fabric = make_pod_clos({.pods = 2, .leaves = 1, .spines = 1, .cores = 2, .hosts_per_leaf = 1}).value(),
      .settings = {.link_rate = Bandwidth::mbit(20),
                   .family = IpFamily::v6,
                   .mtu = Bytes(9000),
                   .tolerate = {.loss = Fraction::percent(0.02), .delay = std::chrono::milliseconds(3)},
                   .counters = {.prometheus = "http://127.0.0.1:9090",
                                .presets = {"gnmic"},
                                .port_label = "port",
                                .renames = {{"10.0.0.7", "leaf1"}},
                                .metrics = {{"fec_uncorrectable", "a"}, {"fec_corrected", "b"}},
                                .window = std::chrono::minutes(5)}}};
  state.faults[ChannelId(3)] = {.loss = Fraction::percent(0.5),
                                .rate = Bandwidth::mbit(1),
                                .load = Bandwidth::mbit(2),
                                .delay = std::chrono::microseconds(1500),
                                .mtu = Bytes(1000),
                                .corruption = Fraction::percent(3)};
  state.down.insert(LinkId(2));
  state.workers.push_back({LabWorker::Kind::delay, ChannelId(3), {.pid = 12, .start = 34}});
  return state;
}

TEST(LabStateJson, ReadsBackWhatItWrote) {
  const LabState before = full_state();
  const auto after = lab_state_from_json(to_json(before));
  ASSERT_TRUE(after) << after.error().message;
  EXPECT_EQ(to_json(*after), to_json(before));
  EXPECT_TRUE(same_fabric(*after, before));
  EXPECT_EQ(after->faults, before.faults);
  EXPECT_EQ(after->holder, before.holder);
  EXPECT_EQ(after->settings.tolerate.loss, before.settings.tolerate.loss);
  EXPECT_EQ(after->settings.counters, before.settings.counters);
  EXPECT_EQ(after->settings.tolerate.delay, before.settings.tolerate.delay);
  EXPECT_EQ(after->fabric.node(NodeId(0)).pod, before.fabric.node(NodeId(0)).pod);
}

TEST(LabStateJson, KeepsAnUnshapedLabUnshaped) {
  LabState state = full_state();
  state.settings.link_rate.reset();
  EXPECT_FALSE(lab_state_from_json(to_json(state))->settings.link_rate);
}

TEST(LabStateJson, RefusesAToleranceThatIsNone) {
  auto document = to_json(full_state());
  document["settings"]["tolerated_loss"] = -1;
  EXPECT_FALSE(lab_state_from_json(document));
  document = to_json(full_state());
  document["settings"]["tolerated_delay_ns"] = -1;
  EXPECT_FALSE(lab_state_from_json(document));
}

TEST(LabStateJson, TellsFabricsApartThatDifferInOneLinkOrOneSetting) {
  const LabState one = full_state();
  LabState other = full_state();
  other.settings.mtu = Bytes(1500);
  EXPECT_FALSE(same_fabric(one, other));
  other = full_state();
  other.fabric =
      make_pod_clos({.pods = 2, .leaves = 1, .spines = 1, .cores = 1, .hosts_per_leaf = 1}).value();
  EXPECT_FALSE(same_fabric(one, other));
}

TEST(LabStateJson, RefusesWhateverPartIsMissingOrWrong) {
  const auto good = to_json(full_state());
  for (const auto& [key, value] : good.items()) {
    if (key == "holder") continue;
    auto without = good;
    without.erase(key);
    EXPECT_FALSE(lab_state_from_json(without)) << "without " << key;
    auto wrong = good;
    wrong[key] = nlohmann::json::array({nlohmann::json::array({-1})});
    EXPECT_FALSE(lab_state_from_json(wrong)) << "with another " << key;
  }
}

TEST(LabStateJson, RefusesFaultsOnChannelsThatAreNotThere) {
  auto document = to_json(full_state());
  document["faults"][0]["channel"] = 1000;
  EXPECT_EQ(lab_state_from_json(document).error().kind, ErrorKind::invalid_input);
}

TEST(LabStateJson, RefusesRatesOfNothingAndSharesBeyondAll) {
  for (const auto& [member, value] :
       {std::pair{"rate", 5e-324}, {"load", 0.0}, {"loss", 1.5}, {"loss", 1e18}}) {
    auto document = to_json(full_state());
    document["faults"][0][member] = value;
    EXPECT_FALSE(lab_state_from_json(document)) << member << " " << value;
  }
}

TEST(LabStateFile, OfAnotherLabOrTooDeepIsRefused) {
  const TestDirectory scratch;
  std::filesystem::permissions(scratch.path(), std::filesystem::perms::owner_all);
  const auto read_of = [&](const std::string& text) {
    std::filesystem::create_directory(scratch.path() / "demo");
    std::ofstream(scratch.path() / "demo" / "state.json") << text;
    return read_lab_state(scratch.path(), "demo");
  };
  auto document = to_json(full_state());
  ASSERT_TRUE(read_of(document.dump())) << read_of(document.dump()).error().message;
  document["name"] = "../../victim";
  EXPECT_FALSE(read_of(document.dump()));
  const auto text = to_json(full_state()).dump();
  const std::string complete = "\"complete\":";
  const auto at = text.find(complete) + complete.size();
  const auto deep = text.substr(0, at) + std::string(200'000, '[') + std::string(200'000, ']') +
                    text.substr(text.find_first_of(",}", at));
  EXPECT_FALSE(read_of(deep));
}

TEST(LabLocks, AreFilesThatOnlyTheirOwnerMayOpen) {
  const TestDirectory scratch;
  const auto mode_of = [&](const char* file) {
    return std::filesystem::symlink_status(scratch.path() / file).permissions();
  };
  constexpr auto kOwnerOnly = std::filesystem::perms::owner_read | std::filesystem::perms::owner_write;
  {
    const auto lock = StateLock::take(scratch.path());
    ASSERT_TRUE(lock) << lock.error().message;
    EXPECT_EQ(mode_of("lock"), kOwnerOnly);
  }
  EXPECT_TRUE(std::filesystem::is_empty(scratch.path())) << "gone with the lock";
  std::filesystem::create_directory(scratch.path() / "a");
  const auto claim = claim_lab("a", scratch.path());
  ASSERT_TRUE(claim) << claim.error().message;
  EXPECT_EQ(mode_of("a/claim"), kOwnerOnly);
}

TEST(LabLocks, AreTakenOneAfterTheOther) {
  const TestDirectory scratch;
  std::atomic<int> inside = 0;
  std::vector<std::jthread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 20; ++i) {
        const auto lock = StateLock::take(scratch.path());
        EXPECT_TRUE(lock);
        EXPECT_EQ(++inside, 1);
        --inside;
      }
    });
}

TEST(LabLocks, ThroughALinkAreRefused) {
  const TestDirectory scratch;
  std::filesystem::create_directory(scratch.path() / "a");
  std::filesystem::create_symlink(scratch.path() / "elsewhere", scratch.path() / "a/claim");
  EXPECT_FALSE(claim_lab("a", scratch.path()));
  EXPECT_FALSE(std::filesystem::exists(scratch.path() / "elsewhere"));
}

TEST(LabLocks, AClaimedLabDoesNotGoDownUnlessByForce) {
  const TestDirectory scratch;
  std::filesystem::create_directory(scratch.path() / "a");
  const auto claim = claim_lab("a", scratch.path());
  ASSERT_TRUE(claim);
  const auto second = claim_lab("a", scratch.path());
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().kind, ErrorKind::conflict);
  EXPECT_NE(second.error().message.find(std::to_string(getpid())), std::string::npos);
  const auto down = lab_down("a", scratch.path());
  ASSERT_FALSE(down);
  EXPECT_EQ(down.error().kind, ErrorKind::conflict);
  EXPECT_TRUE(lab_down("a", scratch.path(), WhenLoaded::end_it));
  EXPECT_TRUE(std::filesystem::is_empty(scratch.path()));
}

TEST(LabNames, AreLettersDigitsDashesAndUnderscores) {
  for (const char* good : {"a", "demo", "A-1_b"}) EXPECT_TRUE(check_lab_name(good)) << good;
  for (const char* bad : {"", "-a", "a/b", "..", "a b", "a~"}) EXPECT_FALSE(check_lab_name(bad)) << bad;
  EXPECT_FALSE(check_lab_name(std::string(33, 'a')));
}

TEST(LabNames, GiveEveryPortItsOwnLocalMac) {
  EXPECT_EQ(mac_of(PortId(0x01020304)), "02:77:01:02:03:04");
  EXPECT_EQ(to_string(host_management_address(0)), "172.31.0.2");
  EXPECT_EQ(to_string(host_management_address(300)), "172.31.1.46");
}

TEST(LabFits, TwoTiersOnAnyKernelThreeOnlyWhereEveryDeviceHasASeed) {
  const Fabric two = make_clos({.leaves = 2, .spines = 2, .hosts_per_leaf = 1}).value();
  const Fabric three = full_state().fabric;
  EXPECT_TRUE(check_lab_fits(two, {}, {.has_hash_seed = false}));
  EXPECT_TRUE(check_lab_fits(three, {}, {.has_hash_seed = true}));
  const auto refused = check_lab_fits(three, {}, {.has_hash_seed = false});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::not_supported);
  EXPECT_NE(refused.error().message.find("6.11"), std::string::npos) << refused.error().message;
}

TEST(LabFits, RefusesInfinibandTooManyHostsAndSizesNoInterfaceTakes) {
  const auto fabric = [](FabricKind kind, std::uint32_t hosts) {
    return make_clos({.kind = kind, .leaves = 2, .spines = 1, .hosts_per_leaf = hosts}).value();
  };
  EXPECT_FALSE(check_lab_fits(fabric(FabricKind::infiniband, 1), {}, {true}));
  EXPECT_FALSE(check_lab_fits(fabric(FabricKind::roce, 501), {}, {true}));
  EXPECT_TRUE(check_lab_fits(fabric(FabricKind::roce, 500), {}, {true}));
  EXPECT_FALSE(check_lab_fits(fabric(FabricKind::roce, 1), {.mtu = Bytes(600)}, {true}));
  EXPECT_FALSE(check_lab_fits(fabric(FabricKind::roce, 1), {.mtu = Bytes(70'000)}, {true}));
}

}  // namespace
}  // namespace weft::lab
