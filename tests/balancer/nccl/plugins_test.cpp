// The library's tuner and profiler as a program sees them that calls them as NCCL does.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "balancer/steer/tuner_table.hpp"
#include "tests/places.hpp"
#include "topology/os/run_program.hpp"
#include "topology/os/scratch_directory.hpp"

namespace weft::nccl {
namespace {

using std::chrono::seconds;
using steer::NcclAlgorithm;
using steer::NcclFunction;
using steer::NcclProtocol;
using testing::HasSubstr;

std::string host(std::vector<std::string> environment, std::vector<std::string> words,
                 std::string_view input = "") {
  std::vector<std::string> all{"env"};
  all.insert(all.end(), environment.begin(), environment.end());
  all.insert(all.end(), {WEFT_BINARY_DIR "/plugin_host", WEFT_BINARY_DIR "/libweft-nccl.so"});
  all.insert(all.end(), words.begin(), words.end());
  const auto output = os::run_program(all, input, seconds(30));
  return output ? *output : output.error().message;
}

std::string table() {
  return "WEFT_NCCL_TUNER=" +
         steer::encode_tuner(
             {3,
              {{NcclFunction::all_reduce, 16, 2, 65'536, NcclAlgorithm::tree, NcclProtocol::ll, 2},
               {NcclFunction::all_reduce, 16, 2, 1 << 30, NcclAlgorithm::ring, NcclProtocol::simple, 0},
               {NcclFunction::all_reduce, 16, 2, 1ull << 32, NcclAlgorithm::nvls, NcclProtocol::simple, 16},
               {NcclFunction::all_gather, 16, 2, 4096, NcclAlgorithm::pat, NcclProtocol::simple, 0},
               {NcclFunction::all_gather, 16, 2, 1 << 20, NcclAlgorithm::ring, NcclProtocol::ll128, 0}}})
             .value();
}

class EveryVersion : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Plugins, EveryVersion, testing::Values("5", "4", "3"));

TEST_P(EveryVersion, OfTheTunerAnswersFromTheTable) {
  EXPECT_EQ(host({table()}, {GetParam(), "tuner", "16", "2", "4", "1024"}), "0 0 2\n");
  EXPECT_EQ(host({table()}, {GetParam(), "tuner", "16", "2", "4", "1000000"}), "1 2 0\n");
}

TEST_P(EveryVersion, OfTheTunerTakesMeasuredRowsOfEveryAlgorithmProtocolAndCollective) {
  EXPECT_EQ(host({table()}, {GetParam(), "tuner", "16", "2", "4", "2000000000"}), "4 2 16\n");  // NVLS
  EXPECT_EQ(host({table()}, {GetParam(), "tuner", "16", "2", "2", "4096"}), "6 2 0\n");         // PAT
  EXPECT_EQ(host({table()}, {GetParam(), "tuner", "16", "2", "2", "4097"}), "1 1 0\n");         // LL128
  // NCCL without NVLS, PAT or LL128 says so, and is left alone.
  EXPECT_EQ(host({table()}, {GetParam(), "tuner", "16", "2", "4", "2000000000", "4", "2"}), "declined\n");
  EXPECT_EQ(host({table()}, {GetParam(), "tuner", "16", "2", "2", "4096", "6", "2"}), "declined\n");
  EXPECT_EQ(host({table()}, {GetParam(), "tuner", "16", "2", "2", "4097", "1", "1"}), "declined\n");
}

TEST_P(EveryVersion, OfTheTunerDeclinesWithoutARowOrATable) {
  EXPECT_EQ(host({table()}, {GetParam(), "tuner", "16", "4", "4", "1024"}), "declined\n");
  EXPECT_EQ(host({table()}, {GetParam(), "tuner", "16", "2", "3", "1024"}), "declined\n");
  EXPECT_EQ(host({table()}, {GetParam(), "tuner", "16", "2", "-1", "1024"}), "declined\n");
  EXPECT_EQ(host({table()}, {GetParam(), "tuner", "16", "2", "4", "1024", "0", "0"}), "declined\n");
  EXPECT_EQ(host({}, {GetParam(), "tuner", "16", "2", "4", "1024"}), "declined\n");
  EXPECT_THAT(host({table() + "0"}, {GetParam(), "tuner", "16", "2", "4", "1024"}), HasSubstr("declined\n"));
}

/// As those of one job whose containers have different NCCLs.
TEST(TunerPlugin, OfEveryVersionDecidesAlikeByTheTableItWasStartedWith) {
  const std::string questions =
      "4 1024 0\n4 1000000 0\n4 2000000000 0\n2 4096 0\n2 4097 0\n2 4097 16\n7 1 0\n";
  const std::string answers = "0 0 2\n1 2 0\n4 2 16\n6 2 0\n1 1 0\ndeclined\ndeclined\n";
  const std::string later =
      "WEFT_NCCL_TUNER=" +
      steer::encode_tuner(
          {4, {{NcclFunction::all_reduce, 16, 2, 1 << 30, NcclAlgorithm::tree, NcclProtocol::simple, 0}}})
          .value();
  for (const char* version : {"5", "4", "3"}) {
    EXPECT_EQ(host({table()}, {version, "tuner", "16", "2"}, questions), answers) << version;
    EXPECT_EQ(host({later}, {version, "tuner", "16", "2"}, "4 1024 0\n2 4096 0\n"), "0 2 0\ndeclined\n")
        << version;
  }
}

/// What the processes of one run wrote, by process.
struct Profiled {
  explicit Profiled(std::vector<std::string> words, const std::string& every = "1")
      : place(os::ScratchDirectory::make().value()) {
    words.insert(words.begin() + 1, "profiler");
    said = host({"WEFT_NCCL_DIR=" + place.path().string(), "WEFT_NCCL_PROFILE=" + every}, words);
    for (const auto& entry : std::filesystem::directory_iterator(place.path())) {
      std::ifstream file(entry.path());
      auto& lines = files.emplace_back();
      for (std::string line; std::getline(file, line);) lines.push_back(nlohmann::json::parse(line));
    }
  }
  std::size_t with(const char* member, std::size_t of_file = 0) const {
    if (of_file >= files.size()) return 0;
    return static_cast<std::size_t>(std::ranges::count_if(
        files[of_file], [&](const nlohmann::json& line) { return line.contains(member); }));
  }
  const nlohmann::json& first_with(const char* member) const {
    return *std::ranges::find_if(files[0], [&](const nlohmann::json& line) { return line.contains(member); });
  }

