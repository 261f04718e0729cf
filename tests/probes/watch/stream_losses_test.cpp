#include "probes/watch/stream_losses.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weft::watch {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// A stream whose last echo said `known`.
class Stream {
 public:
  explicit Stream(std::uint16_t known) { answer(known); }
  void lose(std::initializer_list<std::uint64_t> numbers) {
    for (const std::uint64_t number : numbers) losses_.lost(number);
  }
  std::vector<SettledProbe> answer(std::uint16_t count, const std::vector<std::uint16_t>& later = {}) {
    std::vector<SettledProbe> settled;
    losses_.answered(count, later, settled);
    return settled;
  }

 private:
  StreamLosses losses_;
};

TEST(StreamLosses, AProbeThatTheResponderDidNotCountWasLostOnTheWayThere) {
  Stream stream(10);
  stream.lose({40});
  EXPECT_THAT(stream.answer(11), ElementsAre(SettledProbe{40, LostWay::there}));
}

TEST(StreamLosses, AProbeThatItCountedWasLostOnTheWayBack) {
  Stream stream(10);
  stream.lose({40});
  EXPECT_THAT(stream.answer(12), ElementsAre(SettledProbe{40, LostWay::back}));
}

TEST(StreamLosses, OfSeveralTheFirstAreTakenForThoseThatDidNotCome) {
  Stream stream(10);
  stream.lose({40, 42, 44});
  EXPECT_THAT(stream.answer(12),
              ElementsAre(SettledProbe{40, LostWay::there}, SettledProbe{42, LostWay::there},
                          SettledProbe{44, LostWay::back}));
  EXPECT_THAT(stream.answer(13), IsEmpty()) << "each is settled once";
}

TEST(StreamLosses, ACountThatWrapsGoesOn) {
  Stream stream(65'535);
  stream.lose({40});
  EXPECT_THAT(stream.answer(1), ElementsAre(SettledProbe{40, LostWay::back}));
}

TEST(StreamLosses, BeforeTheFirstEchoAreOpenForThereIsNothingToCompareWith) {
  StreamLosses losses;
  std::vector<SettledProbe> settled;
  losses.lost(40);
  losses.answered(7, {}, settled);
  EXPECT_THAT(settled, IsEmpty());
}

TEST(StreamLosses, TheEchoOfAProbeThatWasOvertakenSettlesNothingTheNextOneDoes) {
  Stream stream(10);
  stream.lose({40});
  EXPECT_THAT(stream.answer(9), IsEmpty());
  EXPECT_THAT(stream.answer(11), ElementsAre(SettledProbe{40, LostWay::there}));
}

TEST(StreamLosses, AProbeThatWasCountedAfterALaterOneIsNoLossOnTheWayBack) {
  Stream stream(10);
  stream.lose({40});
  const std::vector<std::uint16_t> later{11};  // the echo of a later probe, which overtook this one
  EXPECT_THAT(stream.answer(12, later), ElementsAre(SettledProbe{40, LostWay::there}));
}

TEST(StreamLosses, WhereThePeerBeganAnewTheyStayOpenAndItsNewCountHoldsFromThenOn) {
  Stream stream(1000);
  stream.lose({40});
  EXPECT_THAT(stream.answer(3), IsEmpty());
  stream.lose({50});
  EXPECT_THAT(stream.answer(5), ElementsAre(SettledProbe{50, LostWay::back}));
}

TEST(StreamLosses, ACountThatGrewByMoreThanWasLostSettlesNothing) {
  Stream stream(10);
  stream.lose({40});
  EXPECT_THAT(stream.answer(13), IsEmpty()) << "two more than were sent";
}

TEST(StreamLosses, OfMoreThanAreKeptNoneIsSettled) {
  Stream stream(10);
  for (std::uint64_t number = 0; number <= StreamLosses::kMaxUnsettled; ++number) stream.lose({number});
  EXPECT_THAT(stream.answer(20), IsEmpty());
  stream.lose({900});
  EXPECT_THAT(stream.answer(21), ElementsAre(SettledProbe{900, LostWay::there}));
}

}  // namespace
}  // namespace weft::watch
