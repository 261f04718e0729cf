#include "balancer/steer/label_list.hpp"

#include <gmock/gmock.h>

#include <set>

namespace weft::steer {
namespace {

using testing::HasSubstr;

const Gid kHere = gid_of(IpAddress(IpAddress::V4{10, 0, 0, 1}));
const Gid kThere = gid_of(IpAddress(IpAddress::V4{10, 0, 0, 2}));

LabelList sample() {
  return {9,
          {{kHere, kThere, std::nullopt, Role::sends, {PathLabel(49'152), PathLabel(65'535)}},
           {kHere, kThere, std::nullopt, Role::answers, {PathLabel(50'000)}},
           {kHere, Gid{}, LidRange{Lid(32), 2}, Role::sends, {PathLabel(33), PathLabel(35)}}},
          std::chrono::seconds(1'800'000'000),
          "4711"};
}

std::string refusal(std::vector<std::byte> bytes) {
  const auto read = decode_labels(bytes);
  return read ? "" : read.error().message;
}

TEST(LabelListCodec, ReadsBackWhatItWrote) {
  EXPECT_EQ(decode_labels(encode_labels(sample()).value()).value(), sample());
  EXPECT_EQ(decode_labels(encode_labels({}).value()).value(), LabelList());
}

TEST(LabelListCodec, KeepsItsBytes) {
  // Fields of the header and of the first pair, at their places.
  const auto bytes = encode_labels(sample()).value();
  EXPECT_EQ(bytes.size(), 112u + 3 * 48 + 5 * 4);
  EXPECT_EQ(load_be64(bytes, 0), 0x776566746C61622Aull);
  EXPECT_EQ(load_be32(bytes, 8), 2u);
  EXPECT_EQ(load_be32(bytes, 12), 3u);
  EXPECT_EQ(load_be64(bytes, 16), 9u);
  EXPECT_EQ(load_u8(bytes, 112 + 15), 1);
  EXPECT_EQ(load_be32(bytes, 112 + 3 * 48), 49'152u);
}

TEST(LabelListCodec, TakesBytesBehindTheListForNothing) {
  auto bytes = encode_labels(sample()).value();
  bytes.resize(bytes.size() + 100, std::byte{7});
  EXPECT_EQ(decode_labels(bytes).value(), sample());
}

TEST(LabelListCodec, RefusesEveryByteThatChangedAndEveryLengthCut) {
  const auto good = encode_labels(sample()).value();
  for (std::size_t i = 0; i < good.size(); ++i) {
    auto changed = good;
    changed[i] ^= std::byte{1};
    EXPECT_FALSE(decode_labels(changed)) << i;
    EXPECT_FALSE(decode_labels(ByteSpan(good).first(i))) << i;
  }
}

/// As a forger would: with the checksum that fits.
std::vector<std::byte> forged(std::size_t at, std::uint32_t value) {
  auto bytes = encode_labels(sample()).value();
  store_be32(bytes, at, value);
  store_be64(bytes, 32, checksum(ByteSpan(bytes).subspan(40), checksum(ByteSpan(bytes).first(32))));
  return bytes;
}

TEST(LabelListCodec, RefusesWhatIsForged) {
  EXPECT_THAT(refusal(forged(12, 5000)), HasSubstr("5000 pairs"));
  EXPECT_THAT(refusal(forged(12, 0xFFFFFFFF)), HasSubstr("at most 4096"));
  EXPECT_THAT(refusal(forged(112 + 36, 0xFFFFFFFF)), HasSubstr("labels 4294967295"));
  EXPECT_THAT(refusal(forged(112 + 40, 6)), HasSubstr("labels 0 to 6 of 5"));
  EXPECT_THAT(refusal(forged(112 + 3 * 48, 80)), HasSubstr("80 is no UDP source port"));
  EXPECT_THAT(refusal(forged(112 + 2 * 48 + 32, 0x00220200)), HasSubstr("33 is no LID"));
  EXPECT_THAT(refusal(forged(112 + 2 * 48 + 32, 0x00200900)), HasSubstr("LMC 9"));
  EXPECT_THAT(refusal(forged(112 + 32, 0x00000007)), HasSubstr("7 is no role"));
}

TEST(LabelListCodec, DoesNotGrowWherePairsShareLabels) {
  LabelList many{1, {}};
  many.pairs.resize(kMaxPairs, {kHere, kThere, std::nullopt, Role::sends, {}});
  many.pairs[0].labels.assign(100, PathLabel(50'000));
  auto bytes = encode_labels(many).value();
  for (std::size_t i = 0; i < kMaxPairs; ++i) {
    store_be32(bytes, 112 + i * 48 + 36, 0);
    store_be32(bytes, 112 + i * 48 + 40, 100);
  }
  store_be64(bytes, 32, checksum(ByteSpan(bytes).subspan(40), checksum(ByteSpan(bytes).first(32))));
  EXPECT_THAT(refusal(bytes), HasSubstr("more than 65536 labels"));
}

TEST(LabelListCodec, WritesNoListThatItWouldNotRead) {
  LabelList list{1, {{kHere, kThere, std::nullopt, Role::sends, {PathLabel(100)}}}};
  EXPECT_FALSE(encode_labels(list));
  list.pairs[0].labels.assign(kMaxLabels + 1, PathLabel(50'000));
  EXPECT_FALSE(encode_labels(list));
}

TEST(LabelListCodec, WritesNoJobWhoseNameIsTooLong) {
  LabelList list{1, {}};
  list.job.assign(63, 'j');
  EXPECT_EQ(decode_labels(encode_labels(list).value()).value(), list);
  list.job += 'j';
  EXPECT_FALSE(encode_labels(list));
}

TEST(LabelFiles, OfTwoJobsAreNeverOne) {
  EXPECT_EQ(labels_file(""), "labels");
  EXPECT_EQ(labels_file("4711_1"), "labels.4711_1");
  const std::set<std::string> names{labels_file("a/b"),  labels_file("a b"),
                                    labels_file("a-b"),  labels_file("../x"),
                                    labels_file("..-x"), labels_file(std::string(63, '/'))};
  EXPECT_EQ(names.size(), 6u);
  for (const auto& name : names) {
    EXPECT_TRUE(is_labels_file(name)) << name;
    EXPECT_EQ(name.find('/'), std::string::npos) << name;
  }
  EXPECT_TRUE(is_labels_file(labels_file("4711.pbs.example")));
  EXPECT_FALSE(is_labels_file("labels.4711.new-123")) << "it is just being written";
  EXPECT_FALSE(is_labels_file("labels-old"));
  EXPECT_FALSE(is_labels_file("a.qps"));
}

TEST(LabelList, FindsAPairByGidsOrByAnyLidOfThePeersPort) {
  const auto list = sample();
  EXPECT_EQ(list.find(kHere, kThere, std::nullopt, Role::answers), &list.pairs[1]);
  EXPECT_EQ(list.find(kHere, kThere, Lid(34), Role::sends), &list.pairs[2]);
  EXPECT_EQ(list.find(kHere, kThere, Lid(36), Role::sends), nullptr);
  EXPECT_EQ(list.find(kThere, kHere, std::nullopt, Role::sends), nullptr);
  EXPECT_EQ(list.find(kHere, Gid{}, std::nullopt, Role::sends), nullptr) << "it is of InfiniBand";
}

}  // namespace
}  // namespace weft::steer
