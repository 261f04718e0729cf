#include "topology/files/row_text.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace weft::files {
namespace {

RowSet two_rows() {
  return {.columns = {"what", "share", "count", "list"},
          .rows = {{std::string("a, \"b\""), 0.005, std::int64_t{3}, std::vector<std::string>{"x", "y"}},
                   {std::monostate(), std::monostate(), std::monostate(), std::vector<std::string>{}}}};
}

TEST(RowText, CsvHasTheColumnsFirstAndEveryRowHasAll) {
  EXPECT_EQ(csv_text(two_rows()), "what,share,count,list\n\"a, \"\"b\"\"\",0.005,3,x | y\n,,,\n");
}

TEST(RowText, JsonLinesHaveEveryColumnInEveryRow) {
  const std::string text = json_lines(two_rows());
  const auto second = text.find('\n') + 1;
  const auto one = nlohmann::json::parse(text.substr(0, second));
  EXPECT_EQ(one["what"], "a, \"b\"");
  EXPECT_EQ(one["list"].size(), 2u);
  const auto other = nlohmann::json::parse(text.substr(second));
  EXPECT_EQ(other.size(), 4u);
  EXPECT_TRUE(other["share"].is_null());
}

}  // namespace
}  // namespace weft::files
