#include "collectors/report/finding_rows.hpp"

#include <gmock/gmock.h>

#include "collectors/report/table.hpp"

namespace weft::report {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

files::DiagnosisDocument two_silent_hosts_and_a_lossy_link() {
  files::DiagnosisDocument document;
  document.fabric = "roce-a";
  document.verdict = Verdict::failed;
  document.links.push_back({.link = "leaf1--spine2",
                            .from = "leaf1",
                            .verdict = Verdict::degraded,
                            .cause = Cause::loss,
                            .estimate = Estimate{0.005, 0.004, 0.006},
                            .confidence = 0.9999,
                            .evidence = {"38 of 4,096 lost, \"two\" paths"}});
  for (const char* host : {"host1", "host2"})
    document.hosts.push_back(
        {.host = host, .verdict = Verdict::failed, .evidence = {"its agent fell silent"}});
  return document;
}

TEST(FindingRows, EveryHostHasARowAndEveryFigureAColumn) {
  const auto rows = finding_rows(two_silent_hosts_and_a_lossy_link());
  ASSERT_EQ(rows.rows.size(), 3u);
  const std::string csv = csv_text(rows);
  EXPECT_THAT(csv, StartsWith("fabric,kind,what,from,verdict,cause,confidence,estimate,low,high,unit,"));
  EXPECT_THAT(csv, HasSubstr("\nroce-a,host,host1,,failed,"));
  EXPECT_THAT(csv, HasSubstr("\nroce-a,host,host2,,failed,"));
  EXPECT_THAT(csv, HasSubstr("\nroce-a,link,leaf1--spine2,leaf1,degraded,loss,0.9999,0.005,0.004,0.006,"
                             "share of packets,"));
  EXPECT_THAT(csv, HasSubstr("\"38 of 4,096 lost, \"\"two\"\" paths\""));
}

TEST(FindingRows, AHealthyFabricHasNone) { EXPECT_TRUE(finding_rows({}).rows.empty()); }

}  // namespace
}  // namespace weft::report
