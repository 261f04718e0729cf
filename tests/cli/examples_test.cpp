// Every example of a help page can be pasted.
#include <gtest/gtest.h>

#include "tests/support/pasted_examples.hpp"

namespace weft::cli {
namespace {

TEST(Examples, ThatNeedNoLabArePasted) {
  const auto examples = examples_on_their_own();
  EXPECT_GE(examples.size(), 25U);
  for (const Pasted& pasted : PasteBoard().paste(examples))
    EXPECT_FALSE(pasted.failed()) << pasted.example.command << ": " << pasted.example.line << "\n-> "
                                  << pasted.status << ": " << pasted.said;
}

}  // namespace
}  // namespace weft::cli
