#include "topology/base/host_list.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weft {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Names = std::vector<std::string>;

Names names(std::string_view list) {
  const auto expanded = expand_hosts(list);
  return expanded ? *expanded : Names{"refused: " + expanded.error().message};
}

std::string refusal(std::string_view list) {
  const auto expanded = expand_hosts(list);
  return expanded ? "accepted" : expanded.error().message;
}

TEST(HostList, CountsOutRangesAndKeepsTheOrder) {
  EXPECT_THAT(names("login2,host[1-3,7]"), ElementsAre("login2", "host1", "host2", "host3", "host7"));
}

TEST(HostList, KeepsLeadingZeros) {
  EXPECT_THAT(names("gpu[008-010]"), ElementsAre("gpu008", "gpu009", "gpu010"));
  EXPECT_THAT(names("gpu[9-11]"), ElementsAre("gpu9", "gpu10", "gpu11"));
  EXPECT_THAT(names("gpu[00-01]x"), ElementsAre("gpu00x", "gpu01x"));
}

TEST(HostList, MultipliesSeveralBrackets) {
  EXPECT_THAT(names("r[1-2]n[3,5]"), ElementsAre("r1n3", "r1n5", "r2n3", "r2n5"));
}

TEST(HostList, TakesBlanksAndLineEndsForCommasAndNamesEachHostOnce) {
  EXPECT_THAT(names(" a\n\tb,,c \r\na"), ElementsAre("a", "b", "c"));
}

TEST(HostList, RefusesWhatIsNoListAndSaysWhichItem) {
  EXPECT_THAT(refusal(""), HasSubstr("it names none"));
  EXPECT_THAT(refusal(" ,\n"), HasSubstr("it names none"));
  EXPECT_EQ(refusal("a,host[1-"), "list of hosts: 'host[1-': ']' is missing");
  for (const char* wrong :
       {"h[]", "h[a]", "h[4-1]", "h[1-]", "h[-1]", "h[1,,2]", "h[1-2-3]", "h[9999999999]", "h[1 2]"})
    EXPECT_THAT(refusal(wrong), HasSubstr("expected numbers as in host[1-4,7]")) << wrong;
  for (const char* wrong : {"a]", "a;b", "$(id)", "h\xff", "a/b", "a=b"})
    EXPECT_THAT(refusal(wrong), HasSubstr("no host's name")) << wrong;
  EXPECT_THAT(refusal(std::string(65, 'x')), HasSubstr("64 characters"));
}

TEST(HostList, IsBounded) {
  EXPECT_EQ(names("h[1-100000]").size(), 100'000u);
  EXPECT_THAT(refusal("h[0-100000]"), HasSubstr("more than 100000 names"));
  EXPECT_THAT(refusal("h[1-1000][1-1000]"), HasSubstr("more than 100000 names"));
  EXPECT_THAT(refusal("a[1-60000],b[1-60000]"), HasSubstr("more than 100000 names"));
  std::string again = "x[1-60000]";
  for (int i = 0; i < 5000; ++i) again += ",x[1-60000]";
  EXPECT_THAT(refusal(again), HasSubstr("more than 100000 names"));
}

}  // namespace
}  // namespace weft
