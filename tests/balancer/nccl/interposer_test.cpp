// Queue pairs of a program that knows nothing of weft have their labels, as they connect and while they live.
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/verbs_job.hpp"

namespace weft::nccl {
namespace {

using steer::LabelList;
using steer::LabelSource;
using steer::Role;
using testing::Each;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;

std::vector<std::uint32_t> first_labels(const std::vector<SeenQp>& qps) {
  std::vector<std::uint32_t> labels;
  for (const SeenQp& qp : qps) labels.push_back(qp.first_label);
  return labels;
}

TEST(Interposer, GivesTheNthQueuePairTheNthLabelAndBeginsAgainAtTheEnd) {
  VerbsJob job;
  job.tell({1, {labels_of_pair({kPort + 5, kPort + 6, kPort + 7})}});
  EXPECT_THAT(first_labels(job.run({"qps=5"})), ElementsAre(5, 6, 7, 5, 6)) << job.said;
}

TEST(Interposer, ChangesNothingWithoutADirectory) {
  VerbsJob job;
  job.tell({1, {labels_of_pair({kPort + 5})}});
  EXPECT_THAT(first_labels(job.run({"qps=2"}, {"WEFT_NCCL_DIR="})), ElementsAre(0, 0)) << job.said;
}

TEST(Interposer, ChangesNothingWithoutLabels) {
  VerbsJob job;
  EXPECT_THAT(first_labels(job.run({"qps=2"})), ElementsAre(0, 0)) << job.said;
}

TEST(Interposer, KeepsALabelThatTheProgramHasChosenAlsoWhenAnotherListComes) {
  VerbsJob job;
  job.tell({1, {labels_of_pair({kPort + 5})}});
  job.start({"qps=2", "label=77", "messages=20000"});
  ASSERT_TRUE(job.told([](const auto& process) { return process.qps.size() == 2; }));
  job.tell({2, {labels_of_pair({kPort + 6})}});
  const auto told = job.told([](const auto& process) { return process.generation == 2; });
  ASSERT_TRUE(told);
  EXPECT_THAT(told->qps, Each(Field(&steer::QpRecord::source, LabelSource::program)));
  const auto qps = job.end();
  ASSERT_EQ(qps.size(), 2u) << job.said;
  for (const auto& qp : qps) EXPECT_THAT(qp.labels, ElementsAre(77));
}

TEST(Interposer, TakesTheConstantOfUcxForNobodysChoice) {
  VerbsJob job;
  const std::string of_second_path = fmt::format("label={}", ~1U);
  EXPECT_THAT(first_labels(job.run({"qps=2", of_second_path})), ElementsAre(~1U, ~1U)) << job.said;
  job.tell({1, {labels_of_pair({kPort + 5, kPort + 6})}});
  EXPECT_THAT(first_labels(job.run({"qps=2", of_second_path})), ElementsAre(5, 6)) << job.said;
}

TEST(Interposer, LeavesNcclsFlushQueuePairToItsOwnGidAlone) {
  VerbsJob job;
  auto to_itself = labels_of_pair({kPort + 9});
  to_itself.peer = to_itself.own;
  job.tell({1, {labels_of_pair({kPort + 5}), to_itself}});
  EXPECT_THAT(first_labels(job.run({"qps=1", "flush=1"})), ElementsAre(5, 0)) << job.said;
}

TEST(Interposer, TakesTheListOfWhoAnswersOnTheAcceptingSide) {
  VerbsJob job;
  job.tell({1, {labels_of_pair({kPort + 5}), labels_of_pair({kPort + 8}, Role::answers)}});
  EXPECT_THAT(first_labels(job.run({"qps=2", "answers=1"})), ElementsAre(8, 8)) << job.said;
}

TEST(Interposer, TakesTheListOfWhoSendsWhereBothEndsAreOpenToAllAsThoseOfUcx) {
  VerbsJob job;
  job.tell({1, {labels_of_pair({kPort + 5}), labels_of_pair({kPort + 8}, Role::answers)}});
  EXPECT_THAT(first_labels(job.run({"qps=2", "all=1"})), ElementsAre(5, 5)) << job.said;
}

TEST(Interposer, MovesWhoSeemedToAnswerToTheListOfWhoSendsAtItsFirstLargePost) {
  VerbsJob job;
  job.tell({1, {labels_of_pair({kPort + 5, kPort + 6}), labels_of_pair({kPort + 8}, Role::answers)}});
  const auto qps = job.run({"qps=2", "answers=1", "bytes=8192", "messages=0"});
  ASSERT_EQ(qps.size(), 2u) << job.said;
  EXPECT_THAT(qps[0].labels, ElementsAre(8, 5));
  EXPECT_THAT(qps[1].labels, ElementsAre(8, 6));
  expect_nothing_lost(qps);
}

/// Eight loaded queue pairs move to another list; `options` are of the client.
void expect_all_move(std::vector<std::string> options) {
  VerbsJob job;
  job.tell({1,
            {labels_of_pair(
                {kPort + 1, kPort + 2, kPort + 3, kPort + 4, kPort + 5, kPort + 6, kPort + 7, kPort + 8})}});
  options.insert(options.end(), {"qps=8", "messages=0"});
  // Longer than the library naps: without waiting for what flies a move would lose it.
  job.start(options, {"FAKE_DELAY_US=5000"});
  ASSERT_TRUE(job.told([](const auto& process) { return process.qps.size() == 8; }));
  job.tell({2,
            {labels_of_pair({kPort + 11, kPort + 12, kPort + 13, kPort + 14, kPort + 15, kPort + 16,
                             kPort + 17, kPort + 18})}});
  const auto qps = job.end();
  ASSERT_EQ(qps.size(), 8u) << job.said;
  for (std::uint32_t i = 0; i < 8; ++i) {
    EXPECT_THAT(qps[i].labels, ElementsAre(i + 1, i + 11));
    EXPECT_EQ(qps[i].drains, 1u);
  }
  expect_nothing_lost(qps);
}

TEST(Interposer, MovesLoadedQueuePairsWithoutLosingAMessage) { expect_all_move({}); }
TEST(Interposer, MovesThoseWhoseBytesAreCopiedAsTheyArePosted) { expect_all_move({"inline=1"}); }
TEST(Interposer, MovesThoseThatSeldomAskForACompletion) { expect_all_move({"unsignaled=7", "depth=14"}); }
TEST(Interposer, MovesThoseOfADeepQueue) { expect_all_move({"depth=512"}); }

TEST(Interposer, LeavesWhatDoesNotComeToRestAndSaysSo) {
  VerbsJob job;
  job.tell({1, {labels_of_pair({kPort + 5})}});
  job.start({"qps=2", "messages=0"}, {"FAKE_STALL=1"});
  ASSERT_TRUE(job.told([](const auto& process) { return process.qps.size() == 2; }));
  job.tell({2, {labels_of_pair({kPort + 6})}});
  const auto told = job.told([](const auto& process) {
    return process.qps.size() == 2 && process.qps[0].move == steer::Move::not_at_rest;
  });
  ASSERT_TRUE(told);
  EXPECT_EQ(told->qps[0].label, PathLabel(kPort + 5));
  EXPECT_GT(told->qps[0].under_way, 0u);
  EXPECT_GT(told->qps[0].stalled, std::chrono::milliseconds(900));
  EXPECT_EQ(told->qps[1].move, steer::Move::done);
  EXPECT_EQ(told->qps[1].label, PathLabel(kPort + 6));
}

TEST(Interposer, ConnectsByTheProgramsOwnWordsWhereTheDeviceRefusesTheLabel) {
  VerbsJob job;
  job.tell({1, {labels_of_pair({kPort + 5})}});
  EXPECT_THAT(first_labels(job.run({"qps=1"}, {"FAKE_REFUSE_LABEL=5"})), ElementsAre(0)) << job.said;
}

TEST(Interposer, TellsOfTheProcessAndItsQueuePairs) {
  VerbsJob job;
  job.tell({7, {labels_of_pair({kPort + 5})}});
  job.start({"qps=1", "messages=0"});
  const auto told =
      job.told([](const auto& process) { return !process.qps.empty() && process.qps[0].bytes > 0; });
  ASSERT_TRUE(told);
  EXPECT_EQ(told->rank, 3u);
  EXPECT_EQ(told->program, "verbs_client");
  EXPECT_EQ(told->generation, 7u);
  const auto& qp = told->qps[0];
  EXPECT_EQ(qp.number, QpNum(1));
  EXPECT_EQ(qp.peer_number, QpNum(1001));
  EXPECT_EQ(steer::gid_text(qp.own) + " " + steer::gid_text(qp.peer), "10.0.0.1 10.0.0.2");
  EXPECT_EQ(qp.label, PathLabel(kPort + 5));
  EXPECT_EQ(qp.source, LabelSource::weft);
  EXPECT_EQ(qp.device, "fake0");
  EXPECT_FALSE(qp.failed);
}

TEST(Interposer, RemovesItsFileWhenTheProcessEndsByItself) {
  VerbsJob job;
  ASSERT_EQ(job.run({"qps=1"}).size(), 1u) << job.said;
  EXPECT_TRUE(std::filesystem::is_empty(job.directory()));
}

TEST(Interposer, ServesAChildAfterForkAsAProcessOfItsOwn) {
  VerbsJob job;
  job.tell({1, {labels_of_pair({kPort + 5, kPort + 6})}});
  // Before the fork, the child's, and the parent's after it.
  EXPECT_THAT(first_labels(job.run({"qps=2", "fork=1"})), ElementsAre(5, 6, 5, 6, 5, 6)) << job.said;
}

TEST(Interposer, GivesThreadsThatConnectAtOnceEachLabelOnce) {
  VerbsJob job;
  job.tell({1,
            {labels_of_pair(
                {kPort + 1, kPort + 2, kPort + 3, kPort + 4, kPort + 5, kPort + 6, kPort + 7, kPort + 8})}});
  auto labels = first_labels(job.run({"qps=2", "threads=4", "messages=20000"}));
  std::ranges::sort(labels);
  EXPECT_THAT(labels, ElementsAre(1, 2, 3, 4, 5, 6, 7, 8)) << job.said;
}

TEST(Interposer, SurvivesQueuePairsThatAreDestroyedWhileTheyMove) {
  VerbsJob job;
  job.tell({1, {labels_of_pair({kPort + 1, kPort + 2, kPort + 3, kPort + 4})}});
  job.start({"qps=4", "close=1", "messages=4000"}, {"FAKE_DELAY_US=3000"});
  for (std::uint64_t generation = 2; generation < 40; ++generation) {
    const auto at = static_cast<std::uint32_t>(kPort + generation);
    job.tell({generation, {labels_of_pair({at, at + 1, at + 2, at + 3})}});
    usleep(10'000);
  }
  const auto qps = job.end();
  ASSERT_EQ(qps.size(), 4u) << job.said;
  expect_nothing_lost(qps);
}

TEST(Interposer, StandsBesideAnotherOfItself) {
  VerbsJob job;
  const auto copy = job.directory() / "other.so";
  std::filesystem::copy_file(job.preload, copy);
  job.preload += ":" + copy.string();
  job.tell({1, {labels_of_pair({kPort + 5, kPort + 6})}});
  EXPECT_THAT(first_labels(job.run({"qps=2"})), ElementsAre(5, 6)) << job.said;
}

TEST(Interposer, GoesOnWithItsLabelsWhenItsFilesVanish) {
  VerbsJob job;
  job.tell({1, {labels_of_pair({kPort + 5})}});
  job.start({"qps=2", "messages=5000"});
  ASSERT_TRUE(job.told([](const auto& process) { return process.qps.size() == 2; }));
  std::filesystem::remove_all(job.directory());
  const auto qps = job.end();
  ASSERT_EQ(qps.size(), 2u) << job.said;
  for (const auto& qp : qps) EXPECT_THAT(qp.labels, ElementsAre(5));
}

/// The job runs as without weft, and says in a line why the list is not in force.
void expect_refused(VerbsJob& job, const std::string& why) {
  job.start({"qps=1", "messages=20000"});
  const auto told = job.told([](const auto& process) { return !process.note.empty(); });
  ASSERT_TRUE(told);
  EXPECT_THAT(told->note, HasSubstr(why));
  EXPECT_THAT(first_labels(job.end()), ElementsAre(0)) << job.said;
}

std::string as_text(const LabelList& list) {
  const auto bytes = steer::encode_labels(list).value();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

TEST(Interposer, RefusesAListOfAnotherVersion) {
  VerbsJob job;
  auto text = as_text({1, {labels_of_pair({kPort + 5})}});
  text[11] = 3;
  job.tell_bytes(text);
  expect_refused(job, "version 3");
}

TEST(Interposer, RefusesAListThatIsHalfWritten) {
  VerbsJob job;
  auto text = as_text({1, {labels_of_pair({kPort + 5, kPort + 6})}});
  text.replace(text.size() - 4, 4, 4, '\0');
  job.tell_bytes(text);
  expect_refused(job, "half written");
}

TEST(Interposer, RefusesAListCutShort) {
  VerbsJob job;
  job.tell_bytes(as_text({1, {labels_of_pair({kPort + 5})}}).substr(0, 120));
  expect_refused(job, "cut short");
}

TEST(Interposer, RefusesAListThatOthersMayWrite) {
  VerbsJob job;
  job.tell({1, {labels_of_pair({kPort + 5})}});
  ASSERT_EQ(chmod(job.labels_path().c_str(), 0666), 0);
  expect_refused(job, "others may write it");
}

TEST(Interposer, RefusesAListOfAnotherUser) {
  VerbsJob job;
  job.tell({1, {labels_of_pair({kPort + 5})}});
  if (chown(job.labels_path().c_str(), 12'345, 0) != 0) GTEST_SKIP() << "only root gives files away";
  expect_refused(job, "of user 12345");
}

TEST(Interposer, TakesALinkAFolderAndAPipeInTheListsPlaceForNoList) {
  for (int kind = 0; kind < 3; ++kind) {
    VerbsJob job;
    const auto path = job.labels_path();
    if (kind == 0) std::filesystem::create_symlink("/dev/zero", path);
    if (kind == 1) std::filesystem::create_directory(path);
    if (kind == 2) {
      ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
    }
    EXPECT_THAT(first_labels(job.run({"qps=1"})), ElementsAre(0)) << kind << job.said;
  }
}

TEST(Interposer, RunsTheJobWhereItsDirectoryCannotBeMade) {
  VerbsJob job;
  EXPECT_THAT(first_labels(job.run({"qps=2"}, {"WEFT_NCCL_DIR=/proc/no/such"})), ElementsAre(0, 0))
      << job.said;
}

}  // namespace
}  // namespace weft::nccl
