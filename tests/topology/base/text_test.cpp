#include "topology/base/text.hpp"

#include <gtest/gtest.h>

#include <array>

namespace weft {
namespace {

constexpr std::array<std::string_view, 3> kWords{"sweep", "simulate", "trace"};

TEST(Closest, ATypingMistakeFindsItsWord) {
  EXPECT_EQ(closest("sweeep", kWords), "sweep");
  EXPECT_EQ(closest("simualte", kWords), "simulate");
  EXPECT_EQ(did_you_mean("trac", kWords), ": did you mean 'trace'?");
}

TEST(Closest, WhatResemblesNothingFindsNothing) {
  EXPECT_EQ(closest("balance", kWords), std::nullopt);
  EXPECT_EQ(closest("", kWords), std::nullopt);
  EXPECT_EQ(closest(std::string(1'000'000, 's'), kWords), std::nullopt);
}

TEST(Wrapped, BreaksAtSpacesAndAWordOnlyWhereItIsLongerThanALine) {
  EXPECT_EQ(wrapped("one two three", 2, 22), "  one two three\n");
  EXPECT_EQ(wrapped("twelve words and more", 0, 20), "twelve words and\nmore\n");
  EXPECT_EQ(wrapped(std::string(25, 'x') + " y", 0, 20), std::string(20, 'x') + "\nxxxxx y\n");
}

TEST(Wrapped, CutsNoCharacterOfUtf8InTwo) {
  std::string umlauts = "x";
  for (int i = 0; i < 12; ++i) umlauts += "\xc3\xbc";
  EXPECT_EQ(wrapped(umlauts, 0, 20).find("\xc3\n"), std::string::npos);
}

}  // namespace
}  // namespace weft
