// What the library must never do to a job: wait for its files, hold up its calls, lose what it took.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "tests/places.hpp"
#include "tests/support/verbs_job.hpp"
#include "topology/os/file_descriptor.hpp"
#include "topology/os/run_program.hpp"

namespace weft::nccl {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::MatchesRegex;

/// Two queue pairs take the second list's labels.
std::vector<SeenQp> moved(VerbsJob& job, std::vector<std::string> options, std::vector<std::string> env) {
  job.tell({1, {labels_of_pair({kPort + 1, kPort + 2})}});
  options.insert(options.end(), {"qps=2", "messages=0"});
  job.start(std::move(options), std::move(env));
  EXPECT_TRUE(job.told([](const auto& process) {
    return process.qps.size() >= 2 &&
           std::ranges::all_of(process.qps, [](const auto& qp) { return qp.bytes > 0; });
  })) << "both send by their first labels";
  job.tell({2, {labels_of_pair({kPort + 11, kPort + 12})}});
  const auto qps = job.end();
  EXPECT_EQ(qps.size(), 2u) << job.said;
  expect_nothing_lost(qps);
  return qps;
}

TEST(SafeJob, MovesByTheDevicesOwnCallAlsoWhereItsLibraryComesAfterTheFirstLookAtLibibverbs) {
  VerbsJob job;
  const auto qps = moved(job, {}, {"FAKE_MLX5=" WEFT_BINARY_DIR "/libweft_fake_mlx5.so"});
  for (const auto& qp : qps) EXPECT_EQ(qp.drains, 0u);
  ASSERT_EQ(qps.size(), 2u);
  EXPECT_THAT(qps[0].labels, ElementsAre(1, 11));
}

TEST(SafeJob, KeepsLibibverbsWhereTheProgramClosesIt) {
  VerbsJob job;
  EXPECT_EQ(job.run({"qps=1", "unload=1"}).size(), 1u) << job.said;
}

TEST(SafeJob, EndsThoughItsFilesHang) {
  for (const char* call : {"open", "pwrite", "lock"})
    for (const char* fork : {"fork=0", "fork=1"}) {
      VerbsJob job;
      job.preload += ":" WEFT_BINARY_DIR "/libweft_hanging_files.so";
      job.start({"qps=2", "messages=3000", fork}, {std::string("FAKE_FILES_HANG=") + call});
      EXPECT_FALSE(job.end(std::chrono::seconds(20)).empty()) << call << " " << fork << " " << job.said;
    }
}

TEST(SafeJob, HoldsUpNoOtherCallWhileAQueuePairDrains) {
  VerbsJob job;
  moved(job, {"watch=1"}, {"FAKE_DRAIN_MS=600"});
}

TEST(SafeJob, DestroysQueuePairsThatDrain) {
  VerbsJob job;
  job.tell({1, {labels_of_pair({kPort + 1, kPort + 2, kPort + 3, kPort + 4})}});
  job.start({"qps=4", "close=1", "messages=4000"}, {"FAKE_DELAY_US=1000", "FAKE_DRAIN_MS=15"});
  for (std::uint64_t generation = 2; generation < 40; ++generation) {
    const auto at = static_cast<std::uint32_t>(kPort + generation);
    job.tell({generation, {labels_of_pair({at, at + 1, at + 2, at + 3})}});
    usleep(10'000);
  }
  const auto qps = job.end();
  EXPECT_EQ(qps.size(), 4u) << job.said;
  expect_nothing_lost(qps);
}

TEST(SafeJob, DrainsNoneWhoseLastPostMayStillBeUnderWay) {
  // Every other post asks for no completion and takes 150 ms, and the program rests for 100 ms behind it.
  VerbsJob job;
  for (const auto& qp :
       moved(job, {"unsignaled=2", "depth=2", "rest=100"}, {"FAKE_SLOW_UNSIGNALED_US=150000"})) {
    EXPECT_EQ(qp.drains, 1u);
    EXPECT_THAT(qp.labels, testing::SizeIs(2)) << "it sent by both";
  }
}

/// One post that asks for no completion, and then nothing.
std::optional<steer::ProcessQps> told_of_silence(VerbsJob& job, const std::string& timeout,
                                                 const std::string& rnr) {
  job.tell({1, {labels_of_pair({kPort + 1})}});
  job.start({"qps=1", "messages=0", "unsignaled=100", "depth=1", timeout, rnr});
  EXPECT_TRUE(job.told([](const auto& process) { return process.qps.size() == 1; }));
  job.tell({2, {labels_of_pair({kPort + 11})}});
  usleep(500'000);
  return job.told([](const auto& process) { return process.generation == 2; });
}

TEST(SafeJob, MovesWhoSaysNothingOnlyOnceItsOwnTimeoutsHavePassed) {
  VerbsJob soon;  // 4 * 4.096 us * 2^8 * 8 tries: 34 ms
  const auto told = told_of_silence(soon, "timeout=8", "rnr=0");
  ASSERT_TRUE(told);
  EXPECT_TRUE(soon.told(
      [](const auto& process) { return !process.qps.empty() && process.qps[0].move == steer::Move::done; }));
  // 137 s; without any limit; as long as the peer has no receive buffer.
  using Attributes = std::pair<const char*, const char*>;
  for (const auto& [timeout, rnr] :
       {Attributes{"timeout=20", "rnr=0"}, {"timeout=0", "rnr=0"}, {"timeout=8", "rnr=7"}}) {
    VerbsJob late;
    const auto stays = told_of_silence(late, timeout, rnr);
    ASSERT_TRUE(stays);
    EXPECT_THAT(stays->qps, Each(Field(&steer::QpRecord::label, PathLabel(kPort + 1)))) << timeout << rnr;
  }
}

TEST(SafeJob, PostsWhatItHeldAsTheQueueHasRoomForIt) {
  // Full of posts of which few ask for a completion, and without any for longer than a hold lasts.
  VerbsJob job;
  job.tell({1, {labels_of_pair({kPort + 1})}});
  job.start({"qps=1", "messages=20000", "unsignaled=4", "greedy=1"}, {"FAKE_STALL=1", "FAKE_STALL_MS=2500"});
  ASSERT_TRUE(job.told([](const auto& process) { return process.qps.size() == 1; }));
  job.tell({2, {labels_of_pair({kPort + 11})}});
  const auto stays = job.told([](const auto& process) {
    return !process.qps.empty() && process.qps[0].move == steer::Move::not_at_rest;
  });
  EXPECT_TRUE(stays);
  const auto qps = job.end();
  ASSERT_EQ(qps.size(), 1u) << job.said;
  EXPECT_GE(qps[0].messages, 20'000u);
  expect_nothing_lost(qps);
}

TEST(SafeJob, FailsAQueuePairThatStaysDrained) {
  VerbsJob job;
  job.tell({1, {labels_of_pair({kPort + 1})}});
  job.start({"qps=1", "messages=0"}, {"FAKE_REFUSE_RTS=1"});
  ASSERT_TRUE(job.told([](const auto& process) { return process.qps.size() == 1; }));
  job.tell({2, {labels_of_pair({kPort + 11})}});
  EXPECT_TRUE(job.end().empty());
  EXPECT_THAT(job.said, HasSubstr("completion: ")) << "it must see that its queue pair is of no use";
}

/// It posts all the time, also while others of its posts are under way.
const std::vector<std::string> kFailsHeld{"fail=1", "bears=1", "unsignaled=2", "rest=10"};

TEST(SafeJob, GivesBackAllPostsOfAQueuePairThatComesIntoErrorWhileTheyAreHeld) {
  VerbsJob job;
  for (const auto& qp : moved(job, kFailsHeld, {"FAKE_DELAY_US=400000"})) {
    const bool has_failed = qp.labels.front() == 1;
    EXPECT_EQ(qp.labels.size(), has_failed ? 1u : 2u) << "only the other has another label";
    EXPECT_EQ(qp.drains, has_failed ? 0u : 1u);
  }
}

TEST(SafeJob, GivesBackAllPostsOfAQueuePairThatComesIntoErrorAsItDrains) {
  VerbsJob job;
  for (const auto& qp : moved(job, {"bears=1"}, {"FAKE_FAIL_IN_DRAIN=1"})) {
    EXPECT_EQ(qp.drains, 1u);
    EXPECT_THAT(qp.labels, testing::SizeIs(1));
  }
}

TEST(SafeJob, TellsOfAQueuePairInErrorAndThatNothingOfItIsUnderWay) {
  VerbsJob job;
  job.tell({1, {labels_of_pair({kPort + 1, kPort + 2})}});
  auto options = kFailsHeld;
  options.insert(options.end(), {"qps=2", "messages=10000000"});
  job.start(options, {"FAKE_DELAY_US=400000"});
  ASSERT_TRUE(job.told([](const auto& process) { return process.qps.size() == 2; }));
  job.tell({2, {labels_of_pair({kPort + 11, kPort + 12})}});
  const auto told = job.told([](const auto& process) {
    return process.qps.size() == 2 && process.qps[0].errors > 0 &&
           process.qps[0].move != steer::Move::under_way && process.qps[1].move == steer::Move::done;
  });
  ASSERT_TRUE(told);
  const auto& failed = told->qps[0];
  EXPECT_TRUE(failed.failed);
  EXPECT_EQ(failed.label, PathLabel(kPort + 1));
  EXPECT_EQ(failed.under_way, 0u);
  EXPECT_EQ(failed.stalled.count(), 0);
  EXPECT_FALSE(told->qps[1].failed);
}

TEST(SafeJob, LeavesAProgramWithoutLibibverbsAlone) {
  const VerbsJob job;
  const auto ended =
      os::run_program({"env", "LD_PRELOAD=" + job.preload, "WEFT_NCCL_DIR=" + job.directory().string(),
                       WEFT_BINARY_DIR "/verbs_client", "no-verbs"},
                      "", std::chrono::seconds(20));
  EXPECT_TRUE(ended) << ended.error().message;
  EXPECT_TRUE(std::filesystem::is_empty(job.directory()));
}

/// An NCCL before 2.28 opens the library as a tuner plugin, by which nothing comes into the way of its verbs.
TEST(SafeJob, AsATunerPluginAloneChangesNothingOfTheQueuePairs) {
  VerbsJob job;
  job.tell({1, {labels_of_pair({kPort + 5})}});
  const std::string plugin = "NCCL_TUNER_PLUGIN=" + job.preload;
  job.preload.clear();
  const auto qps = job.run({"qps=2"}, {plugin});
  ASSERT_EQ(qps.size(), 2u) << job.said;
  for (const auto& qp : qps) EXPECT_EQ(qp.first_label, 0u);
  EXPECT_TRUE(job.own_file().empty());
  job.preload = plugin.substr(plugin.find('=') + 1);
  const auto both = job.run({"qps=2"}, {plugin});
  ASSERT_EQ(both.size(), 2u) << job.said;
  for (const auto& qp : both) EXPECT_EQ(qp.first_label, 5u);
}

TEST(SafeJob, GivesThePlacesOfACommunicatorThatGoesToTheNextOne) {
  VerbsJob job;
  job.tell({1, {labels_of_pair({kPort + 5, kPort + 6, kPort + 7, kPort + 8, kPort + 9, kPort + 10})}});
  std::vector<std::uint32_t> labels;
  for (const auto& qp : job.run({"qps=2", "communicators=1"})) {
    labels.push_back(qp.first_label);
    EXPECT_THAT(qp.labels, ElementsAre(qp.first_label)) << "and sends by it";
    EXPECT_EQ(qp.wrong, 0u);
  }
  EXPECT_THAT(labels, ElementsAre(5, 6, 7, 8, 5, 6, 7, 8)) << job.said;
}

TEST(SafeJob, KnowsTheLinkByThePortAndNotByADlidThatIsNobodys) {
  VerbsJob job;
  job.tell({1, {labels_of_pair({kPort + 5})}});
  const auto qps = job.run({"qps=1", "dlid=7"});
  ASSERT_EQ(qps.size(), 1u) << job.said;
  EXPECT_EQ(qps[0].first_label, 5u);
  // And a list of ports is none for InfiniBand, also where the program has no LID.
  const auto others = job.run({"qps=1"}, {"FAKE_LINK=infiniband"});
  ASSERT_EQ(others.size(), 1u) << job.said;
  EXPECT_EQ(others[0].first_label, 0u);
}

TEST(SafeJob, NamesItsFileByHostBootPidNamespaceAndPid) {
  VerbsJob job;
  job.start({"qps=1", "messages=0"});
  ASSERT_TRUE(job.told([](const auto& process) { return process.qps.size() == 1; }));
  EXPECT_THAT(job.own_file().filename().string(),
              MatchesRegex("[-A-Za-z0-9._]+-[0-9a-f]{8}-[0-9]+-[0-9]+.qps"));
}

TEST(SafeJob, RemovesNoFileThatIsAnothers) {
  VerbsJob job;
  job.start({"qps=1", "messages=20000"});
  ASSERT_TRUE(job.told([](const auto& process) { return process.qps.size() == 1; }));
  const auto own = job.own_file();
  std::filesystem::rename(own, job.directory() / "away");
  std::filesystem::copy_file(job.directory() / "away", own);
  EXPECT_EQ(job.end().size(), 1u) << job.said;
  EXPECT_TRUE(std::filesystem::exists(own));
}

TEST(SafeJob, TakesAGoodListBesideABadOneOfAHigherGeneration) {
  VerbsJob job;
  job.start({"qps=1", "messages=10000000"});
  ASSERT_TRUE(job.told([](const auto& process) { return process.qps.size() == 1; }));
  auto bad = steer::encode_labels({9, {labels_of_pair({kPort + 9})}}).value();
  bad.back() ^= std::byte{1};
  job.tell_bytes({reinterpret_cast<const char*>(bad.data()), bad.size()});
  const auto good = steer::encode_labels({5, {labels_of_pair({kPort + 5})}}).value();
  const os::FileDescriptor own(open(job.own_file().c_str(), O_WRONLY | O_CLOEXEC));
  ASSERT_EQ(pwrite(own.get(), good.data(), good.size(), steer::kLabelsAt), static_cast<ssize_t>(good.size()));
  const auto told = job.told([](const auto& process) { return process.generation == 5; });
  ASSERT_TRUE(told);
  EXPECT_THAT(told->note, HasSubstr("half written"));
}

TEST(SafeJob, SaysThatAListIsOlderThanTheOneInForce) {
  VerbsJob job;
  job.tell({7, {labels_of_pair({kPort + 7})}});
  job.start({"qps=1", "messages=10000000"});
  ASSERT_TRUE(job.told([](const auto& process) { return process.generation == 7; }));
  job.tell({3, {labels_of_pair({kPort + 3})}});
  EXPECT_TRUE(job.told([](const auto& process) {
    return process.generation == 7 && process.note.find("list 3 is older than list 7") != std::string::npos;
  }));
}

TEST(SafeJob, TakesNoListOfAnotherJob) {
  const auto first_label = [](const char* of, const std::vector<std::string>& env) {
    VerbsJob job;
    steer::LabelList list{1, {labels_of_pair({kPort + 5})}};
    list.job = of;
    job.tell(list);
    const auto qps = job.run({"qps=1"}, env);
    EXPECT_EQ(qps.size(), 1u) << job.said;
    return qps.empty() ? 0 : qps[0].first_label;
  };
  EXPECT_EQ(first_label("77", {"SLURM_JOB_ID=77"}), 5u);
  EXPECT_EQ(first_label("77", {"SLURM_JOB_ID=78"}), 0u);
  EXPECT_EQ(first_label("77", {"SLURM_JOB_ID="}), 0u);
  EXPECT_EQ(first_label("", {"SLURM_JOB_ID=78"}), 5u);
  EXPECT_EQ(first_label("mine", {"SLURM_JOB_ID=78", "WEFT_NCCL_JOB=mine"}), 5u);
  EXPECT_EQ(first_label("a/b c", {"SLURM_JOB_ID=a/b c"}), 5u);
}

TEST(SafeJob, TakesTheListOfItsOwnJobWhereJobsShareADirectory) {
  VerbsJob job;
  job.tell({.generation = 1, .pairs = {labels_of_pair({kPort + 1})}});
  for (const std::uint32_t of : {77u, 78u})
    job.tell({.generation = of, .pairs = {labels_of_pair({kPort + of})}, .job = std::to_string(of)});
  for (const std::uint32_t of : {77u, 78u, 77u}) {
    const auto qps = job.run({"qps=1"}, {"SLURM_JOB_ID=" + std::to_string(of)});
    ASSERT_EQ(qps.size(), 1u) << job.said;
    EXPECT_EQ(qps[0].first_label, of);
  }
  const auto of_none = job.run({"qps=1"}, {"SLURM_JOB_ID="});
  ASSERT_EQ(of_none.size(), 1u) << job.said;
  EXPECT_EQ(of_none[0].first_label, 1u);
}

TEST(SafeJob, SaysNothingOfAnOlderListOfAnyJobAndNamesWhatIsWrongWithItsOwn) {
  VerbsJob job;
  job.tell({.generation = 1, .pairs = {labels_of_pair({kPort + 1})}});
  job.tell({.generation = 2, .pairs = {labels_of_pair({kPort + 2})}, .job = "77"});
  job.start({"qps=1", "messages=10000000"}, {"SLURM_JOB_ID=77"});
  const auto told = job.told([](const auto& process) { return process.generation == 2; });
  ASSERT_TRUE(told);
  EXPECT_EQ(told->note, "");
  const auto bytes =
      steer::encode_labels({.generation = 3, .pairs = {labels_of_pair({kPort + 3})}, .job = "77"}).value();
  const auto beside = job.directory() / "beside";
  std::ofstream(beside, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  ASSERT_EQ(chmod(beside.c_str(), 0666), 0);
  std::filesystem::rename(beside, job.directory() / steer::labels_file("77"));
  EXPECT_TRUE(job.told([](const auto& process) {
    return process.generation == 2 && process.note.find("others may write it") != std::string::npos;
  }));
}

TEST(SafeJob, SaysThatTheListInItsJobsFileIsOfAnother) {
  VerbsJob job;
  const auto bytes =
      steer::encode_labels({.generation = 1, .pairs = {labels_of_pair({kPort + 5})}, .job = "77"}).value();
  job.tell_bytes({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, steer::labels_file("78"));
  job.start({"qps=1", "messages=10000000"}, {"SLURM_JOB_ID=78"});
  EXPECT_TRUE(job.told([](const auto& process) {
    return process.generation == 0 && process.note.find("list 1 is of job 77") != std::string::npos;
  }));
}

}  // namespace
}  // namespace weft::nccl
