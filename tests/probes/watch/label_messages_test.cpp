// Requests of operators for labels, and their answers: what is written is read again, all else is refused.
#include "probes/watch/label_messages.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/hex.hpp"
#include "topology/base/outside_text.hpp"

namespace weft::watch {
namespace {

using ::testing::HasSubstr;

LabelRequest sample() { return {.id = 0x0102030405060708, .list = {std::byte{0xAA}, std::byte{0xBB}}}; }

TEST(LabelRequests, AreTheseBytes) {
  const auto bytes = encode_request(sample()).value();
  EXPECT_EQ(bytes, fakes::from_hex("77656674 6c72652a 00000001 00000000 01020304 05060708 aabb"));
  EXPECT_EQ(decode_request(bytes).value(), sample());
  EXPECT_EQ(peek_request_id(bytes), sample().id);
}

TEST(LabelRequests, OfAnotherProtocolHaveAnIdToBeAnsweredBy) {
  auto bytes = encode_request(sample()).value();
  store_be32(bytes, 8, 2);
  EXPECT_EQ(peek_request_id(bytes), sample().id);
  EXPECT_THAT(decode_request(bytes).error().message, HasSubstr("protocol 2, and this agent speaks 1"));
}

TEST(LabelRequests, ThatAreNoneOrCutShortAreRefused) {
  const auto bytes = encode_request(sample()).value();
  for (std::size_t size = 0; size < 24; ++size) {
    EXPECT_FALSE(peek_request_id(ByteSpan(bytes).first(size)));
    EXPECT_FALSE(decode_request(ByteSpan(bytes).first(size)));
  }
  EXPECT_EQ(decode_request(ByteSpan(bytes).first(24)).value().list.size(), 0u);
  auto other = bytes;
  other[0] = std::byte{'{'};
  EXPECT_FALSE(peek_request_id(other));
}

TEST(LabelRequests, AreNoLongerThanTheServerTakes) {
  LabelRequest request{.id = 1, .list = std::vector<std::byte>(kMaxLabelRequest)};
  EXPECT_FALSE(encode_request(request));
  request.list.resize(kMaxLabelRequest - 24);
  auto bytes = encode_request(request).value();
  EXPECT_TRUE(decode_request(bytes));
  bytes.emplace_back();
  EXPECT_FALSE(decode_request(bytes));
}

TEST(LabelAnswers, AreReadAgain) {
  const LabelAnswer taken{.id = ~std::uint64_t{0}, .generation = 7, .refused = {}};
  const LabelAnswer refused{.id = 3, .generation = 0, .refused = "it has labels of \"10.0.0.9\""};
  for (const auto& answer : {taken, refused}) EXPECT_EQ(read_answer(answer_text(answer)).value(), answer);
}

TEST(LabelAnswers, CutALongReasonAndShowWhatCannotBeShown) {
  const LabelAnswer hostile{.id = 1, .generation = 0, .refused = "\x1b[2J\xc3" + std::string(5000, '\xc3')};
  const auto read = read_answer(answer_text(hostile));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_TRUE(is_harmless(read->refused));
  EXPECT_LE(read->refused.size(), 1024u);
}

TEST(LabelAnswers, OfAHostileAgentAreRefused) {
  for (const auto* text :
       {"", "{}", "[]", "x", R"({"generation":1,"id":-1,"protocol":1,"refused":""})",
        R"({"generation":1,"id":1,"protocol":2,"refused":""})", R"({"generation":1,"id":1,"protocol":1})",
        R"({"generation":1,"id":1,"protocol":1,"refused":"\u001b[2J"})"})
    EXPECT_FALSE(read_answer(text)) << text;
  EXPECT_FALSE(
      read_answer(R"({"generation":1,"id":1,"protocol":1,"refused":")" + std::string(2000, 'x') + "\"}"));
  EXPECT_FALSE(read_answer(std::string(100'000, '[')));
}

}  // namespace
}  // namespace weft::watch
