#include "topology/base/json_limits.hpp"

#include <gtest/gtest.h>

namespace weft {
namespace {

constexpr JsonLimits kLimits{.bytes = 100, .depth = 3, .values = 10};

TEST(JsonLimits, WhatIsWithinThemPasses) {
  for (const char* text :
       {"", "0", "[[[]]]", R"({"a":{"b":[1,2]}})", "[],[],[],[],[]", "[1,2,3,4,5,6,7,8,9]"})
    EXPECT_TRUE(check_json_limits(text, kLimits)) << text;
}

TEST(JsonLimits, EachIsRefusedOneBeyondIt) {
  EXPECT_FALSE(check_json_limits(std::string(101, ' '), kLimits));
  EXPECT_FALSE(check_json_limits("[[[[]]]]", kLimits));
  EXPECT_FALSE(check_json_limits("[[{\"a\":[1]}]]", kLimits));
  EXPECT_FALSE(check_json_limits("[1,2,3,4,5,6,7,8,9,10]", kLimits));
  EXPECT_FALSE(check_json_limits("{\"a\":1,\"b\":1,\"c\":1,\"d\":1,\"e\":1}", kLimits)) << "names count";
}

TEST(JsonLimits, WhatStandsInAStringDoesNotCount) {
  EXPECT_TRUE(check_json_limits(R"(["[[[[[[[[,,,,,,,,,,,,:::::"])", kLimits));
  EXPECT_TRUE(check_json_limits(R"(["\"[[[[[[[["])", kLimits)) << "a quotation mark of the text";
  EXPECT_FALSE(check_json_limits(R"(["\\",[[[[]]]]])", kLimits)) << "a backslash of the text ends with it";
}

TEST(JsonLimits, ClosingWhatIsNotOpenMakesNoRoom) {
  EXPECT_FALSE(check_json_limits("]]]][[[[", kLimits));
  EXPECT_TRUE(check_json_limits("]]]][[[", kLimits));
}

}  // namespace
}  // namespace weft
