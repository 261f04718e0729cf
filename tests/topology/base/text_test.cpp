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

}  // namespace
}  // namespace weft
