#include "collectors/bus/bus_key.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace weft::bus {
namespace {

TEST(BusKey, ReadsAKeyThatTheServersOwnToolMade) {
  // From the documentation of NATS, "NKeys": made by nk -gen user -pubout.
  const auto open = public_key_of("SUACSSL3UAHUDXKFSNVUZRF5UHPMWZ6BFDTJ7M6USDXIEDNPPQYYYCU3VY");
  ASSERT_TRUE(open) << open.error().message;
  EXPECT_EQ(*open, "UDXU4RCSJNZOIQHZNWXHXORDPRTGNJAHAHFRGZNEEJCPQTT2M7NLCNF4");
}

TEST(BusKey, MakesKeysOfItsOwn) {
  const auto one = make_user_seed();
  const auto other = make_user_seed();
  EXPECT_NE(one, other);
  EXPECT_EQ(one.size(), 58u);
  EXPECT_TRUE(one.starts_with("SU"));
  const auto open = public_key_of(one);
  ASSERT_TRUE(open);
  EXPECT_EQ(open->size(), 56u);
  EXPECT_TRUE(open->starts_with("U"));
  EXPECT_EQ(sign_with(one, "nonce").value(), sign_with(one, "nonce").value());
  EXPECT_NE(sign_with(one, "nonce").value(), sign_with(other, "nonce").value());
}

TEST(BusKey, RefusesWhatIsNoSeedAndDoesNotQuoteIt) {
  auto mistyped = make_user_seed();
  mistyped[20] = mistyped[20] == 'A' ? 'B' : 'A';
  const auto open = public_key_of(make_user_seed()).value();
  for (const std::string& text : {std::string(), std::string("SU"), mistyped, open, std::string(58, 'A'),
                                  std::string(58, '!'), std::string(100'000, 'A')}) {
    const auto refused = public_key_of(text);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind, ErrorKind::invalid_input);
    if (text.size() > 10) {
      EXPECT_EQ(refused.error().message.find(text), std::string::npos);
    }
  }
}

}  // namespace
}  // namespace weft::bus
