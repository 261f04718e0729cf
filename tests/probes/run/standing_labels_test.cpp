// What a standing agent does with the labels that an operator gives: what it takes, what it refuses and why,
// and the directory that it writes into.
#include "probes/run/standing_labels.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <thread>

#include "balancer/steer/process_qps.hpp"
#include "probes/run/job_directory.hpp"
#include "probes/run/label_delivery.hpp"
#include "probes/run/standing_agent.hpp"
#include "tests/fakes/fake_watch_bus.hpp"
#include "tests/support/left_process.hpp"
#include "tests/support/text_of.hpp"
#include "topology/os/scratch_directory.hpp"

namespace weft::run {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

const IpAddress kOwn{IpAddress::V4{10, 0, 0, 1}};
const std::vector<IpAddress> kOwnNics{kOwn};
const IpAddress kPeer{IpAddress::V4{10, 0, 0, 2}};

steer::LabelList list_of(std::uint64_t generation, const IpAddress& own = kOwn) {
  return {.generation = generation,
          .pairs = {{steer::gid_of(own),
                     steer::gid_of(kPeer),
                     std::nullopt,
                     steer::Role::sends,
                     {PathLabel(50'000), PathLabel(50'001)}}},
          .job = "77"};
}
std::vector<std::byte> bytes_of(const steer::LabelList& list) { return steer::encode_labels(list).value(); }

TEST(CheckLabels, TakesThoseOfItsOwnNicsThatAreNewer) {
  EXPECT_EQ(check_labels(bytes_of(list_of(6)), kOwnNics, 5).value(), list_of(6));
  const auto other = check_labels(bytes_of(list_of(6, kPeer)), kOwnNics, 5);
  EXPECT_THAT(other.error().message, HasSubstr("10.0.0.2, which is no NIC"));
  const auto old = check_labels(bytes_of(list_of(5)), kOwnNics, 5);
  EXPECT_EQ(old.error().kind, ErrorKind::conflict);
  EXPECT_THAT(old.error().message, HasSubstr("list 5 is not newer than list 5"));
}

TEST(CheckLabels, RefusesWhatIsCutChangedEmptyOrOfANumberThatLeavesNoRoom) {
  const auto whole = bytes_of(list_of(6));
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_FALSE(check_labels(ByteSpan(whole).first(size), kOwnNics, 0)) << size;
  for (std::size_t at = 0; at < whole.size(); at += 3) {
    auto changed = whole;
    changed[at] ^= std::byte{0x10};
    EXPECT_FALSE(check_labels(changed, kOwnNics, 0)) << at;
  }
  EXPECT_FALSE(check_labels(bytes_of({.generation = 6}), kOwnNics, 0));
  EXPECT_FALSE(check_labels(bytes_of(list_of(~std::uint64_t{0})), kOwnNics, 0));
}

class TakenLabels : public ::testing::Test {
 protected:
  std::string directory() const { return scratch_.path() / "job"; }
  void SetUp() override { ASSERT_EQ(mkdir(directory().c_str(), 0700), 0); }

