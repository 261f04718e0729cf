// What a service tells its manager, read at a socket of the test's own.
#include "topology/os/service_notifier.hpp"

#include <gmock/gmock.h>
#include <unistd.h>

#include "tests/support/service_manager.hpp"
#include "topology/os/scratch_directory.hpp"

namespace weft::os {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::Optional;

std::string abstract_name(const char* test) { return "@weft-test-" + std::to_string(getpid()) + "-" + test; }

ServiceNotifier notifier_at(const ServiceManager& manager, std::optional<std::chrono::nanoseconds> watchdog,
                            std::size_t parts) {
  auto opened = ServiceNotifier::open({manager.address(), watchdog}, parts);
  EXPECT_TRUE(opened) << opened.error().message;
  return opened ? std::move(*opened) : ServiceNotifier();
}

TEST(ServiceNotifier, IsReadyWhenEachPartHasGoneRoundOnce) {
  const ServiceManager manager(abstract_name("ready"));
  auto service = notifier_at(manager, std::nullopt, 2);
  service.went_round(0);
  service.went_round(0);
  EXPECT_EQ(manager.next(), std::nullopt);
  service.went_round(1);
  EXPECT_THAT(manager.next(), Optional(std::string("READY=1")));
  service.went_round(0);
  service.went_round(1);
  EXPECT_EQ(manager.next(), std::nullopt) << "it is said once, and there is no watchdog";
}

TEST(ServiceNotifier, OnePartThatHangsIsNotHiddenByTheOther) {
  const ServiceManager manager(abstract_name("hangs"));
  auto service = notifier_at(manager, 0ns, 2);  // of no length: fed as often as it may be
  service.went_round(0);
  service.went_round(1);
  EXPECT_THAT(manager.next(), Optional(std::string("READY=1")));
  EXPECT_THAT(manager.next(), Optional(std::string("WATCHDOG=1")));
  for (int i = 0; i < 100; ++i) service.went_round(0);
  EXPECT_EQ(manager.next(), std::nullopt);
  service.went_round(1);
  EXPECT_THAT(manager.next(), Optional(std::string("WATCHDOG=1")));
}

TEST(ServiceNotifier, FeedsTheWatchdogNotMoreOftenThanItMust) {
  const ServiceManager manager(abstract_name("often"));
  auto service = notifier_at(manager, 1h, 1);
  for (int i = 0; i < 100; ++i) service.went_round(0);
  EXPECT_THAT(manager.next(), Optional(std::string("READY=1")));
  EXPECT_THAT(manager.next(), Optional(std::string("WATCHDOG=1")));
  EXPECT_EQ(manager.next(), std::nullopt);
}

TEST(ServiceNotifier, SaysAStatusOnceAndInOneLine) {
  const ServiceManager manager(abstract_name("status"));
  auto service = notifier_at(manager, std::nullopt, 1);
  service.status("plan 3\nREADY=1");
  service.status("plan 3\nREADY=1");
  service.stopping();
  EXPECT_THAT(manager.next(), Optional(std::string("STATUS=plan 3\\x0aREADY=1")));
  EXPECT_THAT(manager.next(), Optional(std::string("STOPPING=1")));
}

TEST(ServiceNotifier, SpeaksToAPathAndNobodyThereEndsNothing) {
  const auto scratch = ScratchDirectory::make();
  ASSERT_TRUE(scratch);
  const auto path = (scratch->path() / "notify").string();
  auto service = ServiceNotifier::open({path, 0ns}, 1);
  ASSERT_TRUE(service);
  service->went_round(0);
  const ServiceManager manager(path);
  service->went_round(0);
  EXPECT_THAT(manager.next(), Optional(std::string("READY=1"))) << "what was not taken is said again";
  ServiceNotifier().went_round(0);
  ServiceNotifier().status("nobody asked");
}

TEST(ServiceNotifier, RefusesWhatIsNoAddress) {
  for (const std::string& bad : {std::string(), std::string("run/notify"), std::string("@"), std::string("/"),
                                 std::string("vsock:2:1234"), "/" + std::string(200, 'a')}) {
    const auto refused = ServiceNotifier::open({bad, std::nullopt}, 1);
    ASSERT_FALSE(refused) << bad;
    EXPECT_THAT(refused.error().message, HasSubstr("notify socket"));
  }
}

}  // namespace
}  // namespace weft::os
