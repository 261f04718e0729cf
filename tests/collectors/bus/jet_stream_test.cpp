// What a JetStream server answers, read; and windows under way.
#include "collectors/bus/jet_stream.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "collectors/bus/under_way.hpp"

namespace weft::bus {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using watch::MessageId;

TEST(JetStream, AnAcknowledgementSaysWhereAMessageIsKept) {
  const auto ack = read_ack(R"({"stream":"WEFT_OBS", "seq":5, "duplicate": true})");
  ASSERT_TRUE(ack);
  EXPECT_EQ(ack->stream, "WEFT_OBS");
  EXPECT_EQ(ack->sequence, 5u);
  EXPECT_TRUE(ack->duplicate);
}

TEST(JetStream, ARefusalSaysWhatToDo) {
  const auto conflict = read_ack(R"({"error":{"err_code":10071,"description":"wrong last sequence: 4"}})");
  ASSERT_FALSE(conflict);
  EXPECT_EQ(conflict.error().kind, ErrorKind::conflict);
  const auto full = read_ack(R"({"error":{"err_code":10047,"description":"insufficient storage"}})");
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().kind, ErrorKind::absent);
  EXPECT_THAT(full.error().message, HasSubstr("max_file_store"));
  for (const auto* answer :
       {"", "x", "[]", "5", R"({"error":5})", R"({"error":{"description":"\u001b[2J"}})"}) {
    const auto refused = read_ack(answer);
    ASSERT_FALSE(refused) << answer;
    EXPECT_EQ(refused.error().message.find('\x1b'), std::string::npos);
  }
}

TEST(JetStream, AMessageSaysWhereItStands) {
  const auto at = read_pulled_at("$JS.ACK.WEFT_OBS.abc.1.70.3.1790000000000000000.12");
  ASSERT_TRUE(at);
  EXPECT_EQ(at->sequence, 70u);
  EXPECT_EQ(at->count, 3u);
  EXPECT_EQ(at->pending, 12u);
  const auto of_domain =
      read_pulled_at("$JS.ACK.hub.account.WEFT_OBS.abc.1.70.3.1790000000000000000.12.token");
  ASSERT_TRUE(of_domain);
  EXPECT_EQ(of_domain->sequence, 70u);
  for (const auto* bad : {"", "$JS.ACK", "weft.obs.a.b", "$JS.ACK.S.C.1.x.3.4.5", "$JS.ACK.S.C.1..3.4.5",
                          "$JS.ACK.S.C.1.2.3.4", "$JS.ACK.S.C.1.99999999999999999999999.3.4.5"})
    EXPECT_FALSE(read_pulled_at(bad)) << bad;
}

constexpr MessageId kOne{7, 1};
constexpr MessageId kTwo{7, 2};

TEST(UnderWay, TellsWhatWasAcknowledgedOnceAndWhatFailed) {
  UnderWay sent(UnderWay::Limits{});
  const auto one = sent.add(kOne, 100, 0s);
  const auto two = sent.add(kTwo, 100, 0s);
  ASSERT_TRUE(one && two);
  sent.answer(*one, true);
  sent.answer(*one, true);
  sent.answer(*two, false);
  sent.answer(1234, true);
  EXPECT_THAT(sent.acknowledged(), ElementsAre(kOne));
  EXPECT_THAT(sent.acknowledged(), IsEmpty());
  EXPECT_THAT(sent.failed(0s), ElementsAre(kTwo));
  EXPECT_THAT(sent.failed(100s), IsEmpty());
}

TEST(UnderWay, WhatIsNotAnsweredInTimeHasFailed) {
  UnderWay sent({.time = 5s});
  ASSERT_TRUE(sent.add(kOne, 100, 0s));
  const auto two = sent.add(kTwo, 100, 3s);
  ASSERT_TRUE(two);
  EXPECT_THAT(sent.failed(4999ms), IsEmpty());
  EXPECT_THAT(sent.failed(5s), ElementsAre(kOne));
  sent.answer(*two, true);
  EXPECT_THAT(sent.failed(9s), IsEmpty());
}

TEST(UnderWay, IsBoundedByNumberAndBytes) {
  UnderWay few({.windows = 2});
  ASSERT_TRUE(few.add(kOne, 1, 0s) && few.add(kTwo, 1, 0s));
  const auto refused = few.add({7, 3}, 1, 0s);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::conflict);
  few.lose_all();
  EXPECT_THAT(few.failed(0s), ElementsAre(kOne, kTwo));
  EXPECT_TRUE(few.add({7, 3}, 1, 0s));
  UnderWay light({.bytes = 100});
  EXPECT_TRUE(light.add(kOne, 500, 0s)) << "one goes always, or it would never go";
  EXPECT_FALSE(light.add(kTwo, 1, 0s));
}

TEST(UnderWay, WhatWasNotSentAfterAllIsNotTold) {
  UnderWay sent(UnderWay::Limits{});
  sent.take_back(sent.add(kOne, 100, 0s).value());
  EXPECT_THAT(sent.acknowledged(), IsEmpty());
  EXPECT_THAT(sent.failed(100s), IsEmpty());
}

}  // namespace
}  // namespace weft::bus
