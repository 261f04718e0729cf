#include "balancer/steer/tuner_table.hpp"

#include <gmock/gmock.h>

#include <limits>

namespace weft::steer {
namespace {

using testing::HasSubstr;

constexpr std::size_t kAlgorithms = 7;
constexpr std::size_t kProtocols = 3;
using Costs = std::array<float, kAlgorithms * kProtocols>;

TunerTable sample() {
  return {7,
          {{NcclFunction::all_reduce, 16, 2, 65'536, NcclAlgorithm::tree, NcclProtocol::ll, 2},
           {NcclFunction::all_reduce, 16, 2, std::numeric_limits<std::uint64_t>::max(), NcclAlgorithm::ring,
            NcclProtocol::simple, 0},
           {NcclFunction::all_reduce, 32, 4, 1024, NcclAlgorithm::ring, NcclProtocol::ll128, 1}}};
}

std::string with_checksum(std::string text) { return text + fmt::format("{:016x}", tuner_checksum(text)); }

std::string refusal(std::string_view text) {
  const auto read = decode_tuner(text);
  return read ? "" : read.error().message;
}

/// "algorithm protocol channels" of a communicator of 16 ranks on 2 nodes, or "declined".
std::string choice(std::uint64_t function, std::uint64_t bytes, Costs costs = {}) {
  const CommunicatorTuner tuner(sample(), 16, 2);
  for (float& cost : costs) cost += 5;
  const Costs before = costs;
  const auto channels = tuner.choose(function, bytes, {costs, kProtocols});
  if (!channels) return costs == before ? "declined" : "declined, and changed the costs";
  const auto place = static_cast<std::size_t>(std::ranges::find(costs, 0.0F) - costs.begin());
  return fmt::format("{} {} {}", to_string(static_cast<NcclAlgorithm>(place / kProtocols)),
                     to_string(static_cast<NcclProtocol>(place % kProtocols)), *channels);
}

TEST(TunerTable, ReadsBackWhatItWrote) {
  EXPECT_EQ(decode_tuner(encode_tuner(sample()).value()).value(), sample());
  EXPECT_EQ(decode_tuner(encode_tuner({}).value()).value(), TunerTable());
  EXPECT_EQ(decode_tuner(encode_tuner(sample()).value() + "\n").value(), sample());
}

TEST(TunerTable, IsOneWordThatAShellSlurmAndYamlTakeAsItIs) {
  const auto text = encode_tuner(sample()).value();
  EXPECT_EQ(text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_:/-"), std::string::npos);
  EXPECT_THAT(text, testing::StartsWith("weft-tuner/1:7:all_reduce/16/2/65536/tree/ll/2:"));
}

TEST(TunerTable, CutAnywhereOrChangedAnywhereIsRefused) {
  const auto text = encode_tuner(sample()).value();
  for (std::size_t i = 0; i < text.size(); ++i) {
    EXPECT_NE(refusal(text.substr(0, i)), "") << i;
    auto changed = text;
    changed[i] = changed[i] == '1' ? '2' : '1';
    EXPECT_NE(refusal(changed), "") << i;
  }
}

TEST(TunerTable, RefusesWhatNcclDoesNotKnow) {
  const auto row = [](std::string_view text) {
    return refusal(with_checksum(fmt::format("weft-tuner/1:1:{}:", text)));
  };
  EXPECT_EQ(row("all_reduce/2/2/10/tree/ll/0"), "");
  EXPECT_THAT(row("all_reduce/2/2/10/star/ll/0"), HasSubstr("is no row"));
  EXPECT_THAT(row("all_to_all/2/2/10/tree/ll/0"), HasSubstr("is no row"));
  EXPECT_THAT(row("all_reduce/2/2/-1/tree/ll/0"), HasSubstr("is no row"));
  EXPECT_THAT(row("all_reduce/2/2/10/tree/ll"), HasSubstr("is no row"));
  EXPECT_THAT(row("all_reduce/2/2/10/tree/ll/0/0"), HasSubstr("is no row"));
  EXPECT_THAT(row(""), HasSubstr("is no row"));
  EXPECT_THAT(row("all_reduce/2/2/10/tree/ll/65"), HasSubstr("65 channels"));
  EXPECT_THAT(row("all_reduce/2/3/10/tree/ll/0"), HasSubstr("2 ranks on 3 nodes"));
  EXPECT_THAT(row("all_reduce/1/1/10/tree/ll/0"), HasSubstr("1 ranks"));
  EXPECT_THAT(row("all_reduce/2/2/10/tree/ll/0:all_reduce/2/2/10/ring/ll/0"), HasSubstr("two rows"));
  EXPECT_THAT(row("all_reduce/2/2/20/tree/ll/0:all_reduce/2/2/10/ring/ll/0"), HasSubstr("out of order"));
  EXPECT_THAT(refusal(with_checksum("weft-tuner/2:1:")), HasSubstr("weft-tuner/1"));
  EXPECT_THAT(refusal(with_checksum("weft-tuner/1:x:")), HasSubstr("epoch"));
  EXPECT_THAT(refusal(std::string(100'000, 'x')), HasSubstr("at most 65536"));
  EXPECT_THAT(refusal(""), HasSubstr("no tuner table"));
}

TEST(TunerTable, MoreRowsThanThereMayBeAreRefusedByBothEnds) {
  TunerTable table;
  for (std::size_t i = 0; i <= kMaxTunerRows; ++i)
    table.rows.push_back({NcclFunction::reduce, 2, 1, i, NcclAlgorithm::ring, NcclProtocol::ll, 0});
  EXPECT_FALSE(encode_tuner(table));
  table.rows.pop_back();
  EXPECT_EQ(decode_tuner(encode_tuner(table).value()).value(), table);
}

TEST(CommunicatorTuner, TakesTheFirstRowThatIsLargeEnough) {
  EXPECT_EQ(choice(4, 0), "tree ll 2");
  EXPECT_EQ(choice(4, 65'536), "tree ll 2");
  EXPECT_EQ(choice(4, 65'537), "ring simple 0");
}

TEST(CommunicatorTuner, DeclinesWhatItHasNoRowFor) {
  EXPECT_EQ(choice(2, 10), "declined");
  EXPECT_EQ(choice(5, 10), "declined");
  EXPECT_EQ(choice(std::numeric_limits<std::uint64_t>::max(), 10), "declined");
  Costs costs{};
  EXPECT_FALSE(CommunicatorTuner(sample(), 16, 4).choose(4, 10, {costs, kProtocols}));
  EXPECT_FALSE(CommunicatorTuner(sample(), 32, 4).choose(4, 2000, {costs, kProtocols}));
}

TEST(CommunicatorTuner, LeavesWhatNcclCannotDoHere) {
  for (const float ignored : {-1.0F, std::numeric_limits<float>::quiet_NaN(), -0.5F}) {
    Costs costs{};
    costs[0] = ignored;  // tree, ll
    EXPECT_FALSE(CommunicatorTuner(sample(), 16, 2).choose(4, 10, {costs, kProtocols}));
    EXPECT_TRUE(CommunicatorTuner(sample(), 16, 2).choose(4, 100'000, {costs, kProtocols}));
  }
}

TEST(CommunicatorTuner, NeverWritesOutsideASmallerTableOfCosts) {
  const CommunicatorTuner tuner(sample(), 16, 2);
  std::vector<float> costs(2, 1);  // one algorithm, two protocols: no ring, no simple
  EXPECT_TRUE(tuner.choose(4, 10, {costs, 2}));
  EXPECT_FALSE(tuner.choose(4, 100'000, {costs, 2}));
  EXPECT_FALSE(tuner.choose(4, 10, {{}, 3}));
  EXPECT_FALSE(tuner.choose(4, 10, {{}, 0}));
}

}  // namespace
}  // namespace weft::steer
