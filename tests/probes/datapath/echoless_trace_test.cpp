#include "probes/datapath/probe_engine.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace weft::datapath {
namespace {

/// A fabric of three switches in a row of which some answer; the peer never does.
class Switches final : public ProbeEngine {
 public:
  explicit Switches(std::vector<std::uint8_t> answering) : answering_(std::move(answering)) {}
  Result<std::vector<HopAnswer>> trace(const TraceRequest& request, std::stop_token) override {
    std::vector<HopAnswer> answers;
    for (std::uint32_t i = 0; i < request.specs.size(); ++i)
      for (std::uint8_t hop = 1; hop <= request.specs[i].max_hops; ++hop) {
        furthest = std::max(furthest, hop);
        if (std::ranges::count(answering_, hop) > 0) answers.push_back({.spec = i, .hop = hop});
      }
    return answers;
  }
  Result<std::vector<PingTally>> ping(const PingRequest&, std::stop_token) override { return {}; }
  Result<std::vector<ReceivedTally>> received(BatchId) override { return {}; }
  std::uint8_t furthest = 0;

 private:
  std::vector<std::uint8_t> answering_;
};

TraceRequest one_trace() {
  TraceRequest request;
  request.peers = {{PortId(5), IpAddress(IpAddress::V4{10, 0, 2, 1})}};
  request.specs = {{0, PathLabel(50000), 4}};
  return request;
}

bool reached(const std::vector<HopAnswer>& answers) {
  return std::ranges::any_of(answers, [](const HopAnswer& answer) {
    return answer.is_peer && answer.hop == 4 && answer.from == IpAddress(IpAddress::V4{10, 0, 2, 1});
  });
}

TEST(EcholessTrace, ThePeerCountsAsReachedWhenTheLastSwitchAnswersAndIsNeverProbed) {
  Switches all({1, 2, 3});
  EXPECT_TRUE(reached(trace_without_echo(all, one_trace(), {}).value()));
  EXPECT_EQ(all.furthest, 3);
}

TEST(EcholessTrace, WhereTheLastSwitchIsSilentThePeerWasNotReached) {
  Switches cut({1, 2});
  const auto answers = trace_without_echo(cut, one_trace(), {}).value();
  EXPECT_FALSE(reached(answers));
  EXPECT_EQ(answers.size(), 2u);
}

}  // namespace
}  // namespace weft::datapath
