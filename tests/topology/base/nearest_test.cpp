#include "topology/base/nearest.hpp"

#include <gtest/gtest.h>

#include <array>

namespace weft {
namespace {

constexpr std::array<std::string_view, 3> kWords{"leaves", "spines", "link"};

TEST(Nearest, FindsTheWordThatWasMeant) {
  EXPECT_EQ(nearest("leavs", kWords), "leaves");
  EXPECT_EQ(nearest("spinse", kWords), "spines");
  EXPECT_EQ(did_you_mean("lin", kWords), "; did you mean 'link'?");
}

TEST(Nearest, DoesNotGuessWildly) {
  EXPECT_EQ(nearest("hosts", kWords), std::nullopt);
  EXPECT_EQ(nearest("", kWords), std::nullopt);
  EXPECT_EQ(nearest(std::string(100'000, 'l'), kWords), std::nullopt);
  EXPECT_EQ(did_you_mean("x", kWords), "");
}

}  // namespace
}  // namespace weft
