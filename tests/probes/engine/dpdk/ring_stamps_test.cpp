// The ring of a packet socket, as the kernel fills it, and where it is mapped.
#include "probes/engine/dpdk/ring_stamps.hpp"

#include <gtest/gtest.h>
#include <linux/if_packet.h>

#include <array>
#include <cstring>
#include <random>

namespace weft::dpdk {
namespace {

constexpr RingShape kShape{.frame = 2048, .count = 8};

/// What the kernel does: it fills places in order.
class Ring {
 public:
  void put(std::uint32_t second, std::uint32_t nanosecond, std::uint32_t size) {
    tpacket2_hdr header{};
    header.tp_status = TP_STATUS_USER | TP_STATUS_TS_SOFTWARE;
    header.tp_snaplen = size;
    header.tp_sec = second;
    header.tp_nsec = nanosecond;
    std::memcpy(place(filled_++), &header, sizeof header);
  }
  /// The driver has taken so many.
  void take(std::size_t count) {
    for (; count > 0; --count) std::memset(place(taken_++), 0, sizeof(__u32));
  }
  const std::byte* first() const { return bytes_.data(); }

 private:
  std::byte* place(std::size_t number) { return bytes_.data() + number % kShape.count * kShape.frame; }
  alignas(16) std::array<std::byte, 2 * kShape.frame * kShape.count> bytes_{};
  std::size_t filled_ = 0, taken_ = 0;
};

std::vector<WeftDpdkFrame> frames(std::initializer_list<std::uint32_t> sizes) {
  std::vector<WeftDpdkFrame> all;
  for (const auto size : sizes) all.push_back({nullptr, size, 0, nullptr});
  return all;
}

TEST(RingStamps, GivesEachFrameTheStampOfItsPlaceAroundTheRing) {
  Ring ring;
  RingStamps stamps(ring.first(), kShape);
  EXPECT_EQ(stamps.look(64), 0u);
  for (std::uint32_t round = 0; round < 20; ++round) {
    ring.put(round, 7, 142);
    ring.put(round, 8, 200);
    ring.put(round, 9, 142);
    ASSERT_EQ(stamps.look(64), 3u) << round;
    ring.take(3);
    auto came = frames({142, 204, 142});  // the second has its tag again
    stamps.stamp(came);
    EXPECT_EQ(came[0].stamp, round * 1'000'000'000ULL + 7);
    EXPECT_EQ(came[1].stamp, round * 1'000'000'000ULL + 8);
    EXPECT_EQ(came[2].stamp, round * 1'000'000'000ULL + 9);
  }
}

TEST(RingStamps, WhatTheDriverHadNoBufferForIsLookedAtAgain) {
  Ring ring;
  RingStamps stamps(ring.first(), kShape);
  for (std::uint32_t i = 1; i <= 8; ++i) ring.put(i, 0, 100 + i);
  ASSERT_EQ(stamps.look(64), 8u) << "once around, no further";
  ring.take(2);
  auto came = frames({101, 102});
  stamps.stamp(came);
  ASSERT_EQ(stamps.look(3), 3u);
  ring.take(3);
  came = frames({103, 104, 105});
  stamps.stamp(came);
  EXPECT_EQ(came[0].stamp, 3'000'000'000ULL);
}

TEST(RingStamps, OutOfStepWithTheDriverTheyAreGivenUp) {
  Ring ring;
  RingStamps stamps(ring.first(), kShape);
  ring.put(1, 0, 142);
  ring.put(2, 0, 200);
  ASSERT_EQ(stamps.look(64), 2u);
  auto came = frames({142, 142});
  stamps.stamp(came);
  EXPECT_EQ(came[1].stamp, 0u) << "another frame";
  EXPECT_EQ(stamps.look(64), 64u) << "the driver alone knows what there is";
  came = frames({142});
  stamps.stamp(came);
  EXPECT_EQ(came[0].stamp, 0u);
}

TEST(RingStamps, MoreFramesThanWereLookedAtAreOutOfStep) {
  Ring ring;
  RingStamps stamps(ring.first(), kShape);
  ring.put(1, 0, 142);
  ASSERT_EQ(stamps.look(64), 1u);
  auto came = frames({142, 142});
  stamps.stamp(came);
  EXPECT_EQ(came[0].stamp, 0u);
}

constexpr const char* kMaps =
    "55d0c0a00000-55d0c0a10000 r--p 00000000 fe:01 131 /usr/bin/weft\n"
    "7f10a0000000-7f10a1000000 rw-s 00000000 00:08 9001                       socket:[9001]\n"
    "7f10b0000000-7f10b1000000 rw-s 00000000 00:08 19001                      socket:[19001]\n"
    "7ffd00000000-7ffd00021000 rw-p 00000000 00:00 0                          [stack]\n";

TEST(MappingOf, FindsWhereASocketIsMapped) {
  EXPECT_EQ(mapping_of(kMaps, 9001, 0x1000000), 0x7f10a0000000u);
  EXPECT_EQ(mapping_of(kMaps, 19001, 0x1000000), 0x7f10b0000000u);
}

TEST(MappingOf, FindsNothingWhereAnythingIsUnlikeARing) {
  EXPECT_FALSE(mapping_of(kMaps, 1, 0x1000000));
  EXPECT_FALSE(mapping_of(kMaps, 9001, 0x2000000)) << "of another size";
  EXPECT_FALSE(mapping_of(std::string(kMaps) + kMaps, 9001, 0x1000000)) << "twice";
  EXPECT_FALSE(mapping_of("", 9001, 1));
  for (const char* text :
       {" socket:[9001]", "- socket:[9001]\n", "12 34-56 socket:[9001]\n", "zz-zz1000000 r socket:[9001]\n",
        "2000000-1000000 rw socket:[9001]", "-1000000 rw socket:[9001]", "1000000- rw socket:[9001]",
        "11111111111111111-11111111112111111 rw socket:[9001]"})
    EXPECT_FALSE(mapping_of(text, 9001, 0x1000000)) << text;
}

TEST(MappingOf, ReadsAnyBytes) {
  std::mt19937 draws(5);
  for (int i = 0; i < 20'000; ++i) {
    std::string text = kMaps;
    for (auto changes = draws() % 8; changes > 0; --changes)
      text[draws() % text.size()] = static_cast<char>(draws());
    text.resize(draws() % (text.size() + 1));
    const auto found = mapping_of(text, 9001, 0x1000000);
    EXPECT_TRUE(!found || text.find("socket:[9001]") != std::string::npos);
  }
}

}  // namespace
}  // namespace weft::dpdk
