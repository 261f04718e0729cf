#include "cli/packet_class.hpp"

#include <gmock/gmock.h>

#include <boost/program_options.hpp>
#include <map>

namespace weft {
namespace {

using ::testing::ElementsAre;
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

TEST(PacketClass, ReachesAnAgentInWordsThatItReads) {
  const PacketClass wanted{.traffic_class = 104, .service_level = std::nullopt, .gid_index = 0};
  const auto words = packet_class_words(wanted);
  EXPECT_THAT(words, ElementsAre("--traffic-class", "104", "--gid-index", "0"));
  po::options_description options;
  add_packet_class_options(options);
  po::variables_map values;
  po::store(po::command_line_parser(words).options(options).run(), values);
  EXPECT_EQ(read_packet_class(values).value(), wanted);
}

TEST(PacketClass, OutOfRangeIsRefused) {
  po::options_description options;
  add_packet_class_options(options);
  const std::vector<std::vector<std::string>> all{
      {"--traffic-class", "256"}, {"--service-level", "16"}, {"--gid-index", "256"}};
  for (const auto& words : all) {
    po::variables_map values;
    po::store(po::command_line_parser(words).options(options).run(), values);
    const auto read = read_packet_class(values);
    ASSERT_FALSE(read) << words[0];
    EXPECT_THAT(read.error().message, HasSubstr(words[0]));
  }
}

}  // namespace
}  // namespace weft