  /// What an agent with this directory answers to one request.
  static watch::LabelAnswer answer(StandingLabels& labels, const watch::LabelRequest& request) {
    const auto bytes = watch::encode_request(request).value();
    return answer_to(labels, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  }
  static watch::LabelAnswer answer_to(StandingLabels& labels, std::string request) {
    labels.take(std::move(request));
    for (;;) {
      const auto answers = labels.answers();
      if (!answers.empty()) return watch::read_answer(answers[0].text).value();
      std::this_thread::sleep_for(1ms);
    }
  }
  watch::LabelAnswer give(const steer::LabelList& list, std::uint64_t id = 1) {
    return answer(labels_, {.id = id, .list = bytes_of(list)});
  }
  steer::LabelList written() const {
    const auto text = text_of(directory() + "/labels.77");
    return steer::decode_labels(std::as_bytes(std::span(text))).value();
  }
  void put(const std::string& name, const std::vector<std::byte>& bytes) const {
    std::ofstream(directory() + "/" + name, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  }

  os::ScratchDirectory scratch_ = os::ScratchDirectory::make().value();
  StandingLabels labels_{{.directory = directory(), .refused = {}}, {kOwn}};
};

TEST_F(TakenLabels, AreWrittenWhereTheJobsProcessesTakeThem) {
  EXPECT_EQ(answer(labels_, {.id = 9}), (watch::LabelAnswer{.id = 9})) << "there is no list yet";
  EXPECT_EQ(give(list_of(1), 10), (watch::LabelAnswer{.id = 10, .generation = 1}));
  EXPECT_EQ(written(), list_of(1));
  struct stat about {};
  ASSERT_EQ(stat((directory() + "/labels.77").c_str(), &about), 0);
  EXPECT_EQ(about.st_uid, geteuid());
  EXPECT_EQ(about.st_mode & 0777, 0644u);
  EXPECT_EQ(answer(labels_, {.id = 11}), (watch::LabelAnswer{.id = 11, .generation = 1}));
}

TEST_F(TakenLabels, ARequestThatComesAgainIsAnsweredAgain) {
  EXPECT_EQ(give(list_of(1), 5).refused, "");
  EXPECT_EQ(give(list_of(1), 5).refused, "") << "its answer was lost, and it was sent again";
  EXPECT_THAT(give(list_of(1), 6).refused, HasSubstr("list 1 is not newer than list 1"));
}

TEST_F(TakenLabels, AreNewerThanAnyThatIsThereOrInForce) {
  put("a.qps", steer::encode_qps({.pid = 7, .generation = 40}));
  EXPECT_EQ(answer(labels_, {.id = 1}).generation, 40u);
  EXPECT_THAT(give(list_of(40), 2).refused, HasSubstr("not newer than list 40"));
  EXPECT_EQ(give(list_of(41), 3).refused, "");
  // Any user may write a file of a process: one that claims the last number holds nobody up.
  put("b.qps", steer::encode_qps({.pid = 8, .generation = steer::kMaxGeneration}));
  EXPECT_EQ(answer(labels_, {.id = 4}).generation, 41u);
}

TEST_F(TakenLabels, AreTakenHoweverManyKilledProcessesHaveLeftTheirFiles) {
  constexpr unsigned kLeft = 1100;
  for (unsigned pid = 1; pid <= kLeft; ++pid) leave_file(directory(), {.pid = pid, .generation = 40});
  put("a.qps", steer::encode_qps({.pid = 7, .generation = 4}));
  EXPECT_EQ(newest_list(directory()).value(), 4u);
  EXPECT_EQ(process_files(directory(), true).value().size(), kLeft + 1);
  EXPECT_EQ(give(list_of(5)).refused, "");
  std::set<std::string> left;
  for (const auto& entry : std::filesystem::directory_iterator(directory()))
    left.insert(entry.path().filename());
  EXPECT_EQ(left, (std::set<std::string>{"a.qps", "labels.77"}));
}

TEST_F(TakenLabels, AreRefusedWhereMoreProcessesLiveThanAHostHas) {
  for (int i = 0; i < 1025; ++i) put(std::to_string(i) + ".qps", steer::encode_qps({.pid = 1}));
  EXPECT_THAT(give(list_of(1)).refused, HasSubstr(directory() + ": more than 1024 files of processes"));
}

TEST_F(TakenLabels, OfManyJobsTheOldestGo) {
  put("labels", bytes_of(list_of(1)));
  std::uint64_t generation = 1;
  for (std::size_t job = 0; job < steer::kMaxLabelFiles + 3; ++job) {
    auto list = list_of(++generation);
    list.job = std::to_string(job);
    EXPECT_EQ(give(list, generation).refused, "");
  }
  std::set<std::string> left;
  for (const auto& entry : std::filesystem::directory_iterator(directory()))
    left.insert(entry.path().filename());
  EXPECT_EQ(left.size(), steer::kMaxLabelFiles);
  EXPECT_TRUE(left.contains("labels")) << "that of any job";
  EXPECT_FALSE(left.contains("labels.0"));
  EXPECT_TRUE(left.contains("labels.66"));
}

TEST_F(TakenLabels, NothingInTheDirectoryIsFollowedOrWaitedFor) {
  const auto elsewhere = scratch_.path() / "elsewhere";
  std::ofstream(elsewhere) << "mine";
  ASSERT_EQ(symlink(elsewhere.c_str(), (directory() + "/labels.77").c_str()), 0);
  ASSERT_EQ(mkfifo((directory() + "/pipe.qps").c_str(), 0600), 0);
  ASSERT_EQ(symlink("/dev/zero", (directory() + "/zero.qps").c_str()), 0);
  EXPECT_EQ(give(list_of(1)).refused, "");
  EXPECT_EQ(text_of(elsewhere), "mine");
  EXPECT_EQ(written(), list_of(1));
}

TEST_F(TakenLabels, AreRefusedWhereNoJobWouldTakeThemOrAnybodyMayTakeThemAway) {
  ASSERT_EQ(chmod(directory().c_str(), 0777), 0);
  EXPECT_THAT(give(list_of(1)).refused, HasSubstr("chmod +t " + directory()));
  ASSERT_EQ(chmod(directory().c_str(), 01777), 0);
  EXPECT_EQ(give(list_of(1)).refused, "");
  const auto link = scratch_.path() / "link";
  ASSERT_EQ(symlink(directory().c_str(), link.c_str()), 0);
  StandingLabels by_link({.directory = link, .refused = {}}, {kOwn});
  EXPECT_THAT(answer(by_link, {.id = 1}).refused, HasSubstr(link.string()));
  StandingLabels nowhere({.directory = scratch_.path() / "none", .refused = {}}, {kOwn});
  EXPECT_THAT(answer(nowhere, {.id = 1}).refused, HasSubstr("none: No such file"));
}

TEST_F(TakenLabels, AreRefusedWithoutADirectory) {
  StandingLabels labels({}, {kOwn});
  EXPECT_THAT(answer(labels, {.id = 1}).refused, HasSubstr("no directory of jobs (--nccl-dir)"));
  EXPECT_THAT(answer(labels, {.id = 1, .list = bytes_of(list_of(1))}).refused, HasSubstr("--nccl-dir"));
}

TEST_F(TakenLabels, HostileRequestsAreAnsweredOrPassedOver) {
  labels_.take("");
  labels_.take(R"({"stream":"WEFT_OBS","seq":1})");
  auto other = watch::encode_request({.id = 8}).value();
  store_be32(other, 8, 99);
  EXPECT_THAT(answer_to(labels_, {reinterpret_cast<const char*>(other.data()), other.size()}).refused,
              HasSubstr("protocol 99"));
  auto whole = watch::encode_request({.id = 3, .list = bytes_of(list_of(1))}).value();
  whole.resize(whole.size() - 1);
  EXPECT_THAT(answer_to(labels_, {reinterpret_cast<const char*>(whole.data()), whole.size()}).refused,
              HasSubstr("cut short"));
  const std::vector<std::byte> zeros(watch::kMaxLabelRequest - 24);
  EXPECT_THAT(answer(labels_, {.id = 4, .list = zeros}).refused, HasSubstr("no label list"));
  EXPECT_FALSE(std::filesystem::exists(directory() + "/labels"));
}

TEST_F(TakenLabels, ComeOverTheBusByTheStandingAgentOfEachHost) {
  fakes::FakeWatchBus bus;
  const auto operates = bus.operator_link();
  std::string said;
  std::mutex mutex;
  const StandingOptions options{
      .host = "host1",
      .version = "test",
      .nics = {{"eth0", kOwn}},
      .open = [](const session::NicReport&) -> Result<OpenedNic> { return fail(ErrorKind::absent, "none"); },
      .labels = {.directory = directory(), .refused = {}},
      .say =
          [&](const std::string& line) {
            const std::lock_guard lock(mutex);
            said += line + "\n";
          },
      .timing = {.look = 1ms}};
  const auto link = bus.agent("host1");
  std::vector<HostDelivery> hosts;
  {
    const std::jthread agent(
        [&](const std::stop_token& stop) { EXPECT_TRUE(run_standing_agent(options, *link, stop)); });
    hosts = deliver_labels(*operates, {{"host1", list_of(0)}, {"host2", list_of(0, kPeer)}},
                           {.again = 100ms, .asked = 3s, .given = 20s});
  }
  ASSERT_EQ(hosts.size(), 2u);
  EXPECT_EQ(hosts[0].what, Delivery::taken) << hosts[0].why;
  EXPECT_EQ(hosts[1].what, Delivery::no_agent);
  EXPECT_EQ(written(), list_of(1));
  EXPECT_THAT(said, HasSubstr("list 1 of labels is in " + directory() + ": 1 pairs of NICs, of job 77"));
}

TEST_F(TakenLabels, OfAnotherUsersDirectoryAreRefusedUnlessTheAgentIsRoot) {
  if (geteuid() != 0) GTEST_SKIP() << "only root gives directories away";
  ASSERT_EQ(chown(directory().c_str(), 65534, 65534), 0);
  EXPECT_EQ(give(list_of(1)).refused, "") << "a file of root: jobs of any user take it";
  ASSERT_EQ(chmod(scratch_.path().c_str(), 0755), 0);
  ASSERT_EQ(chown(directory().c_str(), 0, 0), 0);
  ASSERT_EQ(chmod(directory().c_str(), 0755), 0);
  ASSERT_EQ(seteuid(65534), 0);
  const auto newest = newest_list(directory());
  StandingLabels as_nobody({.directory = directory(), .refused = {}}, {kOwn});
  const auto refused = answer(as_nobody, {.id = 1}).refused;
  ASSERT_EQ(seteuid(0), 0);
  EXPECT_EQ(newest.value(), 1u);
  EXPECT_THAT(refused, HasSubstr("is of user 0, and the agent runs as user 65534"));
}

}  // namespace
}  // namespace weft::run
