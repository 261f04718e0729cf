#include "probes/run/path_mapping.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>

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

}  // namespace
}  // namespace weft::run
