#include "balancer/tune/timed_choices.hpp"

#include <gmock/gmock.h>

#include <random>

namespace weft::tune {
namespace {

using steer::NcclAlgorithm;
using steer::NcclFunction;
using steer::NcclProtocol;
using steer::TunerRow;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr CommunicatorSize kSize{16, 2};

TimedChoice ring(NcclProtocol protocol, std::map<std::uint64_t, double> seconds) {
  return {NcclFunction::all_reduce, NcclAlgorithm::ring, protocol, 0, std::move(seconds)};
}

TimedChoice nvls(std::map<std::uint64_t, double> seconds) {
  return {NcclFunction::all_reduce, NcclAlgorithm::nvls, NcclProtocol::simple, 0, std::move(seconds)};
}

TunerRow row(std::uint64_t up_to, NcclAlgorithm algorithm, NcclProtocol protocol) {
  return {NcclFunction::all_reduce, kSize.ranks, kSize.nodes, up_to, algorithm, protocol, 0};
}

std::vector<TunerRow> rows_of(std::vector<TimedChoice> timed) { return timed_rows(timed, kSize).value(); }

std::string refusal(std::vector<TimedChoice> timed) {
  const auto rows = timed_rows(timed, kSize);
  return rows ? "" : rows.error().message;
}

TEST(TimedChoices, ChangeWhereTheirTimesCross) {
  // At 1,024 bytes 10 to 30, at 3,072 bytes 50 to 30: they cross in the middle.
  EXPECT_THAT(rows_of({ring(NcclProtocol::ll128, {{1024, 10}, {3072, 50}}), nvls({{1024, 30}, {3072, 30}})}),
              ElementsAre(row(2048, NcclAlgorithm::ring, NcclProtocol::ll128),
                          row(3072, NcclAlgorithm::nvls, NcclProtocol::simple)));
}

TEST(TimedChoices, OneThatIsQuickestAtAllSizesIsOneRow) {
  EXPECT_THAT(rows_of({ring(NcclProtocol::ll, {{8, 9}, {1024, 9}}), nvls({{8, 1}, {512, 5}, {1024, 8}})}),
              ElementsAre(row(1024, NcclAlgorithm::nvls, NcclProtocol::simple)));
}

TEST(TimedChoices, ArePassedOverBeyondTheSizesThatTheyWereMeasuredAt) {
  // LL128 is quicker as far as it was measured.
  EXPECT_THAT(rows_of({ring(NcclProtocol::ll128, {{8, 1}, {64, 1}}),
                       ring(NcclProtocol::simple, {{8, 2}, {64, 2}, {4096, 3}})}),
              ElementsAre(row(64, NcclAlgorithm::ring, NcclProtocol::ll128),
                          row(4096, NcclAlgorithm::ring, NcclProtocol::simple)));
  EXPECT_THAT(rows_of({ring(NcclProtocol::ll, {{8, 2}, {4096, 9}}), nvls({{2048, 1}, {4096, 1}})}),
              ElementsAre(row(2047, NcclAlgorithm::ring, NcclProtocol::ll),
                          row(4096, NcclAlgorithm::nvls, NcclProtocol::simple)));
}

TEST(TimedChoices, AreOfAnyCollectiveWithTheirChannels) {
  const TimedChoice pat{NcclFunction::all_gather, NcclAlgorithm::pat, NcclProtocol::simple, 0, {{1024, 1}}};
  const TimedChoice few{NcclFunction::all_gather, NcclAlgorithm::ring, NcclProtocol::simple, 4, {{1024, 2}}};
  TimedChoice many = few;
  many.channels = 8;
  many.seconds = {{1024, 0.5}};
  EXPECT_THAT(rows_of({pat, few, many}), ElementsAre(TunerRow{NcclFunction::all_gather, 16, 2, 1024,
                                                              NcclAlgorithm::ring, NcclProtocol::simple, 8}));
}

TEST(TimedChoices, RefuseWhatSaysNothingOfTheQuickest) {
  EXPECT_THAT(refusal({nvls({{8, 1}})}), HasSubstr("nvls/simple alone"));
  EXPECT_THAT(refusal({nvls({{8, 1}}), nvls({{8, 2}})}), HasSubstr("timed twice"));
  EXPECT_THAT(refusal({nvls({{1 << 20, 1}}), ring(NcclProtocol::ll, {{1 << 20, 1}})}),
              HasSubstr("from 1048576 bytes on"));
  EXPECT_EQ(rows_of({}), std::vector<TunerRow>{});
}

TEST(TimedChoices, AreTheQuickestAtEverySizeThatWasMeasured) {
  std::mt19937 random(7);
  for (int turn = 0; turn < 200; ++turn) {
    std::vector<TimedChoice> timed;
    for (const auto protocol : {NcclProtocol::ll, NcclProtocol::ll128, NcclProtocol::simple}) {
      timed.push_back(ring(protocol, {}));
      for (std::uint64_t bytes = 8; bytes < 1 << 20; bytes *= 2)
        if (bytes == 8 || random() % 4 != 0)
          timed.back().seconds[bytes] = 1 + static_cast<double>(random() % 1000);
    }
    const auto rows = rows_of(timed);
    ASSERT_TRUE(steer::encode_tuner({1, rows}).has_value());
    for (const TimedChoice& one : timed)
      for (const auto& [bytes, seconds] : one.seconds) {
        const auto taken = std::ranges::lower_bound(rows, bytes, {}, &TunerRow::up_to);
        ASSERT_NE(taken, rows.end());
        const auto by = std::ranges::find(timed, taken->protocol, &TimedChoice::protocol);
        const auto measured = by->seconds.find(bytes);
        if (measured != by->seconds.end()) {
          EXPECT_LE(measured->second, seconds) << bytes;
        }
      }
  }
}

}  // namespace
}  // namespace weft::tune
