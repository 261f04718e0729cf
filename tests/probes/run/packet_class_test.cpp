#include "probes/run/packet_class.hpp"

#include <gmock/gmock.h>

#include <map>

namespace weft::run {
namespace {

using ::testing::HasSubstr;
using Variables = std::map<std::string, std::string>;

Result<ChosenClass> choose(const PacketClass& wanted, const Variables& variables) {
  return choose_packet_class(wanted, [&](const char* name) {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

TEST(PacketClass, IsZeroWhereNobodySaysOtherwise) {
  const auto chosen = choose({}, {});
  ASSERT_TRUE(chosen);
  EXPECT_EQ(chosen->said, "traffic class 0, service level 0");
  EXPECT_FALSE(chosen->gid_index);
}

TEST(PacketClass, IsTheJobsWhereNothingIsAskedFor) {
  const auto chosen = choose({}, {{"NCCL_IB_TC", "106"}, {"NCCL_IB_SL", "0x3"}, {"NCCL_IB_GID_INDEX", "3"}});
  ASSERT_TRUE(chosen);
  EXPECT_EQ(chosen->traffic_class, 106);
  EXPECT_EQ(chosen->service_level, 3);
  EXPECT_EQ(chosen->gid_index, 3u);
  EXPECT_EQ(chosen->said,
            "traffic class 106 (NCCL_IB_TC), service level 3 (NCCL_IB_SL), GID index 3 (NCCL_IB_GID_INDEX)");
}

TEST(PacketClass, AskedForWinsOverTheJobs) {
  const auto chosen = choose({.traffic_class = 0, .service_level = 5, .gid_index = 1},
                             {{"NCCL_IB_TC", "106"}, {"NCCL_IB_SL", "3"}, {"NCCL_IB_GID_INDEX", "3"}});
  ASSERT_TRUE(chosen);
  EXPECT_EQ(chosen->said, "traffic class 0, service level 5");
  EXPECT_EQ(chosen->gid_index, 1u);
}

TEST(PacketClass, BelowZeroMeansNcclsDefault) {
  EXPECT_FALSE(choose({}, {{"NCCL_IB_GID_INDEX", "-1"}}).value().gid_index);
}

TEST(PacketClass, WhatNcclWouldNotTakeIsNamed) {
  for (const auto& [name, value] :
       Variables{{"NCCL_IB_TC", "256"}, {"NCCL_IB_SL", "16"}, {"NCCL_IB_GID_INDEX", "x"}}) {
    const auto chosen = choose({}, {{name, value}});
    ASSERT_FALSE(chosen) << name;
    EXPECT_THAT(chosen.error().message, HasSubstr(name + "=" + value));
  }
}

}  // namespace
}  // namespace weft::run
