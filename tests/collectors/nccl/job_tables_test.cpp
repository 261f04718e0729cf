// Which tables of queue pairs are of the job that hangs.
#include "collectors/nccl/job_tables.hpp"

#include <gmock/gmock.h>

namespace weft::nccl {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

QpTable table(std::uint64_t pid, seconds at, std::string job = "", std::string host = "gpu1") {
  QpTable made{.host = std::move(host), .at = at, .qps = {{.pid = pid, .number = QpNum(7)}}, .pid = pid};
  made.job = std::move(job);
  return made;
}

QpTable of_rank(Rank rank, QpTable made) {
  made.qps.front().rank = rank;
  return made;
}

QpTable ended(QpTable made) {
  made.has_ended = true;
  return made;
}

std::vector<std::pair<std::uint64_t, Nanoseconds>> told(const JobTables& of) {
  std::vector<std::pair<std::uint64_t, Nanoseconds>> all;
  for (const QpTable& one : of.tables) all.emplace_back(one.pid, one.at);
  return all;
}

TEST(JobTables, OfProcessesThatLiveAllStayInTheirOrder) {
  const auto made =
      tables_of_job({table(2, seconds(100)), table(1, seconds(100)), table(2, seconds(103))}, {});
  EXPECT_THAT(told(made.value()), ElementsAre(std::pair(2u, seconds(100)), std::pair(1u, seconds(100)),
                                              std::pair(2u, seconds(103))));
  EXPECT_THAT(made->passed_over, IsEmpty());
  EXPECT_THAT(tables_of_job({}, "77")->tables, IsEmpty());
}

TEST(JobTables, OfAProcessThatHasEndedNoneStaysAndItIsNamed) {
  const auto made = tables_of_job(
      {of_rank(3, table(2, seconds(100))), ended(of_rank(3, table(2, seconds(102)))), table(1, seconds(103))},
      {});
  EXPECT_THAT(told(made.value()), ElementsAre(std::pair(1u, seconds(103))));
  EXPECT_THAT(made->passed_over,
              ElementsAre(HasSubstr("ended processes are passed over: process 2 on gpu1 (rank 3)")));
}

TEST(JobTables, OfAPodWhoseProcessHasTheNumberOfADeadOneTheTablesStay) {
  const auto made = tables_of_job({ended(table(1, seconds(50))), table(1, seconds(100))}, {});
  EXPECT_THAT(told(made.value()), ElementsAre(std::pair(1u, seconds(100))));
}

TEST(JobTables, OfOneThatTellsNothingForLongWhileOthersOfItsHostDoNoneStays) {
  const auto made = tables_of_job({table(1, seconds(1000)), table(2, seconds(900)), table(3, seconds(950)),
                                   table(4, seconds(10), "", "gpu2"), table(4, seconds(500), "", "gpu2")},
                                  {});
  EXPECT_THAT(told(made.value()), ElementsAre(std::pair(1u, seconds(1000)), std::pair(3u, seconds(950)),
                                              std::pair(4u, seconds(10)), std::pair(4u, seconds(500))))
      << "a host whose clock is another, and tables that were taken long apart";
  EXPECT_THAT(made->passed_over, ElementsAre(HasSubstr("more than a minute")));
  EXPECT_THAT(made->passed_over, ElementsAre(HasSubstr("process 2 on gpu1")));
}

TEST(JobTables, TheKernelsListTellsNoProcessThatItIsSilent) {
  QpTable kernel = table(9, seconds(1000));
  kernel.by_kernel = true;
  const auto made = tables_of_job({table(1, seconds(10)), kernel}, {});
  EXPECT_THAT(told(made.value()), ElementsAre(std::pair(1u, seconds(10)), std::pair(9u, seconds(1000))))
      << "a process that was stopped is the evidence";
  EXPECT_THAT(made->passed_over, IsEmpty());
  EXPECT_THAT(tables_of_job({kernel}, "77").error().message, HasSubstr("they are of no job"));
}

TEST(JobTables, OfAnotherJobTellThatAHostGoesOn) {
  const auto made = tables_of_job({table(1, seconds(10), "77"), table(2, seconds(1000), "78")}, "77");
  EXPECT_THAT(made->tables, IsEmpty());
  EXPECT_THAT(made->passed_over, ElementsAre(HasSubstr("process 1 on gpu1")));
}

TEST(JobTables, OfTwoJobsWithARankInCommonTheJobMustBeSaid) {
  const std::vector both{of_rank(3, table(1, seconds(9), "77")), of_rank(3, table(2, seconds(9), "78"))};
  const auto asked = tables_of_job(both, {});
  ASSERT_FALSE(asked);
  EXPECT_EQ(asked.error().kind, ErrorKind::usage);
  EXPECT_THAT(told(tables_of_job(both, "78").value()), ElementsAre(std::pair(2u, seconds(9))));
  EXPECT_FALSE(tables_of_job(both, "79"));
  const std::vector old{both[0], of_rank(3, table(2, seconds(9)))};
  EXPECT_THAT(tables_of_job(old, {}).error().message, HasSubstr("job 77 and no job both have a rank 3"));
  // What has ended is no job's that hangs.
  EXPECT_TRUE(tables_of_job({both[0], ended(both[1])}, {}));
  EXPECT_TRUE(tables_of_job({both[0], of_rank(4, both[1]), table(5, seconds(9), "79")}, {}));
}

TEST(JobTables, OfManyThatArePassedOverAFewAreNamed) {
  std::vector<QpTable> tables;
  for (std::uint64_t pid = 1; pid <= 9; ++pid) tables.push_back(ended(table(pid, seconds(9))));
  EXPECT_THAT(tables_of_job(tables, {})->passed_over,
              ElementsAre(HasSubstr(
                  "process 1 on gpu1, process 2 on gpu1, process 3 on gpu1, process 4 on gpu1 and 5 more")));
}

}  // namespace
}  // namespace weft::nccl
