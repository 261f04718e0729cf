#include "probes/diagnosis/host/silent_corruption.hpp"

#include <gtest/gtest.h>

#include "probes/packet/pattern.hpp"
#include "topology/model/clos.hpp"

namespace weft::diagnosis {
namespace {

const Fabric& fabric() {
  static const Fabric four = *make_clos({.leaves = 2, .spines = 2, .hosts_per_leaf = 2});
  return four;
}
PortId nic(std::size_t i) { return fabric().nics()[i]; }

/// All pairs of four hosts; `is_bad` says which transfers arrive changed.
template <class IsBad>
std::vector<VerifiedTransfer> all_pairs(IsBad is_bad) {
  std::vector<VerifiedTransfer> transfers;
  for (std::size_t from = 0; from < 4; ++from)
    for (std::size_t to = 0; to < 4; ++to) {
      if (from == to) continue;
      const bool bad = is_bad(from, to);
      transfers.push_back({nic(from), nic(to), 1 << 20, bad, bad ? 3u : 0u,
                           bad ? std::optional<std::uint64_t>(77) : std::nullopt});
    }
  return transfers;
}

TEST(SilentCorruption, NothingIsSaidWhereAllMemoryIsRight) {
  EXPECT_TRUE(silent_corruption(fabric(), all_pairs([](auto, auto) { return false; })).empty());
  EXPECT_TRUE(silent_corruption(fabric(), {}).empty());
}

TEST(SilentCorruption, TheHostThatAllBadTransfersShareIsNamedAlone) {
  for (const bool sends : {true, false}) {
    const auto found =
        silent_corruption(fabric(), all_pairs([&](auto from, auto to) { return (sends ? from : to) == 2; }));
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(found[0].nic, nic(2));
    EXPECT_EQ(found[0].cause, Cause::corruption);
    EXPECT_NE(found[0].text.find("silent corruption: 9 bytes"), std::string::npos) << found[0].text;
    EXPECT_NE(found[0].text.find("3 of 3 transfers"), std::string::npos) << found[0].text;
    EXPECT_NE(found[0].text.find("offset 77"), std::string::npos) << found[0].text;
  }
}

TEST(SilentCorruption, OfOnePairAloneBothEndsAreNamed) {
  const auto found = silent_corruption(fabric(), {{nic(0), nic(3), 4096, true, 1, 5}});
  ASSERT_EQ(found.size(), 2u);
  for (const auto& one : found) EXPECT_NE(one.text.find("cannot tell which"), std::string::npos) << one.text;
}

TEST(SilentCorruption, TwoBadHostsAreBothNamed) {
  const auto found =
      silent_corruption(fabric(), all_pairs([](auto from, auto to) { return from == 1 || to == 3; }));
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].nic, nic(1));
  EXPECT_EQ(found[1].nic, nic(3));
  for (const auto& one : found) EXPECT_EQ(one.text.find("cannot tell"), std::string::npos) << one.text;
}

TEST(SilentCorruption, OneBadSenderIsNamedInsteadOfAllWhoReceivedFromIt) {
  std::vector<VerifiedTransfer> transfers;
  for (std::size_t to = 1; to < 4; ++to) transfers.push_back({nic(0), nic(to), 4096, true});
  const auto found = silent_corruption(fabric(), transfers);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].nic, nic(0));
  EXPECT_EQ(found[0].verdict, Verdict::failed);
  EXPECT_NE(found[0].text.find("bytes sent from it differ in 3 of 3"), std::string::npos) << found[0].text;
}

TEST(SilentCorruption, AFlipInTheMemoryOfATransferIsFoundAndNamed) {
  std::vector<std::byte> memory(1 << 16);
  packet::fill_pattern(memory, 42, 0);  // what arrived
  memory[12'345] ^= std::byte{0x20};
  const auto difference = packet::verify_pattern(memory, 42, 0);
  const auto found = silent_corruption(
      fabric(), {{nic(0), nic(1), memory.size(), true, difference.bytes, difference.first.at(0)},
                 {nic(0), nic(2), memory.size()}});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].nic, nic(1)) << "the sender's other transfer was right";
  EXPECT_NE(found[0].text.find("offset 12345"), std::string::npos) << found[0].text;
}

}  // namespace
}  // namespace weft::diagnosis
