#include "collectors/report/doctor_report.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/support/doctored_fleet.hpp"

namespace weft::report {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

/// `count` hosts, h1 on, that one finding is about.
DoctorFinding finding(std::size_t count, Verdict verdict = Verdict::degraded) {
  DoctorFinding made{.trouble = HostTrouble::mtu_differs,
                     .verdict = verdict,
                     .what = "the MTU of eth3 is 1500",
                     .evidence = {"on most hosts it is 4200"},
                     .remedy = "ip link set eth3 mtu 4200"};
  for (std::size_t host = 1; host <= count; ++host) made.hosts.push_back("h" + std::to_string(host));
  return made;
}

DoctorReport report_of(std::vector<DoctorFinding> findings, std::size_t hosts = 30) {
  DoctorReport report{.findings = std::move(findings)};
  for (std::size_t host = 1; host <= hosts; ++host)
    report.hosts.push_back(
        {.name = "h" + std::to_string(host), .report = HostFacts{.version = "1.0", .identity = "boot/1"}});
  return report;
}

TEST(DoctorLine, OfAHealthyFleetIsOkWithItsFigures) {
  const auto line = doctor_line(DoctoredFleet().examined());
  EXPECT_THAT(line, StartsWith("WEFT OK - doctor: healthy; 8 hosts ready"));
  EXPECT_THAT(line, HasSubstr("| hosts=8 failed=0 degraded=0 not_asked=0 findings=0\n"));
}

TEST(DoctorRows, AreOneAFindingAndHost) {
  const auto report = report_of({finding(1, Verdict::failed), finding(3)});
  const auto csv = files::csv_text(doctor_rows(report));
  EXPECT_THAT(csv, StartsWith("host,verdict,trouble,what,example,evidence,do\nh1,failed,mtu_differs,"));
  EXPECT_EQ(std::ranges::count(csv, '\n'), 1 + 1 + 3);
  EXPECT_THAT(csv,
              HasSubstr("\nh3,degraded,mtu_differs,the MTU of eth3 is 1500,h1,on most hosts it is 4200,"));
  EXPECT_EQ(std::ranges::count(files::json_lines(doctor_rows(report)), '\n'), 4);
  EXPECT_EQ(files::json_lines(doctor_rows(report_of({}))), "");
}

TEST(DoctorLine, CountsAHostThatGaveNoReportAsNotAsked) {
  DoctoredFleet fleet;
  fleet.silence(0, 255, "ssh: connect to host gpu1 port 22: No route to host");
  EXPECT_THAT(doctor_line(fleet.examined()), HasSubstr("hosts=8 failed=0 degraded=0 not_asked=1 findings=1"));
}

TEST(DoctorLine, CountsAHostWithSeveralFindingsOnceByTheWorst) {
  const auto line = doctor_line(report_of({finding(1, Verdict::failed), finding(3)}));
  EXPECT_THAT(line, HasSubstr("failed=1 degraded=2 "));
  EXPECT_THAT(line, StartsWith("WEFT CRITICAL - "));
}

TEST(DoctorLine, TheBarStandsBeforeTheFiguresAlone) {
  auto bar = finding(1);
  bar.what = "what | who";
  const auto line = doctor_line(report_of({bar}));
  EXPECT_EQ(std::ranges::count(line, '|'), 1);
  EXPECT_THAT(line, HasSubstr("what / who"));
}

TEST(DoctorTable, SaysWhatIsWrongWhereAndWhatMendsIt) {
  const auto table = doctor_table(report_of({finding(1)}));
  EXPECT_THAT(table, StartsWith("doctor: degraded; 30 hosts, 1 finding; 1 degraded"));
  EXPECT_THAT(table, AllOf(HasSubstr("host h1"), HasSubstr("mtu_differs"),
                           HasSubstr("the MTU of eth3 is 1500"), HasSubstr("do: ip link set eth3 mtu 4200")));
}

TEST(DoctorTable, NamesTheFirstHostsOfALongListAndAllWhereAskedFor) {
  const auto report = report_of({finding(20)});
  const auto table = doctor_table(report);
  EXPECT_THAT(table, AllOf(HasSubstr("h8"), Not(HasSubstr("h9")), HasSubstr("12 more")));
  EXPECT_THAT(doctor_table(report, {.all = true}), AllOf(HasSubstr("h20"), Not(HasSubstr("12 more"))));
}

TEST(DoctorTable, EvidenceOfSeveralHostsSaysOfWhichItIs) {
  EXPECT_THAT(doctor_table(report_of({finding(2)})), HasSubstr("h1: on most hosts it is 4200"));
  EXPECT_THAT(doctor_table(report_of({finding(1)})), Not(HasSubstr("h1: on most")));
}

TEST(DoctorTable, FindingsWithoutEndAreCutAndCounted) {
  const auto report = report_of(std::vector<DoctorFinding>(25, finding(1)));
  EXPECT_THAT(doctor_table(report), HasSubstr("5 more: --all lists them"));
  EXPECT_THAT(doctor_table(report, {.all = true}), Not(HasSubstr("--all lists them")));
}

TEST(DoctorTable, NoLineIsWiderThanItsColumns) {
  for (const std::size_t columns : {40u, 80u}) {
    std::istringstream lines(doctor_table(report_of({finding(20)}), {.columns = columns}));
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), columns) << line;
  }
}

TEST(DoctorJson, HasEachFindingWithAllItsHosts) {
  const auto json = nlohmann::json::parse(doctor_json(report_of({finding(20)}), {{}, "1.0"}));
  EXPECT_EQ(json.at("schema"), "weft.doctor/1");
  EXPECT_EQ(json.at("verdict"), "degraded");
  const auto& only = json.at("findings").at(0);
  EXPECT_EQ(only.at("trouble"), "mtu_differs");
  EXPECT_EQ(only.at("count"), 20);
  EXPECT_EQ(only.at("hosts").size(), 20u);
  EXPECT_EQ(only.at("do"), "ip link set eth3 mtu 4200");
}

TEST(DoctorJson, OfAHostOfAnotherProtocolOnlyTheVersionIsTold) {
  auto report = report_of({}, 3);
  report.hosts[1].report->identity.clear();
  report.hosts[2].report.reset();
  const auto json = nlohmann::json::parse(doctor_json(report, {{}, "1.0"}));
  EXPECT_TRUE(json.at("hosts").at(0).contains("report"));
  EXPECT_EQ(json.at("hosts").at(1).at("version"), "1.0");
  EXPECT_FALSE(json.at("hosts").at(1).contains("report"));
  EXPECT_FALSE(json.at("hosts").at(2).contains("report") || json.at("hosts").at(2).contains("version"));
}

}  // namespace
}  // namespace weft::report
