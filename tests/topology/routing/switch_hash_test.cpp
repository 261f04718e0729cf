#include "topology/routing/switch_hash.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <vector>

#include "topology/base/splitmix.hpp"
#include "topology/model/clos.hpp"
#include "topology/routing/ecmp_routing.hpp"

namespace weft::routing {
namespace {

const IpAddress kSrc = IpAddress::parse("10.0.1.3").value();
const IpAddress kDst = IpAddress::parse("10.0.7.9").value();

FlowBits flow(std::uint32_t label) { return FlowBits::of(kSrc, kDst, PathLabel(label)); }

/// A CRC of bytes as textbooks have it, with no start value and nothing added at the end.
std::uint32_t textbook_crc(const std::vector<std::uint8_t>& bytes, std::uint32_t polynomial, unsigned width,
                           bool reflected) {
  const auto mirrored = [](std::uint32_t value, unsigned bits) {
    std::uint32_t result = 0;
    for (unsigned i = 0; i < bits; ++i) result = result << 1 | (value >> i & 1U);
    return result;
  };
  std::uint64_t remainder = 0;
  for (const std::uint8_t byte : bytes) {
    remainder ^= std::uint64_t{reflected ? mirrored(byte, 8) : byte} << (width - 8);
    for (int bit = 0; bit < 8; ++bit) {
      const bool carry = (remainder >> (width - 1) & 1U) != 0;
      remainder = (remainder << 1 ^ (carry ? polynomial : 0U)) & ((std::uint64_t{1} << width) - 1);
    }
  }
  const auto crc = static_cast<std::uint32_t>(remainder);
  return reflected ? mirrored(crc, width) : crc;
}

TEST(SwitchHash, ColumnsOfACrcAddUpToTheCrcOfTheBytes) {
  for (const bool reflected : {false, true})
    for (const auto& [polynomial, width] : {std::pair(std::uint32_t{0x8005}, 16U), {kCrc32Polynomial, 32U}}) {
      const auto columns =
          crc_columns(polynomial, width, reflected, HashedFields::addresses_protocol_ports, false);
      const auto crc = [&](std::uint32_t label) {
        return textbook_crc({10, 0, 1, 3, 10, 0, 7, 9, 0, static_cast<std::uint8_t>(label >> 8),
                             static_cast<std::uint8_t>(label), 0, 0},
                            polynomial, width, reflected);
      };
      for (const std::uint32_t label : {0xC000U, 0xC001U, 0xD2F7U, 0xFFFFU})
        EXPECT_EQ(hash_of(columns, flow(label)), crc(label)) << width << " bits, " << label;
    }
}

TEST(SwitchHash, EveryFamilyUsesAllMembersAboutAlikeAndDevicesDiffer) {
  for (const auto family : {HashFamily::crc16, HashFamily::crc32, HashFamily::toeplitz, HashFamily::xor_fold})
    for (const auto reduction : {Reduction::modulo, Reduction::threshold, Reduction::table})
      for (const std::uint32_t choices : {2U, 8U, 12U}) {
        const SwitchHash one({family, reduction}, 1, false), other({family, reduction}, 2, false);
        std::map<std::uint32_t, std::size_t> taken;
        std::size_t alike = 0;
        for (std::uint32_t label = 0xC000; label < 0x10000; ++label) {
          ++taken[one.choose(flow(label), choices)];
          alike += one.choose(flow(label), choices) == other.choose(flow(label), choices);
        }
        ASSERT_EQ(taken.size(), choices) << static_cast<int>(family);
        for (const auto& [member, count] : taken) EXPECT_GT(count, 16384 / choices / 4);
        EXPECT_LT(alike, 16384U * 3 / 4);
      }
}

TEST(SwitchHash, IsAffineWhereTheGroupIsAPowerOfTwoAndNotOtherwise) {
  const auto broken = [](std::uint32_t choices) {
    const SwitchHash hash({HashFamily::crc32}, 3, false);
    std::size_t found = 0;
    for (std::uint32_t a = 0xC000; a < 0xC200; ++a) {
      if (hash.choose(flow(a), choices) != hash.choose(flow(0xC000), choices)) continue;
      for (const std::uint32_t shift : {0x400U, 0x1000U})  // one difference must do the same to both
        found += hash.choose(flow(a ^ shift), choices) != hash.choose(flow(0xC000 ^ shift), choices);
    }
    return found;
  };
  EXPECT_EQ(broken(8), 0u);
  EXPECT_GT(broken(6), 0u);
}

TEST(SwitchHash, AnIpv6AddressIsHashedWhole) {
  const auto at = [](const char* text) { return IpAddress::parse(text).value(); };
  const SwitchHash hash({HashFamily::toeplitz}, 1, true);
  std::set<std::uint32_t> taken;
  for (const char* src : {"fd00::1", "fd00:1::1", "fd00:0:0:2::1", "fd00::3:0:0:1", "fd01::1", "fd00::9"})
    taken.insert(hash.choose(FlowBits::of(at(src), at("fd00::2"), PathLabel(50000)), 64));
  EXPECT_GT(taken.size(), 3u);
}

TEST(SwitchHash, NamesAreReadAndUnknownOnesRefused) {
  EXPECT_EQ(parse_hash("crc16").value(), (HashOptions{HashFamily::crc16, Reduction::modulo}));
  EXPECT_EQ(parse_hash("xor:table").value(), (HashOptions{HashFamily::xor_fold, Reduction::table}));
  EXPECT_EQ(parse_hash("crc32:qp:threshold:ingress").value(), (HashOptions{.family = HashFamily::crc32,
                                                                           .reduction = Reduction::threshold,
                                                                           .queue_pair = true,
                                                                           .ingress_port = true}));
  EXPECT_EQ(parse_hash("toeplitz:class:polarised").value(),
            (HashOptions{.family = HashFamily::toeplitz, .traffic_class = true, .polarised = true}));
  for (const char* text :
       {"", "crc", "crc16:", "crc16:half", ":modulo", "crc16:modulo:x", "crc32::qp", "crc32:qp:"})
    EXPECT_FALSE(parse_hash(text).has_value()) << text;
}

TEST(SwitchHash, TwoReductionsAreRefusedAndNamed) {
  for (const char* text : {"crc16:modulo:table", "crc32:table:qp:threshold", "xor:threshold:modulo"}) {
    const auto hash = parse_hash(text);
    ASSERT_FALSE(hash) << text;
    EXPECT_EQ(hash.error().kind, ErrorKind::usage);
    EXPECT_NE(hash.error().message.find("not two"), std::string::npos) << hash.error().message;
  }
  EXPECT_TRUE(parse_hash("crc16:table:table"));  // said twice, the same
}

/// Over 8 spines with 8 cores each.
std::size_t paths_reached(const HashOptions& hash) {
  const Fabric fabric =
      *make_pod_clos({.pods = 2, .leaves = 1, .spines = 8, .cores = 64, .hosts_per_leaf = 1});
  const auto addresses = *plan_addresses(fabric, IpFamily::v4);
  const EcmpRouting routing(fabric, {.seed = 5, .hash = hash, .addresses = &addresses.book});
  std::set<std::vector<ChannelId>> paths;
  std::vector<ChannelId> path;
  for (std::uint32_t label = 0xC000; label < 0x10000; ++label) {
    EXPECT_TRUE(routing.path_of(fabric.nics()[0], fabric.nics()[1], PathLabel(label), path));
    paths.insert(path);
  }
  return paths.size();
}

TEST(EcmpRouting, LinearHashesThatDifferInTheirSeedsAloneReachEightOf64Paths) {
  for (const auto family : {HashFamily::crc16, HashFamily::crc32, HashFamily::toeplitz}) {
    EXPECT_GT(paths_reached({.family = family}), 50u) << static_cast<int>(family);
    EXPECT_EQ(paths_reached({.family = family, .polarised = true}), 8u) << static_cast<int>(family);
  }
}

TEST(EcmpRouting, WhereTheIngressPortIsHashedNicsOfOneLeafGoOtherWays) {
  const Fabric fabric = *make_clos({.leaves = 2, .spines = 8, .hosts_per_leaf = 2});
  for (const bool hashed : {false, true}) {
    const EcmpRouting routing(fabric, {.seed = 5, .hash = {.ingress_port = hashed}});
    const EcmpRouting plain(fabric, {.seed = 5});
    std::size_t moved = 0;
    std::vector<ChannelId> path, other;
    for (std::uint32_t label = 0xC000; label < 0xC100; ++label) {
      EXPECT_TRUE(routing.path_of(fabric.nics()[0], fabric.nics()[2], PathLabel(label), path));
      EXPECT_TRUE(plain.path_of(fabric.nics()[0], fabric.nics()[2], PathLabel(label), other));
      moved += path != other;
    }
    EXPECT_EQ(moved > 0, hashed);
  }
}

TEST(EcmpRouting, HashesByFamilyWhatTheAddressBookSaysAndADeviceMayHashOtherwise) {
  const Fabric fabric = *make_clos({.leaves = 2, .spines = 8, .hosts_per_leaf = 1});
  const auto addresses = *plan_addresses(fabric, IpFamily::v4);
  const NodeId leaf = *fabric.find_node("leaf1");
  const auto paths = [&](std::vector<NodeId> structureless) {
    const EcmpRouting routing(fabric, {.seed = 5,
                                       .hash = {HashFamily::crc16},
                                       .structureless = std::move(structureless),
                                       .addresses = &addresses.book});
    std::vector<std::vector<ChannelId>> all;
    for (std::uint32_t label = 0xC000; label < 0xC100; ++label)
      EXPECT_TRUE(routing.path_of(fabric.nics()[0], fabric.nics()[1], PathLabel(label), all.emplace_back()));
    return all;
  };
  const SwitchHash own({HashFamily::crc16}, device_seed(5, leaf), false);
  const auto linear = paths({});
  std::set<std::pair<std::uint32_t, ChannelId>> pairs;
  for (std::uint32_t i = 0; i < linear.size(); ++i)
    pairs.insert(
        {own.choose(FlowBits::of(*addresses.book.address_of(fabric.nics()[0]),
                                 *addresses.book.address_of(fabric.nics()[1]), PathLabel(0xC000 + i)),
                    8),
         linear[i][1]});
  EXPECT_EQ(pairs.size(), 8u);
  EXPECT_NE(paths({leaf}), linear);
}

}  // namespace
}  // namespace weft::routing
