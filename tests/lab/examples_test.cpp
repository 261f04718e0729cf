// Every example of a help page that is of a lab can be pasted where that lab is up: in namespaces of its own,
// where its names (default, mine, demo) are free.
#include <gtest/gtest.h>

#include "tests/support/pasted_examples.hpp"

namespace weft {
namespace {

TEST(Examples, OfLabsArePasted) {
  const auto all = paste_in_labs();
  EXPECT_GE(all.size(), 20U);
  for (const Pasted& pasted : all)
    EXPECT_FALSE(pasted.failed()) << pasted.example.command << ": " << pasted.example.line << "\n-> "
                                  << pasted.status << ": " << pasted.said;
}

}  // namespace
}  // namespace weft
