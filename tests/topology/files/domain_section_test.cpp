#include "topology/files/domain_section.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "topology/files/fabric_file.hpp"

namespace weft::files {
namespace {

using testing::HasSubstr;

Result<FabricFile> with_domains(std::string_view domains) {
  return parse_fabric_file(
      fmt::format("fabric: a\nclos: {{leaves: 2, spines: 2, hosts_per_leaf: 4}}\ndomains:\n{}", domains),
      "f.yaml");
}

std::string refusal(std::string_view domains) {
  const auto file = with_domains(domains);
  return file ? "accepted" : file.error().message;
}

TEST(Domains, AreReadWithListsOfHostsAndWrittenBack) {
  const auto file = with_domains(
      "  - {name: pdu1, kind: power, members: [\"host[1-4]\", leaf1], events: 2, exposure: 365d, share: 80%, "
      "repair: 6h}\n");
  ASSERT_TRUE(file) << file.error().message;
  ASSERT_EQ(file->domains.size(), 1U);
  EXPECT_EQ(file->domains[0].members.size(), 5U);
  EXPECT_EQ(file->domains[0].exposure, Hours(365 * 24));
  EXPECT_DOUBLE_EQ(file->domains[0].share.value(), 0.8);
  const auto text = write_fabric_file(file->fabric, file->lab, file->addresses, file->domains);
  const auto again = parse_fabric_file(text, "again.yaml");
  ASSERT_TRUE(again) << again.error().message;
  ASSERT_EQ(again->domains.size(), 1U);
  EXPECT_EQ(again->domains[0].members.size(), 5U);
  EXPECT_EQ(write_fabric_file(again->fabric, again->lab, again->addresses, again->domains), text);
}

TEST(Domains, OfUnknownOrRepeatedMembersAreRefusedWithTheLine) {
  constexpr const char* kRest = "events: 1, exposure: 365d, repair: 6h}\n";
  EXPECT_THAT(refusal(fmt::format("  - {{name: p, kind: power, members: [host9], {}", kRest)),
              testing::AllOf(HasSubstr("f.yaml:4"), HasSubstr("host9")));
  EXPECT_THAT(refusal(fmt::format("  - {{name: p, kind: power, members: [host1, \"host[1-2]\"], {}", kRest)),
              HasSubstr("host1 stands twice"));
  EXPECT_THAT(refusal(fmt::format("  - {{name: p, kind: power, members: [], {}", kRest)),
              HasSubstr("at least"));
  const auto one = fmt::format("  - {{name: p, kind: power, members: [host1], {}", kRest);
  EXPECT_THAT(refusal(one + one), HasSubstr("'p' is the name of two"));
}

TEST(Domains, WithoutExposureOrWithARateBeyondReasonAreRefused) {
  const auto with = [](std::string_view rest) {
    return refusal(fmt::format("  - {{name: p, kind: power, members: [host1], {}}}\n", rest));
  };
  EXPECT_THAT(with("events: 1, repair: 6h"), HasSubstr("'exposure' is missing"));
  EXPECT_THAT(with("events: 1, exposure: 365, repair: 6h"), HasSubstr("exposure"));
  for (const char* events : {"-1", "1e300", "nan", "inf", "many"})
    EXPECT_THAT(with(fmt::format("events: {}, exposure: 365d, repair: 6h", events)), HasSubstr("events"))
        << events;
  EXPECT_THAT(with("events: 1, exposure: 365d, share: 0%, repair: 6h"), HasSubstr("share"));
  EXPECT_THAT(with("events: 1, exposure: 365d, share: 101%, repair: 6h"), HasSubstr("share"));
  EXPECT_THAT(with("events: 1, exposure: 365d, share: 1, repair: 6h"), HasSubstr("with its sign"));
}

}  // namespace
}  // namespace weft::files
