#include "probes/rdma/qp_route.hpp"
#include "probes/rdma/relabel.hpp"

#include <gmock/gmock.h>

#include <set>

namespace weft::rdma {
namespace {

constexpr LidRange kPeer{Lid(32), 2};
constexpr LidRange kOwn{Lid(8), 2};

TEST(DlidRoute, WithoutLabelsTakesTheBaseLids) {
  EXPECT_EQ(dlid_route(kPeer, std::nullopt, kOwn, std::nullopt).value(), (DlidRoute{Lid(32), 0}));
}

TEST(DlidRoute, EachLabelOfThePeerIsARouteOfItsOwn) {
  std::set<std::uint16_t> dlids;
  for (std::uint32_t lid = 32; lid < 36; ++lid) {
    const auto route = dlid_route(kPeer, PathLabel(lid), kOwn, std::nullopt);
    ASSERT_TRUE(route);
    dlids.insert(route->dlid.value());
  }
  EXPECT_EQ(dlids, (std::set<std::uint16_t>{32, 33, 34, 35}));
}

TEST(DlidRoute, WhatComesBackComesToTheLidThatPacketsLeftFrom) {
  const auto there = dlid_route(kPeer, PathLabel(35), kOwn, PathLabel(10));
  const auto back = dlid_route(kOwn, PathLabel(10), kPeer, PathLabel(35));
  ASSERT_TRUE(there && back);
  EXPECT_EQ(back->dlid.value(), kOwn.base.value() + there->src_path_bits);
  EXPECT_EQ(there->dlid.value(), kPeer.base.value() + back->src_path_bits);
}

TEST(DlidRoute, ALabelThatIsNoLidOfThePortIsRefusedWithThoseThereAre) {
  for (const std::uint32_t lid : {31U, 36U, 50'000U}) {
    const auto route = dlid_route(kPeer, PathLabel(lid), kOwn, std::nullopt);
    ASSERT_FALSE(route) << lid;
    EXPECT_THAT(route.error().message, ::testing::HasSubstr("it has 32 to 35"));
  }
  EXPECT_FALSE(dlid_route(kPeer, PathLabel(33), kOwn, PathLabel(12)));
  EXPECT_FALSE(dlid_route({Lid(32), 8}, PathLabel(33), kOwn, std::nullopt)) << "an LMC there is not";
  EXPECT_FALSE(dlid_route({Lid(32), 0}, PathLabel(33), kOwn, std::nullopt)) << "one LID alone";
}

}  // namespace
}  // namespace weft::rdma
