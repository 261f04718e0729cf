// RAS and tables of queue pairs. The samples follow NVIDIA's user guide.
#include "collectors/nccl/ras.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "collectors/nccl/qp_table.hpp"
#include "tests/places.hpp"
#include "tests/support/schema.hpp"
#include "topology/files/file_text.hpp"

namespace weft::nccl {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

std::string corpus(const std::string& name) {
  return files::read_text_file(WEFT_SOURCE_DIR "/tests/fuzz/corpus/" + name, Bytes(1'000'000)).value();
}

TEST(Ras, OfItsJsonEachRankHasHostProcessAndState) {
  const auto report = parse_ras(corpus("ras_answer/json"));
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->version, "2.29.1");
  ASSERT_THAT(report->communicators, SizeIs(1));
  const auto& ranks = report->communicators[0].ranks;
  EXPECT_EQ(report->communicators[0].size, 2u);
  ASSERT_THAT(ranks, SizeIs(2));
  EXPECT_EQ(ranks[0].state, RasState::answers);
  EXPECT_EQ(ranks[0].host, "10.0.0.1");
  EXPECT_EQ(ranks[1].state, RasState::unresponsive);
  EXPECT_EQ(ranks[1].pid, 16u);
}

TEST(Ras, OfItsTextTheMissingRankIsTheDeadProcess) {
  const auto report = parse_ras(corpus("ras_answer/text"));
  ASSERT_TRUE(report) << report.error().message;
  ASSERT_THAT(report->communicators, SizeIs(1));
  EXPECT_EQ(report->communicators[0].size, 32u);
  const auto& ranks = report->communicators[0].ranks;
  ASSERT_THAT(ranks, SizeIs(2));
  EXPECT_EQ(ranks[0].rank, 21u);
  EXPECT_EQ(ranks[0].state, RasState::dead);
  EXPECT_EQ(ranks[0].pid, 3'487'984u);
  EXPECT_EQ(ranks[1].host, "172.16.64.210");
}

TEST(Ras, NonsenseAndHalvesAreErrors) {
  for (const std::string& text :
       {std::string("HTTP/1.1 400 Bad Request\r\n"), std::string(), std::string("OK\n{"),
        corpus("ras_answer/json").substr(0, 300), std::string(1000, '\0')})
    EXPECT_FALSE(parse_ras(text)) << text;
  EXPECT_THAT(parse_ras("OK\n{\"communicators\":[{\"ranks\":[{\"rank\":-1}]}]}").error().message,
              HasSubstr("communicators[0].ranks[0].rank"));
}

TEST(QpTable, IsWrittenAsItsSchemaSaysAndReadBack) {
  const auto tables = parse_qp_tables(corpus("qp_table/one"), "qps.json");
  ASSERT_TRUE(tables) << tables.error().message;
  ASSERT_THAT(*tables, SizeIs(1));
  ASSERT_THAT(tables->front().qps, SizeIs(1));
  const auto& qp = tables->front().qps[0];
  EXPECT_EQ(qp.pid, 7u);
  EXPECT_EQ(qp.rank, 0u);
  EXPECT_EQ(to_string(*qp.gid), "10.0.1.1");  // within IPv6, as GIDs have it
  EXPECT_EQ(qp.oldest, std::chrono::seconds(5));
  const auto text = qp_tables_json(*tables, {.tool_version = "test"});
  expect_matches_schema(text, "qps");
  EXPECT_EQ(qp_tables_json(*parse_qp_tables(text, "again"), {.tool_version = "test"}), text);
}

TEST(QpTable, TellsProcessesOfOneTableByThemselves) {
  const QpTable of_host{.host = "h", .qps = {{.pid = 2, .number = QpNum(5)}, {.pid = 1, .number = QpNum(6)}}};
  const QpTable of_none{.host = "i", .pid = 9};
  const auto text = qp_tables_json(std::vector{of_host, of_none}, {.tool_version = "test"});
  const auto tables = parse_qp_tables(text, "qps.json").value();
  ASSERT_THAT(tables, SizeIs(3));
  EXPECT_EQ(tables[0].pid, 1u);
  EXPECT_EQ(tables[1].qps[0].number, QpNum(5));
  EXPECT_EQ(tables[2].pid, 9u);
}

TEST(QpTable, ValuesThatCannotBeAreErrorsWithTheirPlace) {
  const auto error = [](const std::string& qp) {
    const auto tables = parse_qp_tables(
        R"({"schema":"weft.qps/1","processes":[{"host":"h","at_ns":1,"pid":1,"qps":[)" + qp + "]}]}",
        "qps.json");
    return tables ? "it was read" : tables.error().message;
  };
  EXPECT_EQ(error(R"({"qpn":5})"), "it was read");
  EXPECT_THAT(error(R"({"qpn":16777216})"), HasSubstr("qps[0].qpn: expected at most 16777215"));
  EXPECT_THAT(error(R"({"qpn":5,"gid":"host1"})"), HasSubstr("expected a GID"));
  EXPECT_THAT(error(R"({"qpn":5,"oldest_ns":18446744073709551615})"), HasSubstr("oldest_ns"));
  EXPECT_THAT(error(R"({"qpn":5,"timeout":32})"), HasSubstr("timeout"));
  EXPECT_FALSE(parse_qp_tables("{}", "qps.json"));
}

}  // namespace
}  // namespace weft::nccl
