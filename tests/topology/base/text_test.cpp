#include "topology/base/text.hpp"

#include <gtest/gtest.h>

#include <array>
#include <sstream>
#include <string>

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

TEST(Wrapped, APathGoesOnBehindAnArrow) {
  EXPECT_EQ(wrapped("host1->leaf-number-1->spine-2->leaf2", 2, 30, 4),
            "  host1->leaf-number-1->\n      spine-2->leaf2\n");
}

TEST(ColumnsOf, CountsWhatATerminalShows) {
  EXPECT_EQ(columns_of("caf\xc3\xa9"), 4u);
  EXPECT_EQ(columns_of("\xe4\xbd\xa0\xe5\xa5\xbd"), 4u) << "two wide characters";
  EXPECT_EQ(columns_of("e\xcc\x81"), 1u) << "a letter and its accent";
  EXPECT_EQ(columns_of("\xff\xc3"), 2u) << "bytes that are no UTF-8";
  std::string wide;
  for (int i = 0; i < 30; ++i) wide += "\xe4\xbd\xa0";
  std::istringstream lines(wrapped(wide, 0, 24));
  for (std::string line; std::getline(lines, line);) EXPECT_LE(columns_of(line), 24u);
}

}  // namespace
}  // namespace weft
