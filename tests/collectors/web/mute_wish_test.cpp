#include "collectors/web/mute_wish.hpp"

#include <gtest/gtest.h>

namespace weft::web {
namespace {

using namespace std::chrono_literals;

TEST(MuteWish, IsReadWithWhatMayBeLeftOut) {
  const auto least = parse_mute_wish(R"({"place":"leaf1--spine2","minutes":60,"reason":"new cable"})");
  ASSERT_TRUE(least) << least.error().message;
  EXPECT_EQ(least->place, "leaf1--spine2");
  EXPECT_EQ(least->length, 60min);
  EXPECT_EQ(least->reason, "new cable");
  EXPECT_EQ(least->who, "live page");
  EXPECT_EQ(least->after, 0min);
  const auto whole =
      parse_mute_wish(R"({"place":"leaf1","minutes":1,"reason":"r","who":"operator","in":30})");
  ASSERT_TRUE(whole) << whole.error().message;
  EXPECT_EQ(whole->who, "operator");
  EXPECT_EQ(whole->after, 30min);
}

TEST(MuteWish, LastsAMinuteToNinetyDays) {
  const auto lasts = [](const std::string& minutes) {
    return parse_mute_wish(R"({"place":"leaf1","reason":"r","minutes":)" + minutes + "}").has_value();
  };
  EXPECT_TRUE(lasts("1"));
  EXPECT_TRUE(lasts("129600"));
  for (const char* wrong : {"0", "129601", "-1", "1.5", "\"60\"", "null", "18446744073709551616"})
    EXPECT_FALSE(lasts(wrong)) << wrong;
}

TEST(MuteWish, WithoutAPlaceAReasonOrATimeIsRefused) {
  for (const char* wrong :
       {"", "[]", "null", R"({"minutes":60,"reason":"r"})", R"({"place":"leaf1","reason":"r"})",
        R"({"place":"leaf1","minutes":60})", R"({"place":"","minutes":60,"reason":"r"})",
        R"({"place":"leaf1","minutes":60,"reason":""})", R"({"place":"leaf1","minutes":60,"reason":7})",
        R"({"place":"leaf1","minutes":60,"reason":"r","who":""})",
        R"({"place":"leaf1","minutes":60,"reason":"r","in":129601})"})
    EXPECT_FALSE(parse_mute_wish(wrong)) << wrong;
}

TEST(MuteWish, OfTextsAndDepthWithoutEndIsRefused) {
  const auto with_reason = [](std::size_t bytes) {
    return parse_mute_wish(R"({"place":"leaf1","minutes":60,"reason":")" + std::string(bytes, 'x') + "\"}")
        .has_value();
  };
  EXPECT_TRUE(with_reason(200));
  EXPECT_FALSE(with_reason(201));
  EXPECT_FALSE(with_reason(10'000));
  EXPECT_FALSE(parse_mute_wish(R"({"place":"leaf1","minutes":60,"reason":"r","more":[[[[1]]]]})"));
}

TEST(IsBearer, TakesTheTokenAloneAndInThatSchemeAlone) {
  EXPECT_TRUE(is_bearer("Bearer s3cret", "s3cret"));
  for (const char* wrong : {"", "s3cret", "Bearer ", "Bearer s3cre", "Bearer s3cret ", "Bearer s3creT",
                            "bearer s3cret", "Basic s3cret", "Bearer  s3cret"})
    EXPECT_FALSE(is_bearer(wrong, "s3cret")) << wrong;
}

TEST(IsBearer, NobodyHasAnEmptyToken) { EXPECT_FALSE(is_bearer("Bearer ", "")); }

}  // namespace
}  // namespace weft::web
