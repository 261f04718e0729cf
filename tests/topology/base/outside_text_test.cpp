#include "topology/base/outside_text.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <nlohmann/json.hpp>

namespace weft {
namespace {

TEST(OutsideText, WhatSteersATerminalBecomesVisible) {
  EXPECT_EQ(outside_text("\x1b[2Jhealthy\r\n"), "\\x1b[2Jhealthy\\x0d\\x0a");
  EXPECT_EQ(outside_text(std::string("a\0b\x7f", 4)), "a\\x00b\\x7f");
  EXPECT_EQ(outside_text("\xc2\x9b"
                         "31m"),
            "\\u009b31m")
      << "CSI as one C1 character";
}

TEST(OutsideText, DirectionMarksAndSeparatorsBecomeVisible) {
  EXPECT_EQ(outside_text("a\u202eb\u2066c\u2069\u200e\u200f\u061c"),
            "a\\u202eb\\u2066c\\u2069\\u200e\\u200f\\u061c");
  EXPECT_EQ(outside_text("a\u2028b\u2029"), "a\\u2028b\\u2029");
}

TEST(OutsideText, OtherUtf8Stays) {
  for (const char* text : {"leaf1", "Rückgrat", "ファブリック", "\U0001F9F5 \u200d", "\xc2\xa0", "C:\\x1b"})
    EXPECT_EQ(outside_text(text), text);
}

TEST(OutsideText, WhatIsNoUtf8BecomesVisible) {
  EXPECT_EQ(outside_text("\xff\xc3(\xe2\x82"), "\\xff\\xc3(\\xe2\\x82");
  EXPECT_EQ(outside_text("\xc0\xaf"), "\\xc0\\xaf") << "overlong";
  EXPECT_EQ(outside_text("\xed\xa0\x80"), "\\xed\\xa0\\x80") << "a surrogate";
  EXPECT_EQ(outside_text("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80") << "beyond Unicode";
}

TEST(OutsideText, LineFeedsStayWhereAsked) {
  EXPECT_EQ(outside_text("a\nb\r\x1b", LineBreaks::kept), "a\nb\\x0d\\x1b");
}

bool holds_nothing_harmful(const std::string& text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (c < 0x20 || c == 0x7F) return false;
  }
  for (const char* mark :
       {"\u202a", "\u202b", "\u202c", "\u202d", "\u202e", "\u2066", "\u2067", "\u2068", "\u2069", "\u200e",
        "\u200f", "\u061c", "\u2028", "\u2029", "\xc2\x80", "\xc2\x9f"})
    if (text.find(mark) != std::string::npos) return false;
  return true;
}

/// Bytes that meet the interesting cases often: marks, pieces of characters, plain text.
rc::Gen<std::string> hostile() {
  const auto piece = rc::gen::element<std::string>("a", "\x1b", "\u202e", "\u2068", "\xe2\x80", "\xaa", "\n",
                                                   "\xc2", "\x9b", "\u061c", "é", "\u2029", "\\", "\xff");
  return rc::gen::map(rc::gen::container<std::vector<std::string>>(piece), [](const auto& pieces) {
    std::string text;
    for (const auto& each : pieces) text += each;
    return text;
  });
}

RC_GTEST_PROP(OutsideText, NothingHarmfulIsLeftAndTwiceIsAsOnce, ()) {
  const auto text = *rc::gen::oneOf(hostile(), rc::gen::arbitrary<std::string>());
  const auto shown = outside_text(text);
  RC_ASSERT(holds_nothing_harmful(shown));
  RC_ASSERT(is_harmless(shown) && is_harmless(text) == (shown == text));
  RC_ASSERT(outside_text(shown) == shown);
  RC_ASSERT(nlohmann::json::parse(nlohmann::json(shown).dump()) == shown);  // dump() throws at bad UTF-8
}

}  // namespace
}  // namespace weft
