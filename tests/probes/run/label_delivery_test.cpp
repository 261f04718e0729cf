// An operator's end of giving labels to hosts: who is asked, given and given up, and when.
#include "probes/run/label_delivery.hpp"

#include <gtest/gtest.h>

#include "probes/watch/label_messages.hpp"

namespace weft::run {
namespace {

using namespace std::chrono_literals;

const IpAddress kNic{IpAddress::V4{10, 0, 0, 1}};

steer::LabelList labels() {
  return {.pairs = {{steer::gid_of(kNic),
                     steer::gid_of(IpAddress(IpAddress::V4{10, 0, 0, 2})),
                     std::nullopt,
                     steer::Role::sends,
                     {PathLabel(50'000)}}}};
}

watch::LabelRequest request_in(const LabelDelivery::Message& message) {
  return watch::decode_request(message.bytes).value();
}
watch::AgentWord answer(const std::string& host, std::uint64_t id, std::uint64_t generation,
                        std::string refused = {}) {
  return {host, watch::answer_text({.id = id, .generation = generation, .refused = std::move(refused)})};
}

struct OneHost {
  LabelDelivery delivery{{{"a", labels()}}, 100, {.again = 1s, .asked = 5s, .given = 10s}, 0s};
  HostDelivery outcome() const { return delivery.outcomes().at(0); }
};

TEST(LabelDelivery, AsksThenGivesTheNextListThenIsOver) {
  OneHost one;
  const auto asked = one.delivery.due(0s);
  ASSERT_EQ(asked.size(), 1u);
  EXPECT_EQ(asked[0].host, "a");
  EXPECT_TRUE(request_in(asked[0]).list.empty());
  EXPECT_TRUE(one.delivery.due(500ms).empty());
  one.delivery.take(answer("a", request_in(asked[0]).id, 41), 600ms);
  const auto given = one.delivery.due(600ms);
  ASSERT_EQ(given.size(), 1u);
  auto wanted = labels();
  wanted.generation = 42;
  EXPECT_EQ(steer::decode_labels(request_in(given[0]).list).value(), wanted);
  EXPECT_NE(request_in(given[0]).id, request_in(asked[0]).id);
  EXPECT_FALSE(one.delivery.is_over());
  one.delivery.take(answer("a", request_in(given[0]).id, 42), 700ms);
  EXPECT_TRUE(one.delivery.is_over());
  EXPECT_TRUE(one.delivery.due(5s).empty());
  EXPECT_EQ(one.outcome().what, Delivery::taken);
  EXPECT_EQ(one.outcome().generation, 42u);
}

TEST(LabelDelivery, SendsAgainAndGivesUpWhereNobodyAnswers) {
  OneHost one;
  const auto first = one.delivery.due(0s);
  const auto second = one.delivery.due(1s);
  ASSERT_EQ(second.size(), 1u);
  EXPECT_EQ(second[0].bytes, first[0].bytes) << "the same request, which an agent knows again";
  EXPECT_TRUE(one.delivery.due(5s).empty());
  EXPECT_TRUE(one.delivery.is_over());
  EXPECT_EQ(one.outcome().what, Delivery::no_agent);
}

TEST(LabelDelivery, WhatBecameOfAListThatNobodyAnsweredIsNotKnown) {
  OneHost one;
  one.delivery.take(answer("a", request_in(one.delivery.due(0s).at(0)).id, 0), 4s);
  EXPECT_EQ(one.delivery.due(4s).size(), 1u);
  EXPECT_EQ(one.delivery.due(13s).size(), 1u) << "ten seconds from when it was given";
  EXPECT_TRUE(one.delivery.due(14s).empty());
  EXPECT_TRUE(one.delivery.is_over());
  EXPECT_EQ(one.outcome().what, Delivery::unanswered);
}

TEST(LabelDelivery, ARefusalIsTheEnd) {
  OneHost one;
  one.delivery.take(answer("a", request_in(one.delivery.due(0s).at(0)).id, 0, "no directory"), 1s);
  EXPECT_TRUE(one.delivery.is_over());
  EXPECT_EQ(one.outcome().what, Delivery::refused);
  EXPECT_EQ(one.outcome().why, "no directory");
}

TEST(LabelDelivery, PassesOverWhatAnswersNothingOfIts) {
  OneHost one;
  const auto id = request_in(one.delivery.due(0s).at(0)).id;
  one.delivery.take(answer("b", id, 3), 1s);      // another host, in its own name
  one.delivery.take(answer("a", id + 1, 3), 1s);  // of another operator, or before it is asked
  one.delivery.take({"a", "{\"stream\":\"x\"}"}, 1s);
  one.delivery.take(answer("a", id, 3, "\x1b"), 1s);  // shown as an escape: a refusal
  EXPECT_EQ(one.outcome().what, Delivery::refused);
  EXPECT_EQ(one.outcome().why, "\\x1b");
}

TEST(LabelDelivery, AHostThatClaimsTheLastNumberHoldsUpItselfAlone) {
  LabelDelivery delivery({{"a", labels()}, {"b", labels()}}, 100, {}, 0s);
  const auto asked = delivery.due(0s);
  ASSERT_EQ(asked.size(), 2u);
  delivery.take(answer("a", request_in(asked[0]).id, ~std::uint64_t{0}), 1s);
  delivery.take(answer("b", request_in(asked[1]).id, 5), 1s);
  const auto given = delivery.due(1s);
  ASSERT_EQ(given.size(), 1u);
  EXPECT_EQ(steer::decode_labels(request_in(given[0]).list)->generation, 6u);
  EXPECT_EQ(delivery.outcomes()[0].what, Delivery::refused);
}

}  // namespace
}  // namespace weft::run
