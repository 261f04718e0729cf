#include "topology/base/text_table.hpp"

#include <gmock/gmock.h>

#include <sstream>

#include "topology/base/text.hpp"

namespace weft {
namespace {

using testing::HasSubstr;

TextTable small() {
  TextTable table({{"from"}, {"bytes", true}, {"path"}});
  table.add({"host1", "750 MB", "leaf1->spine2->leaf4"});
  table.add({"host16", "1 GB", ""});
  return table;
}

TEST(TextTable, AlignsNumbersOnTheRight) {
  EXPECT_EQ(small().text(80),
            "from     bytes  path\n"
            "host1   750 MB  leaf1->spine2->leaf4\n"
            "host16    1 GB\n");
  EXPECT_THAT(small().text(80, 2), HasSubstr("\n  host16    1 GB\n"));
}

TEST(TextTable, TheLastColumnGoesOnWhereItDoesNotFit) {
  TextTable table({{"from"}, {"path"}});
  table.add({"host1", "leaf-number-1->spine-number-2->leaf-number-4"});
  EXPECT_EQ(table.text(40), "from   path\nhost1  leaf-number-1->spine-number-2->\n       leaf-number-4\n");
}

TEST(TextTable, WithoutRoomForColumnsEveryRowIsTitlesAndValues) {
  TextTable table({{"from"}, {"to"}, {"bytes", true}, {"path"}});
  const std::string name(40, 'x');
  table.add({name, name, "750 MB", "leaf1->spine2"});
  EXPECT_EQ(table.text(60), "from " + name + "\n    to " + name + "\n    bytes 750 MB  path leaf1->spine2\n");
}

TEST(TextTable, CutsNothingAndIsNeverTooWide) {
  for (std::size_t length = 1; length <= 64; ++length) {
    TextTable table({{"what"}, {"where"}, {"label", true}, {"path"}});
    const std::string name = std::string(length - 1, 'n') + "9";
    table.add({name, name, "49152", name + "->" + name + "->" + name});
    for (const std::size_t width : {40, 80, 120}) {
      std::istringstream lines(table.text(width));
      std::string all;
      for (std::string line; std::getline(lines, line); all += line)
        EXPECT_LE(columns_of(line), width) << line;
      EXPECT_EQ(std::ranges::count(all, '9'), 6) << all;  // five names, and the 9 of the label
    }
  }
}

TEST(CsvLine, IsQuotedByRfc4180) {
  EXPECT_EQ(csv_line(std::vector<std::string>{"a", "b,c", "say \"no\"", "two\nlines", ""}),
            "a,\"b,c\",\"say \"\"no\"\"\",\"two\nlines\",\n");
}

}  // namespace
}  // namespace weft