  os::ScratchDirectory place;
  std::string said;
  std::vector<std::vector<nlohmann::json>> files;
};

TEST_P(EveryVersion, OfTheProfilerTellsOfEachCollectiveAndOfItsProxies) {
  const Profiled run({GetParam(), "5", "finalize"});
  EXPECT_EQ(run.said, "mask 30\n");
  ASSERT_EQ(run.files.size(), 1u);
  EXPECT_EQ(run.with("schema"), 1u);
  EXPECT_EQ(run.with("collective"), 5u);
  ASSERT_EQ(run.with("operation"), 10u);
  const auto& collective = run.first_with("collective");
  EXPECT_EQ(collective["function"], "AllReduce");
  EXPECT_EQ(collective["count"], 4096);
  EXPECT_EQ(collective["type"], "ncclFloat32");
  EXPECT_EQ(collective["algorithm"], "RING");
  EXPECT_EQ(collective["protocol"], "SIMPLE");
  EXPECT_EQ(collective["channels"], 2);
  const auto& operation = run.first_with("operation");
  EXPECT_EQ(operation["peer"], 1);
  EXPECT_EQ(operation["channel"], 1);
  EXPECT_EQ(operation["steps"], 12);
  if (std::string(GetParam()) != "3") {
    EXPECT_EQ(operation["bytes"], 12 * 1024);
  }
}

TEST(ProfilerPlugin, SamplesTheSameCollectivesOnEveryRank) {
  const Profiled run({"5", "10", "finalize"}, "4");
  EXPECT_EQ(run.with("collective"), 3u);  // 0, 4 and 8
  EXPECT_EQ(run.with("operation"), 6u);
}

TEST(ProfilerPlugin, AsksNcclForNothingWhereNobodyAskedForAProfile) {
  for (const char* every : {"0", "", "x", "-1"})
    EXPECT_EQ(Profiled({"5", "3", "finalize"}, every).said, "mask 0\n");
  EXPECT_EQ(host({"WEFT_NCCL_PROFILE=1"}, {"5", "profiler", "3", "finalize"}), "mask 0\n");
}

TEST(ProfilerPlugin, WritesWhatItHasWhenItsProcessExitsOrIsKilled) {
  for (const char* end : {"exit", "kill"}) {
    const Profiled run({"5", "3", end});
    EXPECT_EQ(run.with("operation"), 6u) << end;
  }
}

TEST(ProfilerPlugin, AChildWritesAFileOfItsOwn) {
  const Profiled run({"5", "2", "fork"});
  ASSERT_EQ(run.files.size(), 2u);
  // What the child does by its parent's communicator is not told; then it opens one.
  EXPECT_THAT((std::vector{run.with("operation", 0), run.with("operation", 1)}), testing::Each(4u));
  EXPECT_THAT((std::vector{run.with("schema", 0), run.with("schema", 1)}), testing::Each(1u));
}

TEST_P(EveryVersion, OfTheProfilerTellsCommunicatorsThatFollowEachOtherApart) {
  const Profiled run({GetParam(), "3", "again"});
  ASSERT_EQ(run.files.size(), 1u);
  ASSERT_EQ(run.with("schema"), 2u);
  const bool tells_which = std::string(GetParam()) != "3";
  std::string of;
  std::map<std::string, int> collectives;
  for (const auto& line : run.files[0]) {
    if (line.contains("schema")) of = tells_which ? std::string(line["communicator"]) : of + "next";
    collectives[of] += line.contains("collective") ? 1 : 0;
  }
  EXPECT_THAT(collectives, testing::SizeIs(2));
  EXPECT_THAT(collectives, testing::Each(testing::Field(&std::pair<const std::string, int>::second, 3)));
}

/// The directory hangs: neither the opening nor the closing of a communicator, nor an exit or a fork, waits.
TEST(ProfilerPlugin, HoldsUpNothingThoughItsFilesHang) {
  for (const char* call : {"open", "write"})
    for (const char* end : {"finalize", "exit", "fork"}) {
      const auto place = os::ScratchDirectory::make().value();
      EXPECT_THAT(host({"WEFT_NCCL_DIR=" + place.path().string(), "WEFT_NCCL_PROFILE=1",
                        std::string("FAKE_FILES_HANG=") + call,
                        "LD_PRELOAD=" WEFT_BINARY_DIR "/libweft_hanging_files.so"},
                       {"5", "profiler", "3", end}),
                  testing::StartsWith("mask 30\n"))
          << call << " " << end;
    }
}

TEST(ProfilerPlugin, OperationsOfAnotherProcessAreLeft) {
  const Profiled run({"5", "2", "other"});
  EXPECT_EQ(run.with("collective"), 2u);
  EXPECT_EQ(run.with("operation"), 0u);
}

TEST(ProfilerPlugin, HandlesUsedOnceMoreOrNeverGivenAreIgnored) {
  const Profiled run({"5", "2", "stale"});
  EXPECT_EQ(run.said, "mask 30\n");
  EXPECT_EQ(run.with("operation"), 6u);
}

TEST(ProfilerPlugin, AStepThatWaitsForLongIsToldWhileItWaits) {
  const Profiled run({"5", "1", "waiting"});
  ASSERT_GE(run.with("waiting"), 1u);
  const auto& waiting = run.first_with("waiting");
  EXPECT_EQ(waiting["for"], "network");
  EXPECT_EQ(waiting["peer"], 1);
  EXPECT_GE(waiting["since_ns"], 2'000'000'000);
  EXPECT_EQ(run.with("operation"), 2u);
}

}  // namespace
}  // namespace weft::nccl
