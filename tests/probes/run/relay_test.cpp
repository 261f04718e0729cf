// The words between a head and its relays.
#include "probes/run/relay.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weft::run {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;

RelayOrder an_order() {
  return {"ssh -l root {host}",
          seconds(20),
          1000,
          {{"gpu1", {"/usr/bin/weft", "agent", "it's"}, "login:secret\n"}, {"gpu2", {"weft"}}}};
}

std::string line_of(std::size_t host, HostAnswer answer) {
  return relayed_answer_line({host, std::move(answer)}) + "\n";
}

TEST(Relay, AnOrderIsReadAsItWasWritten) {
  const auto read = read_relay_order(relay_order_text(an_order()));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, an_order());
}

TEST(Relay, AnOrderThatIsNoneIsRefused) {
  EXPECT_FALSE(read_relay_order(""));
  EXPECT_FALSE(read_relay_order("{}"));
  auto option = an_order();
  option.hosts[1].host = "-oProxyCommand=x";
  EXPECT_FALSE(read_relay_order(relay_order_text(option)));
  auto nothing = an_order();
  nothing.hosts[0].argv.clear();
  EXPECT_FALSE(read_relay_order(relay_order_text(nothing)));
  auto many = an_order();
  many.hosts.resize(kMaxBranch + 1, many.hosts[1]);
  EXPECT_FALSE(read_relay_order(relay_order_text(many)));
}

TEST(Relay, AnAnswerArrivesByTheHeadsClock) {
  RelayLines lines(2, 1000);
  HostAnswer answer{.output = "{}\n", .errors = "a warning\n", .exit_code = 3};
  answer.asked = seconds(7);
  answer.answered = seconds(9);
  const auto told = lines.take("\n" + line_of(1, answer), seconds(1000));
  ASSERT_EQ(told.size(), 1u) << lines.broken()->message;
  const HostAnswer& read = told.front().answer;
  EXPECT_EQ(told.front().host, 1u);
  EXPECT_EQ(read.output, "{}\n");
  EXPECT_EQ(read.errors, "a warning\n");
  EXPECT_EQ(read.exit_code, 3);
  EXPECT_EQ(read.asked, Nanoseconds(seconds(998)));
  EXPECT_EQ(read.answered, Nanoseconds(seconds(1000)));
  EXPECT_THAT(lines.untold(), ElementsAre(0u));
}

TEST(Relay, LinesMayComeInPieces) {
  RelayLines lines(1, 1000);
  const auto text = line_of(0, {.output = "yes", .exit_code = 0});
  std::size_t told = 0;
  for (const char c : text) told += lines.take(std::string(1, c), seconds(1)).size();
  EXPECT_EQ(told, 1u);
  EXPECT_TRUE(lines.untold().empty());
}

TEST(Relay, IsBelievedNothingOfHostsThatAreNotItsOwn) {
  const auto is_broken_by = [](const std::string& said) {
    RelayLines lines(2, 1000);
    EXPECT_TRUE(lines.take(said, seconds(1)).empty()) << said;
    return lines.broken().has_value();
  };
  EXPECT_TRUE(is_broken_by(line_of(2, {.exit_code = 0})));
  EXPECT_TRUE(is_broken_by("Welcome to gpu1!\n"));
  EXPECT_TRUE(is_broken_by(line_of(0, {.output = std::string(1001, 'x')})));
  RelayLines lines(2, 1000);
  const auto told = lines.take(line_of(1, {.exit_code = 0}) + line_of(1, {.exit_code = 0}), seconds(1));
  EXPECT_EQ(told.size(), 1u) << "what came before stands";
  EXPECT_TRUE(lines.broken());
  EXPECT_TRUE(lines.take(line_of(0, {.exit_code = 0}), seconds(1)).empty()) << "nothing more is believed";
  EXPECT_THAT(lines.untold(), ElementsAre(0u));
}

TEST(Relay, ALineWithoutEndIsGivenUp) {
  RelayLines lines(1, 1000);
  const std::string block(100'000, 'x');
  int blocks = 0;
  for (; blocks < 100 && !lines.broken(); ++blocks) lines.take(block, seconds(1));
  EXPECT_LT(blocks, 10);
}

TEST(Relay, OfAnAnswerThatIsTooLongItSendsTheBeginning) {
  RelayLines lines(1, 5000);
  const auto told = lines.take(
      line_of(0, {.output = std::string(6000, 'x'), .exit_code = 0, .too_long = true}), seconds(1));
  ASSERT_EQ(told.size(), 1u) << lines.broken()->message;
  EXPECT_TRUE(told.front().answer.too_long);
  EXPECT_FALSE(told.front().answer.output.empty());
}

TEST(Relay, BytesOfAnyKindTravel) {
  RelayLines lines(1, 1000);
  const auto told = lines.take(line_of(0, {.output = "\xff\x1b[2J", .exit_code = 0}), seconds(1));
  ASSERT_EQ(told.size(), 1u) << lines.broken()->message;
  EXPECT_THAT(told.front().answer.output, HasSubstr("[2J"));
}

TEST(Relay, DidNotReachAHostWhoseLoginFailed) {
  EXPECT_TRUE(was_reached({.exit_code = 0}));
  EXPECT_TRUE(was_reached({.exit_code = 64}));
  EXPECT_TRUE(was_reached({})) << "ended by a signal";
  EXPECT_FALSE(was_reached({.exit_code = 255})) << "ssh without a key";
  EXPECT_FALSE(was_reached({.exit_code = 127}));
  EXPECT_FALSE(was_reached({.exit_code = std::nullopt, .in_time = false}));
  EXPECT_FALSE(was_reached({.not_started = Error{ErrorKind::absent, "no ssh"}}));
}

TEST(Relay, AsManyRelaysAsEachHasHosts) {
  EXPECT_EQ(usual_branch(3072), 56u);
  EXPECT_EQ(usual_branch(1), 1u);
  EXPECT_EQ(usual_branch(0), 1u);
  EXPECT_EQ(usual_branch(1'000'000), kMaxBranch);
}

}  // namespace
}  // namespace weft::run
