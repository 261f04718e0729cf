// What a process of a job leaves that is killed: it is told from what lives, whoever gives labels removes it,
// and its queue pairs are not the next job's.
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "balancer/nccl/job_files.hpp"
#include "cli/nccl.hpp"
#include "probes/run/job_directory.hpp"
#include "tests/support/command.hpp"
#include "tests/support/hung_job.hpp"
#include "tests/support/left_process.hpp"
#include "tests/support/schema.hpp"
#include "tests/support/scratch_file.hpp"
#include "tests/support/text_of.hpp"
#include "tests/support/verbs_job.hpp"

namespace weft::nccl {
namespace {

namespace fs = std::filesystem;
using run::ProcessFile;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

const std::vector<std::string> kEndless{"qps=1", "messages=10000000"};

bool tells(const steer::ProcessQps& process) { return !process.qps.empty() && process.qps[0].bytes > 0; }

std::vector<ProcessFile> files_of(const fs::path& directory) {
  return run::process_files(directory, true).value();
}

/// Once there are so many, and of so many the process has ended; else as they are after 10 s.
std::vector<ProcessFile> await_files(const VerbsJob& job, std::size_t all, std::ptrdiff_t ended) {
  std::vector<ProcessFile> files;
  for (int turn = 0; turn < 1000; ++turn) {
    files = files_of(job.directory());
    if (files.size() == all && std::ranges::count(files, true, &ProcessFile::has_ended) == ended) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_EQ(files.size(), all);
  EXPECT_EQ(std::ranges::count(files, true, &ProcessFile::has_ended), ended);
  return files;
}

/// Once it is whole: it may be just made, or half written.
std::optional<steer::ProcessQps> read_file(const fs::path& path) {
  for (int turn = 0; turn < 1000; ++turn) {
    const auto bytes = text_of(path);
    if (const auto process = steer::decode_qps(std::as_bytes(std::span(bytes)))) return *process;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return std::nullopt;
}

/// What ends a process without a word: the kernel out of memory, a scheduler.
class EndedJob : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(By, EndedJob, testing::Values(SIGKILL, SIGTERM));

TEST_P(EndedJob, IsToldFromOneThatLivesAndItsFileGoesWithTheNextLabels) {
  VerbsJob job;
  job.start(kEndless);
  ASSERT_TRUE(job.told(tells));
  EXPECT_FALSE(await_files(job, 1, 0).front().has_ended);
  run::remove_ended(job.directory());
  EXPECT_EQ(files_of(job.directory()).size(), 1u) << "it lives";
  job.kill(GetParam());
  await_files(job, 1, 1);
  EXPECT_EQ(run::newest_list(job.directory()).value(), 0u);
  run::remove_ended(job.directory());
  EXPECT_TRUE(files_of(job.directory()).empty());
}

TEST_P(EndedJob, KilledWhilePostsAreHeldLeavesItsLastStateAndTheNextBeginsByTheNewList) {
  VerbsJob job;
  job.tell({1, {labels_of_pair({kPort + 5})}});
  job.start({"qps=1", "messages=0"}, {"FAKE_STALL=1"});
  ASSERT_TRUE(job.told(tells));
  job.tell({2, {labels_of_pair({kPort + 6})}});
  ASSERT_TRUE(job.told([](const auto& process) {
    return !process.qps.empty() && process.qps[0].move == steer::Move::under_way;
  }));
  job.kill(GetParam());
  const auto files = await_files(job, 1, 1);
  const auto left = read_file(files.front().path);
  ASSERT_TRUE(left);
  ASSERT_EQ(left->qps.size(), 1u);
  EXPECT_EQ(left->qps[0].label, PathLabel(kPort + 5));
  EXPECT_EQ(left->generation, 2u);
  const auto next = job.run({"qps=1"});
  ASSERT_EQ(next.size(), 1u) << job.said;
  EXPECT_EQ(next[0].first_label, 6u);
  EXPECT_EQ(await_files(job, 1, 1).front().path, files.front().path) << "who ends by itself leaves nothing";
}

TEST(EndedJobs, AChildThatLivesOnKeepsNoFileOfItsDeadParent) {
  VerbsJob job;
  job.tell({1, {labels_of_pair({kPort + 1})}});
  job.start({"qps=1", "messages=0", "fork=1"});
  ASSERT_TRUE(job.told(tells));
  job.tell({2, {labels_of_pair({kPort + 2})}});  // then the parent is done, and forks
  await_files(job, 2, 0);
  job.kill();
  const auto files = await_files(job, 2, 1);
  const auto child = read_file(files.front().path);
  ASSERT_TRUE(child);
  ASSERT_FALSE(files.front().has_ended);
  EXPECT_EQ(kill(static_cast<pid_t>(child->pid), SIGKILL), 0);
  await_files(job, 2, 2);
}

TEST(EndedJobs, AFileThatSomebodyRemovesIsMadeAnewByAProcessThatLives) {
  VerbsJob job;
  job.start(kEndless);
  ASSERT_TRUE(job.told(tells));
  ASSERT_TRUE(fs::remove(job.own_file()));
  await_files(job, 1, 0);
  EXPECT_TRUE(job.told([](const auto& process) { return process.holds_lock; }));
}

TEST(EndedJobs, AProcessThatOpensItsOwnFileOnceMoreTakesTheLockAgain) {
  const auto scratch = os::ScratchDirectory::make().value();
  JobFiles files(scratch.path(), "");
  files.write({.pid = 1});
  const auto has_ended = [&] { return files_of(scratch.path()).front().has_ended; };
  EXPECT_FALSE(has_ended());
  EXPECT_TRUE(has_ended()) << "to look at it is to open and close it: the lock is lost";
  bool lives = false;
  for (int turn = 0; turn < 1000 && !lives; ++turn) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    files.write({.pid = 1});
    lives = !has_ended();
  }
  EXPECT_TRUE(lives);
}

TEST(EndedJobs, OfOtherHostsOlderLibrariesAndOtherFilesNothingIsRemoved) {
  const auto scratch = os::ScratchDirectory::make().value();
  const auto& here = scratch.path();
  const auto kernel = this_kernel_name();
  std::set<std::string> stay;
  std::set<std::string> go;
  const auto age = [](const fs::path& path, std::chrono::nanoseconds by) {
    fs::last_write_time(path, fs::file_time_type::clock::now() - by);
  };
  constexpr std::chrono::hours kYears{24 * 365 * 20};
  go.insert(leave_file(here, {.pid = 1}).filename());
  go.insert(leave_file(here, {.pid = 2}, {"pod-7", kernel.boot}).filename());
  stay.insert(leave_file(here, {.pid = 3}, {kernel.host, "ffffffff"}).filename());
  const auto elsewhere = leave_file(here, {.pid = 4}, {"elsewhere", "ffffffff"});
  age(elsewhere, kYears);
  stay.insert(elsewhere.filename());
  const auto before_boot = leave_file(here, {.pid = 5}, {kernel.host, "eeeeeeee"});
  age(before_boot, kYears);
  go.insert(before_boot.filename());
  const auto put = [&](const std::string& name, std::string_view bytes) {
    std::ofstream(here / name, std::ios::binary) << bytes;
    return name;
  };
  const auto old_library = steer::encode_qps({.pid = 6});
  stay.insert(
      put(process_file_name(6), {reinterpret_cast<const char*>(old_library.data()), old_library.size()}));
  stay.insert(put(process_file_name(7), ""));  // just made, and not yet written
  go.insert(put(process_file_name(8), ""));
  age(here / process_file_name(8), std::chrono::minutes(5));
  stay.insert(put("labels", ""));
  stay.insert(put("mine.qps", ""));
  age(here / "mine.qps", kYears);
  const auto outside = os::ScratchDirectory::make().value();
  const auto target = leave_file(outside.path(), {.pid = 9});
  fs::create_symlink(target, here / process_file_name(9));
  ASSERT_EQ(mkfifo((here / process_file_name(10)).c_str(), 0600), 0);
  stay.insert({process_file_name(9), process_file_name(10)});
  JobFiles living(here, "");
  living.write({.pid = 11});
  stay.insert(process_stem() + ".qps");

  std::set<std::string> ended;
  for (const auto& file : files_of(here))
    if (file.has_ended) ended.insert(file.path.filename());
  EXPECT_EQ(ended, go);
  fs::remove(here / (process_stem() + ".qps"));  // the look at it has taken its lock
  living.write({.pid = 11});
  run::remove_ended(here);
  std::set<std::string> left;
  for (const auto& entry : fs::directory_iterator(here)) left.insert(entry.path().filename());
  EXPECT_EQ(left, stay);
  EXPECT_TRUE(fs::exists(target));
}

TEST(EndedJobs, OfAnotherUserAreNotThisOnesToRemove) {
  if (geteuid() != 0) GTEST_SKIP() << "only root gives files away";
  const auto scratch = os::ScratchDirectory::make().value();
  ASSERT_EQ(chmod(scratch.path().c_str(), 0777), 0);
  const auto mine = leave_file(scratch.path(), {.pid = 1});
  const auto others = leave_file(scratch.path(), {.pid = 2});
  ASSERT_EQ(chown(mine.c_str(), 65534, 65534), 0);
  ASSERT_EQ(seteuid(65534), 0);
  run::remove_ended(scratch.path());
  ASSERT_EQ(seteuid(0), 0);
  EXPECT_FALSE(fs::exists(mine));
  EXPECT_TRUE(fs::exists(others));
  run::remove_ended(scratch.path());
  EXPECT_FALSE(fs::exists(others)) << "root's are all";
}

TEST(EndedJobs, TheQueuePairsOfAKilledJobAreNotTheNextOnes) {
  VerbsJob job;
  job.start({"qps=2", "messages=0"}, {"FAKE_STALL=1", "SLURM_JOB_ID=77", "WEFT_NCCL_JOB="});
  ASSERT_TRUE(job.told([](const auto& process) {
    return process.qps.size() == 2 && process.qps[0].stalled > std::chrono::milliseconds(2500);
  }));
  job.kill();
  job.start(kEndless, {"SLURM_JOB_ID=78", "WEFT_NCCL_JOB="});
  ASSERT_TRUE(read_file(await_files(job, 2, 1).front().path));

  const auto told = call(cli::nccl_qps_command, {job.directory().string(), "-o", "json"});
  EXPECT_EQ(told.status, 0) << told.err;
  expect_matches_schema(told.out, "qps");
  const auto processes = nlohmann::json::parse(told.out)["processes"];
  ASSERT_EQ(processes.size(), 2u) << told.out;
  EXPECT_EQ(processes[0]["job"], "78");
  EXPECT_FALSE(processes[0].contains("ended")) << told.out;
  EXPECT_EQ(processes[1]["job"], "77");
  EXPECT_EQ(processes[1]["ended"], true);
  const auto shown = unwrapped(call(cli::nccl_qps_command, {job.directory().string(), "--job", "77"}).out);
  EXPECT_THAT(shown, HasSubstr("of job 77: no labels; it has ended, and told this "));
  EXPECT_THAT(shown, HasSubstr("stalled for"));
  EXPECT_THAT(shown, Not(HasSubstr("job 78")));

  // All ranks wait, and nothing else is known.
  const HungJob hung({.pods = 2, .hosts_per_pod = 2, .rails = 2, .spines = 2, .fault = JobFault::black_hole});
  const auto scratch = os::ScratchDirectory::make().value();
  for (const auto& dump : hung.dumps)
    std::ofstream(scratch.path() / fmt::format("nccl_trace_rank_{}", dump.rank), std::ios::binary)
        << dump.bytes;
  const ScratchFile qps(told.out);
  const auto verdict =
      call(cli::nccl_hang_command, {scratch.path().string(), "--qps", qps.path(), "-o", "json"});
  EXPECT_NE(nlohmann::json::parse(verdict.out)["cause"], "network") << verdict.out;
  EXPECT_THAT(verdict.out, HasSubstr("those of ended processes are passed over: process "));
}

}  // namespace
}  // namespace weft::nccl
