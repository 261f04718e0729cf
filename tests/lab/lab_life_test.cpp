// How labs begin and end: twice, half way, side by side, beside what was there before.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "tests/support/test_lab.hpp"
#include "topology/model/clos.hpp"
#include "topology/os/network_namespace.hpp"

namespace weft {
namespace {

Fabric small_clos(std::uint32_t spines = 2) {
  return make_clos({.leaves = 2, .spines = spines, .hosts_per_leaf = 1}).value();
}

/// A name and a state root, and what is left of them on the machine.
class Place {
 public:
  ~Place() { (void)lab::lab_down(name, root()); }
  const std::filesystem::path& root() const { return scratch_.path(); }
  Result<lab::LabUp> up(const Fabric& fabric, std::stop_token stop = {}) const {
    return lab::lab_up(name, fabric, {}, root(), stop);
  }
  std::vector<std::string> namespaces() const {
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator("/run/netns"))
      if (entry.path().filename().string().starts_with("weft-" + name + "-")) found.push_back(entry.path());
    return found;
  }
  bool nothing_left() const { return namespaces().empty() && std::filesystem::is_empty(root()); }

  const std::string name = unique_lab_name();

 private:
  TestDirectory scratch_;
};

/// A directory with a program `tc` of our own, for PATH.
std::string path_with_tc(const std::filesystem::path& directory, const std::string& script) {
  std::ofstream(directory / "tc") << "#!/bin/sh\n" << script << '\n';
  chmod((directory / "tc").c_str(), 0755);
  return fmt::format("{}:{}", directory.string(), std::getenv("PATH"));
}

/// Runs `work` in a process of its own with that PATH; how it ended.
template <class Work>
int in_child(const std::string& path, Work&& work) {
  const pid_t child = fork();
  if (child == 0) {
    setenv("PATH", path.c_str(), 1);
    _exit(work());
  }
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

TEST(LabLife, EndsWithoutATrace) {
  const Place place;
  ASSERT_TRUE(place.up(small_clos()));
  EXPECT_EQ(place.namespaces().size(), 7U) << "4 switches, 2 hosts, the management network";
  const auto down = lab::lab_down(place.name, place.root());
  ASSERT_TRUE(down) << down.error().message;
  EXPECT_TRUE(*down);
  EXPECT_TRUE(place.nothing_left());
}

TEST(LabLife, EndsWhatStillRunsInItsHosts) {
  const Place place;
  const auto up = place.up(small_clos());
  ASSERT_TRUE(up);
  auto sleeper = spawn_in(up->lab, *up->lab.fabric().find_node("host2"),
                          {.argv = {"sleep", "600"}, .dies_with_parent = false, .own_session = true});
  ASSERT_TRUE(sleeper) << sleeper.error().message;
  ASSERT_TRUE(sleeper->running());
  ASSERT_TRUE(lab::lab_down(place.name, place.root()));
  const auto ended = sleeper->wait_for(std::chrono::seconds(5));
  ASSERT_TRUE(ended && *ended);
  EXPECT_EQ((*ended)->signal, SIGKILL);
}

TEST(LabLife, TakesASecondUpOfTheSameFabricForDone) {
  const Place place;
  const auto first = place.up(small_clos());
  const auto second = place.up(small_clos());
  ASSERT_TRUE(first && second);
  EXPECT_FALSE(first->was_up);
  EXPECT_TRUE(second->was_up);
}

TEST(LabLife, RefusesAnotherFabricUnderANameInUse) {
  const Place place;
  ASSERT_TRUE(place.up(small_clos(2)));
  const auto other = place.up(small_clos(3));
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().kind, ErrorKind::conflict);
  EXPECT_TRUE(lab::Lab::open(place.name, place.root())) << "the first one stands as before";
}

TEST(LabLife, DownOfNoLabIsNoError) {
  const Place place;
  const auto down = lab::lab_down(place.name, place.root());
  ASSERT_TRUE(down) << down.error().message;
  EXPECT_FALSE(*down);
}

TEST(LabLife, LeavesNothingAfterAnErrorHalfWayUp) {
  const Place place;
  const TestDirectory programs;
  const auto path = path_with_tc(programs.path(), "echo 'no such qdisc' >&2; exit 2");
  const int status = in_child(path, [&] {
    const auto up = place.up(small_clos());
    return !up && up.error().message.find("no such qdisc") != std::string::npos ? 0 : 1;
  });
  EXPECT_EQ(status, 0) << "up reports what tc said";
  EXPECT_TRUE(place.nothing_left());
}

TEST(LabLife, LeavesNothingAfterAStopHalfWayUp) {
  const Place place;
  std::stop_source stop;
  stop.request_stop();
  EXPECT_FALSE(place.up(small_clos(), stop.get_token()));
  EXPECT_TRUE(place.nothing_left());
}

/// Dies, as by a crash, when the first interface is shaped.
void crash_half_way_up(const Place& place) {
  const TestDirectory programs;
  const auto path = path_with_tc(programs.path(), "kill -9 $PPID");
  const int status = in_child(path, [&] { return place.up(small_clos()) ? 0 : 1; });
  ASSERT_TRUE(WIFSIGNALED(status));
  ASSERT_FALSE(place.namespaces().empty());
}

TEST(LabLife, IsTakenDownAfterACrashHalfWayUp) {
  const Place place;
  crash_half_way_up(place);
  const auto status = lab::lab_status(place.name, place.root());
  ASSERT_TRUE(status) << status.error().message;
  EXPECT_EQ(status->phase, lab::LabPhase::half_up);
  const auto opened = lab::Lab::open(place.name, place.root());
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().kind, ErrorKind::conflict);
  ASSERT_TRUE(lab::lab_down(place.name, place.root()));
  EXPECT_TRUE(place.nothing_left());
}

