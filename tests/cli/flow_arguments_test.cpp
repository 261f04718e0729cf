#include "cli/flow_arguments.hpp"

#include <gmock/gmock.h>

#include <boost/program_options.hpp>

#include "cli/agent_arguments.hpp"

namespace weft::cli {
namespace {

using ::testing::HasSubstr;

po::variables_map parsed(const std::vector<std::string>& words) {
  po::options_description options;
  add_flow_options(options);
  add_agent_options(options);
  po::variables_map values;
  po::store(po::command_line_parser(words).options(options).run(), values);
  return values;
}

std::string refusal(const std::vector<std::string>& words, run::EngineKind engine) {
  session::SweepOptions options;
  const auto read = read_flow_options(parsed(words), engine, options);
  return read ? "" : read.error().message;
}

TEST(FlowArguments, OfQueuePairsAreRefusedWhereThereAreNoneWithWhatWouldHelp) {
  EXPECT_THAT(refusal({"--qps", "2"}, run::EngineKind::raw),
              HasSubstr("--qps is of queue pairs: it needs --engine verbs"));
  EXPECT_THAT(refusal({"--qps", "2"}, run::EngineKind::ibsim), HasSubstr("moves management datagrams alone"));
  EXPECT_THAT(refusal({"--probe-transport", "ud"}, run::EngineKind::raw),
              HasSubstr("it needs --engine verbs"));
  EXPECT_EQ(refusal({"--qps", "2"}, run::EngineKind::verbs), "");
}

TEST(FlowArguments, OutOfRangeAreNamed) {
  EXPECT_THAT(refusal({"--qps", "65"}, run::EngineKind::verbs), HasSubstr("--qps 65: expected 1 to 64"));
  EXPECT_THAT(refusal({"--volume", "0"}, run::EngineKind::verbs),
              HasSubstr("--volume 0: expected 1B to 1048576GiB"));
  EXPECT_THAT(refusal({"--operation", "push"}, run::EngineKind::verbs), HasSubstr("--operation push"));
  EXPECT_THAT(refusal({"--load-time", "1h"}, run::EngineKind::verbs), HasSubstr("--load-time"));
  EXPECT_THAT(refusal({"--memory", "gpu", "--message", "100B"}, run::EngineKind::verbs),
              HasSubstr("units of 16 bytes"));
}

TEST(AgentOptions, ReachesAnAgentInWordsThatItReads) {
  const run::AgentOptions wanted{
      .engine = run::EngineKind::verbs,
      .packets = {.traffic_class = 104, .service_level = std::nullopt, .gid_index = 0},
      .exchange = run::ExchangeBy::address,
      .memory = run::MemoryOf::gpu,
      .probes = datapath::ProbeTransport::datagram};
  auto words = agent_option_words(wanted);
  ASSERT_GE(words.size(), 2u);
  EXPECT_EQ(words[1], "verbs");
  words.erase(words.begin(), words.begin() + 2);  // the engine is the command's own option
  run::AgentOptions read;
  ASSERT_TRUE(read_agent_options(parsed(words), read));
  EXPECT_EQ(read.packets, wanted.packets);
  EXPECT_EQ(read.exchange, wanted.exchange);
  EXPECT_EQ(read.memory, wanted.memory);
  EXPECT_EQ(read.probes, wanted.probes);
}

TEST(AgentOptions, UnknownWordsAreRefused) {
  run::AgentOptions read;
  EXPECT_THAT(read_agent_options(parsed({"--exchange", "mail"}), read).error().message,
              HasSubstr("--exchange mail: expected nats or rdmacm"));
  EXPECT_THAT(read_agent_options(parsed({"--memory", "disk"}), read).error().message,
              HasSubstr("--memory disk: expected host or gpu"));
  EXPECT_THAT(read_agent_options(parsed({"--probe-transport", "rc"}), read).error().message,
              HasSubstr("--probe-transport rc: expected auto, ud or uc"));
}

TEST(AgentOptions, OutOfRangeAreNamed) {
  run::AgentOptions read;
  for (const auto& [name, value] : std::vector<std::pair<std::string, std::string>>{
           {"--traffic-class", "256"}, {"--service-level", "16"}, {"--gid-index", "256"}})
    EXPECT_THAT(read_agent_options(parsed({name, value}), read).error().message, HasSubstr(name));
}

}  // namespace
}  // namespace weft::cli
