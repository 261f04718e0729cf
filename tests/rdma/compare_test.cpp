// perftest between guests with soft-RoCE, and `weft compare` over what it prints and writes: both say the
// same. One's own runs by `weft compare run --run`.
#include <gmock/gmock.h>

#include <fstream>
#include <sstream>

#include "tests/rdma/jobs_of_others.hpp"
#include "tests/support/schema.hpp"
#include "tests/support/text_of.hpp"

namespace weft {
namespace {

using testing::HasSubstr;
using testing::SizeIs;
using Json = nlohmann::json;

/// A run of perftest in two forms.
struct PerftestRun {
  std::string table, document;
};

/// Column `at` of the row of this size; a failed test where there is none.
double in_table(const std::string& text, const char* size, std::size_t at) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string word;
    if (!(words >> word) || word != size) continue;
    for (std::size_t i = 0; i < at && words; ++i) words >> word;
    if (words) return std::stod(word);
  }
  ADD_FAILURE() << "no row of " << size << " bytes: " << text;
  return 0;
}

constexpr const char* kBytes = "4096";
constexpr double kMebibytes = 8.0 * 1024 * 1024;

class PerftestCompared : public JobsOfOthers {
 protected:
  /// From host1 to host3.
  PerftestRun run_perftest(const std::string& program) {
    std::vector<std::string> words{program, "-d", "rxe_p1", "-x", "1", "-s", kBytes, "-n", "100", "-F"};
    auto server = std::async(std::launch::async, [&] { return rig().in("host3", words); });
    auto client_words = words;
    client_words.insert(client_words.end(), {"--out_json", "--out_json_file=/tmp/perftest.json",
                                             to_string(rig().peer("host3").address)});
    Answer client;
    for (int turn = 0; turn < 20 && client.status != 0; ++turn) {  // until the server listens
      std::this_thread::sleep_for(seconds(1));
      client = rig().in("host1", client_words);
    }
    EXPECT_EQ(client.status, 0) << client.output << client.errors;
    const Answer served = server.get();
    EXPECT_EQ(served.status, 0) << served.output << served.errors;
    const Answer document = rig().in("host1", {"sh", "-c", "cat /tmp/perftest.json; rm /tmp/perftest.json"});
    EXPECT_THAT(document.output, HasSubstr("MsgSize: 4096")) << "Debian's perftest writes no quotes";
    return {client.output, document.output};
  }
  /// A bandwidth and a latency, one behind the other, as a job would leave them.
  PerftestRun run_both() {
    const auto writes = run_perftest("ib_write_bw"), latency = run_perftest("ib_write_lat");
    return {writes.table + latency.table, writes.document + latency.document};
  }
  std::string file_of(const std::string& name, const std::string& text) {
    const auto path = rig().user().directory() / name;
    std::ofstream(path) << text;
    return path;
  }
};

Json cell_of(Json& document, const std::string& work) {
  for (Json& cell : document["cells"])
    if (cell["work"] == work) return cell;
  ADD_FAILURE() << "no cell " << work << " in " << document;
  return {};
}

TEST_F(PerftestCompared, WhatItPrintsAndWhatItWritesAreOneAndTheSame) {
  constexpr std::size_t kRuns = 3;
  std::vector<PerftestRun> runs;
  std::vector<std::string> words{"compare"};
  for (std::size_t i = 0; i < kRuns; ++i) {
    runs.push_back(run_both());
    words.push_back(file_of(fmt::format("run{}.txt", i), runs[i].table));
  }
  words.emplace_back("--with");
  for (std::size_t i = 0; i < kRuns; ++i)
    words.push_back(file_of(fmt::format("run{}.json", i), runs[i].document));
  words.insert(words.end(), {"-o", "json"});
  const auto answer = rig().weft(words);
  ASSERT_TRUE(answer.status == 0 || answer.status == 3) << answer.output << answer.errors;
  expect_matches_schema(answer.output, "comparison");
  auto document = Json::parse(answer.output);
  EXPECT_THAT(document["cells"], SizeIs(2));
  EXPECT_TRUE(document["only_a"].empty() && document["only_b"].empty()) << document;
  auto rate = cell_of(document, "RDMA_Write BW"), time = cell_of(document, "RDMA_Write Latency");
  for (std::size_t i = 0; i < kRuns; ++i) {
    const double average = in_table(runs[i].table, kBytes, 3) * kMebibytes;
    const double typical = in_table(runs[i].table.substr(runs[i].table.find("Latency Test")), kBytes, 4);
    EXPECT_GT(average, 1e3) << runs[i].table;
    EXPECT_LT(average, 10e6) << "the lab's cables carry 10 Mbit/s";
    EXPECT_NEAR(rate["a"]["values"][i].get<double>(), average, 1) << runs[i].table;
    EXPECT_NEAR(rate["b"]["values"][i].get<double>() / average, 1, 0.01) << runs[i].document;
    EXPECT_NEAR(time["a"]["values"][i].get<double>(), typical * 1e-6, 1e-12) << runs[i].table;
    EXPECT_NEAR(time["b"]["values"][i].get<double>(), typical * 1e-6, 1e-8) << runs[i].document;
  }
  EXPECT_EQ(rate["unit"], "bit/s");
  EXPECT_EQ(time["unit"], "s");
  EXPECT_EQ(rate["size_bytes"], 4096);
  EXPECT_NEAR(rate["ratio"].get<double>(), 1, 0.01);
  EXPECT_NEAR(time["ratio"].get<double>(), 1, 0.001);
}

TEST_F(PerftestCompared, IsRunOverBothSidesBlockByBlock) {
  const auto script = file_of(
      "both.sh", fmt::format("w='{} lab exec'; n='--name {} --'\n"
                             "p='ib_write_lat -d rxe_p1 -x 1 -s 4096 -n 100 -F'\n"
                             "$w host3 $n $p >/dev/null 2>&1 &\n"
                             "for i in 1 2 3 4 5 6 7 8 9 10; do sleep 1; "
                             "$w host1 $n $p {} && break; done\nwait\n",
                             rig().user().program(), rig().name(), to_string(rig().peer("host3").address)));
  const auto answer =
      rig().weft({"compare", "run", "--run", "sh " + script + " {side}", "--blocks", "3", "-o", "json"},
                 std::chrono::minutes(8));
  ASSERT_TRUE(answer.status == 0 || answer.status == 1 || answer.status == 3)
      << answer.output << answer.errors;
  auto document = Json::parse(answer.output);
  const auto cell = cell_of(document, "RDMA_Write Latency");
  EXPECT_THAT(cell["blocks"], SizeIs(3));
  EXPECT_THAT(cell["a"]["values"], SizeIs(6));
  EXPECT_EQ(document["design"], "blocks") << document["remarks"];
}

}  // namespace
}  // namespace weft
