#include "probes/run/path_mapping.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>

#include "topology/model/clos.hpp"
#include "topology/model/fabric.hpp"

namespace weft::run {
namespace {

using namespace std::chrono_literals;

/// What came of it, waited for.
std::optional<Result<MappedPlan>> result_of(PathMapping& mapping) {
  for (int i = 0; i < 6000; ++i) {
    if (auto made = mapping.take()) return made;
    std::this_thread::sleep_for(10ms);
  }
  return std::nullopt;
}

TEST(PathMapping, TellsNothingWhileItRunsAndItsResultOnce) {
  std::mutex mutex;
  std::condition_variable changed;
  bool may_end = false;
  PathMapping mapping([&](const std::stop_token&) -> Result<MappedPlan> {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return may_end; });
    return MappedPlan{.plan = {}, .left_out = 3};
  });
  EXPECT_FALSE(mapping.take());
  {
    const std::lock_guard lock(mutex);
    may_end = true;
  }
  changed.notify_all();
  const auto made = result_of(mapping);
  ASSERT_TRUE(made);
  ASSERT_TRUE(*made);
  EXPECT_EQ((*made)->left_out, 3u);
  EXPECT_FALSE(mapping.take());
}

TEST(PathMapping, TellsWhyItFailed) {
  PathMapping mapping(
      [](const std::stop_token&) -> Result<MappedPlan> { return fail(ErrorKind::timeout, "no agent came"); });
  const auto made = result_of(mapping);
  ASSERT_TRUE(made);
  ASSERT_FALSE(*made);
  EXPECT_EQ(made->error().message, "no agent came");
}

TEST(PathMapping, ThatNobodyWaitsForIsStopped) {
  bool was_stopped = false;
  {
    std::mutex mutex;
    std::condition_variable_any never;
    PathMapping mapping([&](const std::stop_token& stop) -> Result<MappedPlan> {
      std::unique_lock lock(mutex);
      never.wait(lock, stop, [] { return false; });
      was_stopped = stop.stop_requested();
      return fail(ErrorKind::timeout, "stopped");
    });
  }
  EXPECT_TRUE(was_stopped);
}

/// Two hosts a leaf, one NIC each, whose paths are read.
struct ReadPlace {
  ReadPlace() {
    for (const PortId nic : fabric.nics())
      place.hosts.push_back({fabric.port(nic).node, {{fabric.name_of_nic(nic), nic}}, {}});
    options.read_plan = [this](const std::vector<PortId>& nics,
                               const std::stop_token&) -> Result<MappedPlan> {
      asked = nics;
      return MappedPlan{.plan = {}, .left_out = fabric.nics().size() - nics.size()};
    };
  }
  Result<MappedPlan> map(const HeardHosts& heard) { return map_paths(place, options, heard, {}); }

  Fabric fabric = make_clos({.leaves = 2, .spines = 2, .hosts_per_leaf = 2}).value();
  AddressBook addresses;
  WatchPlace place{fabric, addresses, {}, {}, {}, {}};
  WatchOptions options;
  std::vector<PortId> asked;
};

TEST(MapPaths, ThatAreReadAreBetweenTheNicsOfHostsThatWereHeard) {
  ReadPlace at;
  const auto mapped = at.map({"host1", "host4", "a stranger"});
  ASSERT_TRUE(mapped) << mapped.error().message;
  EXPECT_EQ(mapped->left_out, 2u);
  EXPECT_EQ(at.asked, (std::vector<PortId>{at.fabric.nics().front(), at.fabric.nics().back()}));
}

TEST(MapPaths, OfNobodyAreNone) {
  ReadPlace at;
  const auto mapped = at.map({});
  ASSERT_FALSE(mapped);
  EXPECT_EQ(mapped.error().kind, ErrorKind::absent);
  EXPECT_TRUE(at.asked.empty());
}

TEST(MappingTimes, AreATwentiethOfTheTimeAtMostAndAMinuteApartAtLeast) {
  for (const auto& [takes, pause] : {std::pair(1s, 60s), std::pair(10s, 200s)}) {
    MappingTimes times;
    EXPECT_FALSE(times.is_due(10h)) << "nothing asks for one";
    times.ask(100s);
    EXPECT_TRUE(times.is_due(100s));
    times.begin(100s);
    EXPECT_FALSE(times.is_due(10h)) << "while one is under way";
    EXPECT_EQ(times.began(), 100s);
    times.end(100s + takes);
    times.plan_next();
    EXPECT_FALSE(times.is_due(100s + takes + pause - 1ns));
    EXPECT_TRUE(times.is_due(100s + takes + pause));
  }
}

TEST(MappingTimes, WhoAsksForOneWaitsForAPauseAfterTheLast) {
  MappingTimes slow;
  slow.begin(100s);
  slow.end(105s);
  slow.plan_next();
  MappingTimes late = slow;
  slow.ask_after_pause();
  EXPECT_FALSE(slow.is_due(125s - 1ns)) << "four times what the last one took";
  EXPECT_TRUE(slow.is_due(125s));
  late.ask_soon();
  EXPECT_FALSE(late.is_due(115s - 1ns));
  EXPECT_TRUE(late.is_due(115s));
  late.ask_after_pause();
  EXPECT_TRUE(late.is_due(115s)) << "it is put off by nobody";
}

TEST(MappingTimes, APlanOfAWatcherBeforeIsCheckedSoonAndAFailureTriedAgain) {
  MappingTimes times;
  times.take_over(100s);
  EXPECT_FALSE(times.is_due(110s - 1ns));
  EXPECT_TRUE(times.is_due(110s));
  times.begin(110s);
  times.end(111s);
  times.retry(111s);
  EXPECT_FALSE(times.is_due(116s - 1ns));
  EXPECT_TRUE(times.is_due(116s));
}

}  // namespace
}  // namespace weft::run
