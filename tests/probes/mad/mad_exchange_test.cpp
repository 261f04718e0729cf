#include "probes/mad/mad_exchange.hpp"

#include <gtest/gtest.h>

#include "tests/fakes/fake_subnet.hpp"

namespace weft::mad {
namespace {

using fakes::FakeSubnet;
using fakes::Unruliness;
using std::chrono::microseconds;
using std::chrono::milliseconds;

/// Asks our own port `count` times for its NodeInfo and notes how each question ended.
class ManyQuestions : public MadDialogue {
 public:
  explicit ManyQuestions(std::uint64_t count, MadTarget to = DirectedRoute()) : count_(count), to_(to) {}
  std::optional<MadQuestion> next() override {
    if (asked_ == count_) return std::nullopt;
    return MadQuestion{.to = to_, .tag = asked_++};
  }
  void answered(const MadQuestion& question, const MadAnswer& answer) override {
    ++ended[question.tag];
    ++outcomes[answer.outcome];
  }
  std::map<std::uint64_t, int> ended;
  std::map<MadOutcome, std::uint64_t> outcomes;

 private:
  std::uint64_t count_;
  std::uint64_t asked_ = 0;
  MadTarget to_;
};

FakeSubnet unruly(Unruliness how) { return FakeSubnet(fakes::make_subnet(1, 1, 1), how); }

TEST(MadExchange, KeepsItsWindowFullAndNeverMoreThanThat) {
  auto subnet = unruly({.least_delay = microseconds(50), .most_delay = microseconds(50)});
  ManyQuestions dialogue(1000);
  const auto tally = converse(subnet, dialogue, {.window = 16});
  ASSERT_TRUE(tally);
  EXPECT_EQ(tally->sent, 1000u);
  EXPECT_EQ(subnet.most_in_flight, 16u);
  EXPECT_LT(subnet.now(), microseconds(1000 / 16 * 50 + 200)) << "answers were waited for one by one";
}

TEST(MadExchange, EveryQuestionEndsOnceWhenAnswersAreLostLateOvertakenAndDoubled) {
  auto subnet =
      unruly({.drop = 0.2, .repeat = 0.3, .least_delay = microseconds(1), .most_delay = milliseconds(30)});
  ManyQuestions dialogue(2000);
  const auto tally = converse(subnet, dialogue, {.timeout = milliseconds(60), .attempts = 3});
  ASSERT_TRUE(tally);
  EXPECT_EQ(dialogue.ended.size(), 2000u);
  for (const auto& [tag, times] : dialogue.ended) EXPECT_EQ(times, 1) << tag;
  EXPECT_GT(tally->sent, 2200u);
  EXPECT_GT(tally->stray, 300u);
  EXPECT_LT(dialogue.outcomes[MadOutcome::silent], 80u);  // .2 cubed is 16 in 2,000, late ones a few more
}

TEST(MadExchange, AnAnswerToAnEarlierAttemptCounts) {
  auto subnet = unruly({.least_delay = milliseconds(70), .most_delay = milliseconds(70)});
  ManyQuestions dialogue(1);
  const auto tally = converse(subnet, dialogue, {.timeout = milliseconds(150), .attempts = 3});
  ASSERT_TRUE(tally);
  EXPECT_EQ(dialogue.outcomes[MadOutcome::answered], 1u);
  EXPECT_EQ(tally->sent, 2u);  // the second went out at 50 ms; the first was answered at 70
}

TEST(MadExchange, ASilentNodeCostsOneTimeoutHoweverOftenItIsAsked) {
  auto subnet = unruly({});
  subnet.silent.insert(Guid(0x2001));
  ManyQuestions dialogue(50, DirectedRoute().then(1));
  const auto tally = converse(subnet, dialogue, {.timeout = milliseconds(300), .attempts = 3});
  ASSERT_TRUE(tally);
  EXPECT_EQ(tally->silent, 50u);
  EXPECT_EQ(tally->sent, 150u);
  EXPECT_LE(subnet.now(), milliseconds(301));
}

TEST(MadExchange, AReportOfAnUndeliveredMadIsAskedAgainAtOnce) {
  auto subnet = unruly({.drop = 0.3, .reports_undelivered = true});
  ManyQuestions dialogue(500);
  const auto tally = converse(subnet, dialogue, {.timeout = milliseconds(300), .attempts = 7});
  ASSERT_TRUE(tally);
  EXPECT_EQ(dialogue.outcomes[MadOutcome::answered], 500u);
  EXPECT_LT(subnet.now(), milliseconds(100)) << "waited for timeouts";
}

TEST(MadExchange, ARefusalIsNoSilence) {
  auto subnet = unruly({});
  class Refused : public ManyQuestions {
   public:
    Refused() : ManyQuestions(1) {}
    std::optional<MadQuestion> next() override {
      auto question = ManyQuestions::next();
      if (question) question->attribute = MadAttribute::switch_info;  // of an adapter
      return question;
    }
  } dialogue;
  const auto tally = converse(subnet, dialogue);
  ASSERT_TRUE(tally);
  EXPECT_EQ(dialogue.outcomes[MadOutcome::refused], 1u);
  EXPECT_EQ(tally->sent, 1u);
}

/// How often a dialogue of so many questions, all out at once, lets its answers gather.
std::uint64_t gathered(std::uint64_t questions, Nanoseconds most_delay) {
  auto subnet = unruly({.least_delay = microseconds(50), .most_delay = most_delay});
  ManyQuestions dialogue(questions);
  EXPECT_TRUE(converse(subnet, dialogue, {.window = 64}));
  return subnet.gathered;
}

TEST(MadExchange, LetsAnswersGatherOnlyWhileMoreThanHalfItsWindowIsOut) {
  EXPECT_EQ(gathered(32, milliseconds(1)), 0u);
  EXPECT_EQ(gathered(33, microseconds(50)), 1u) << "before the first; then it is busy no more";
}

TEST(MadExchange, WhileItIsBusyWaitsAFewMomentsForTheNextAnswer) {
  // Of 64 answers, none at the same time, 32 come while it is busy: one moment before each, four after.
  EXPECT_GT(gathered(64, milliseconds(100)), 3u * 32);
}

TEST(MadExchange, AStopRequestEndsItEarly) {
  auto subnet = unruly({});
  std::stop_source stop;
  stop.request_stop();
  ManyQuestions dialogue(10);
  ASSERT_TRUE(converse(subnet, dialogue, {}, stop.get_token()));
  EXPECT_TRUE(dialogue.ended.empty());
}

}  // namespace
}  // namespace weft::mad