TEST(LabLife, ComesUpAnewAfterACrashHalfWayUp) {
  const Place place;
  crash_half_way_up(place);
  const auto up = place.up(small_clos());
  ASSERT_TRUE(up) << up.error().message;
  EXPECT_FALSE(up->was_up);
}

TEST(LabLife, SaysWhenItsNamespacesHaveGoneAndComesUpAnew) {
  const Place place;
  ASSERT_TRUE(place.up(small_clos()));
  ASSERT_TRUE(os::remove_namespace(place.namespaces().front()));
  EXPECT_EQ(lab::lab_status(place.name, place.root())->phase, lab::LabPhase::gone);
  EXPECT_FALSE(lab::Lab::open(place.name, place.root()));
  const auto up = place.up(small_clos());
  ASSERT_TRUE(up) << up.error().message;
  EXPECT_TRUE(lab::Lab::open(place.name, place.root()));
}

TEST(LabLife, IsTakenDownWithoutItsStateFile) {
  const Place place;
  ASSERT_TRUE(place.up(small_clos()));
  std::filesystem::remove_all(place.root() / place.name);
  const auto again = place.up(small_clos());
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().kind, ErrorKind::conflict) << "not ours to build over";
  const auto down = lab::lab_down(place.name, place.root());
  ASSERT_TRUE(down && *down);
  EXPECT_TRUE(place.nothing_left());
}

TEST(LabLife, IsTakenDownWithADamagedStateFile) {
  const Place place;
  ASSERT_TRUE(place.up(small_clos()));
  std::ofstream(place.root() / place.name / "state.json") << "{\"schema\":";
  EXPECT_EQ(lab::Lab::open(place.name, place.root()).error().kind, ErrorKind::invalid_input);
  ASSERT_TRUE(lab::lab_down(place.name, place.root()));
  EXPECT_TRUE(place.nothing_left());
}

TEST(LabLife, NamesTheLabsThereAreWhenAskedForAnother) {
  const TestLab lab(small_clos());
  const auto other = lab::Lab::open("nowhere", lab.root());
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().kind, ErrorKind::not_found);
  EXPECT_NE(other.error().message.find(lab->name()), std::string::npos) << other.error().message;
}

TEST(LabLife, StandsBesideAnotherWithTheSameAddresses) {
  const TestLab first(small_clos());
  std::optional<TestLab> second(std::in_place, small_clos());
  const auto before = packets_at(*second, second->nic("host2")).in;
  EXPECT_EQ(arrived(first, {.from = "host1", .to = "host2", .count = 50}), 50);
  EXPECT_EQ(packets_at(*second, second->nic("host2")).in, before);
  second.reset();
  EXPECT_EQ(arrived(first, {.from = "host1", .to = "host2", .count = 50}), 50);
}

}  // namespace
}  // namespace weft
