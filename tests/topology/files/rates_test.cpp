#include "topology/files/rates.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/schema.hpp"

namespace weft::files {
namespace {

using testing::HasSubstr;

/// A file of one class with these members beside its name.
std::string file_of(std::string_view members) {
  return fmt::format(R"({{"schema":"weft.rates/1","origin":"site","classes":[{{"class":"gpu",{}}}]}})",
                     members);
}

constexpr std::string_view kExposure = R"("exposure":{"parts":16384,"time":"54d"})";
constexpr std::string_view kRepair = R"("repair":[{"law":"exponential","mean":"4h"}])";

std::string refusal(std::string_view members) {
  const auto rates = parse_rates(file_of(members), "rates.json");
  return rates ? "accepted" : rates.error().message;
}

TEST(Rates, PublishedCountsAddUpTo419AndWhatNobodyPublishedIsCalledAGuess) {
  const auto rates = published_rates();
  double events = 0;
  for (const ClassRates& each : rates.classes) events += each.events;
  EXPECT_EQ(events, 419);
  EXPECT_FALSE(rates.is_own);
  for (const ClassRates& each : rates.classes)
    if (each.part != PartClass::software) {
      EXPECT_THAT(each.guesses, testing::Contains("repair")) << to_string(each.part);
    }
}

TEST(Rates, AreWrittenAndReadBack) {
  const auto text = rates_text(published_rates(), {.generated_at = {}, .tool_version = "1"});
  expect_matches_schema(text, "rates");
  const auto read = parse_rates(text, "rates.json");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(rates_text(*read, {.generated_at = {}, .tool_version = "1"}), text);
}

TEST(Rates, OfPartsThatAgeSayAtWhichAgeTheyWereCounted) {
  auto rates = published_rates();
  rates.classes[0].ageing = Ageing{.shape = 0.7, .age = Hours(90), .counted_from = Hours(0)};
  rates.classes[1].ageing = Ageing{.shape = 3, .age = Hours(9000)};
  const auto text = rates_text(rates, {.generated_at = {}, .tool_version = "1"});
  expect_matches_schema(text, "rates");
  const auto read = parse_rates(text, "rates.json");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->classes[0].ageing->counted_from, Hours(0));
  EXPECT_FALSE(read->classes[1].ageing->counted_from);
}

TEST(Rates, OfNoEventAreNotZero) {
  auto rates = published_rates();
  EXPECT_EQ(rates.find(PartClass::core)->events, 0);
  EXPECT_GT(rate_of(*rates.find(PartClass::core)), 0);
}

TEST(Rates, WithoutExposureOrUnitAreRefused) {
  EXPECT_THAT(refusal(fmt::format(R"("events":4,{})", kRepair)), HasSubstr("'exposure' is missing"));
  EXPECT_THAT(refusal(fmt::format(R"("events":4,"exposure":{{"parts":10,"time":54}},{})", kRepair)),
              HasSubstr("a time with its unit"));
  EXPECT_THAT(refusal(fmt::format(R"("events":4,"exposure":{{"parts":10,"time":"54"}},{})", kRepair)),
              HasSubstr("is no time"));
  EXPECT_THAT(refusal(fmt::format(R"("events":4,"exposure":{{"parts":0,"time":"54d"}},{})", kRepair)),
              HasSubstr("parts: expected 1"));
  EXPECT_THAT(refusal(fmt::format(R"("events":4,{})", kExposure)), HasSubstr("'repair' is missing"));
}

TEST(Rates, ThatAreNegativeOrBeyondReasonAreRefused) {
  for (const char* events : {"-1", "1e300", "\"4\"", "null"})
    EXPECT_THAT(refusal(fmt::format(R"("events":{},{},{})", events, kExposure, kRepair)), HasSubstr("events"))
        << events;
  EXPECT_THAT(refusal(fmt::format(R"("events":4,"exposure":{{"parts":10,"time":"1000000d"}},{})", kRepair)),
              testing::AnyOf(HasSubstr("100 years"), HasSubstr("is no time")));
  EXPECT_THAT(
      refusal(fmt::format(R"("events":4,{},"repair":[{{"law":"exponential","mean":"0s"}}])", kExposure)),
      HasSubstr("is no time"));
}

TEST(Rates, WhoseSharesDoNotAddUpAreRefused) {
  EXPECT_THAT(refusal(fmt::format(R"("events":4,{},{},"stops":0.5,"slows":0.4)", kExposure, kRepair)),
              HasSubstr("stops, slows and silent add up to 0.9"));
  EXPECT_THAT(refusal(fmt::format(R"("events":4,{},"repair":[{{"law":"fixed","mean":"1h","share":0.949}}])",
                                  kExposure)),
              HasSubstr("the shares add up to 0.949"));
}

TEST(Rates, OfTheSameClassTwiceOrOfNoneAreRefused) {
  const auto one = fmt::format(R"({{"class":"gpu","events":4,{},{}}})", kExposure, kRepair);
  const auto of = [](const std::string& classes) {
    return parse_rates(R"({"schema":"weft.rates/1","origin":"site","classes":[)" + classes + "]}",
                       "rates.json");
  };
  EXPECT_TRUE(of(one));
  EXPECT_THAT(of(one + "," + one).error().message, HasSubstr("stands twice"));
  EXPECT_THAT(of("").error().message, HasSubstr("one at least"));
  EXPECT_FALSE(parse_rates("{}", "rates.json"));
  EXPECT_FALSE(parse_rates("[", "rates.json"));
}

}  // namespace
}  // namespace weft::files
