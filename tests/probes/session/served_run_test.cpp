// One run as an agent serves it, without the loop that reads the bus.
#include "probes/session/served_run.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "probes/run/engines.hpp"
#include "tests/fakes/fake_bus.hpp"
#include "topology/model/addressing.hpp"
#include "topology/model/clos.hpp"

namespace weft::session {
namespace {

using std::chrono::milliseconds;

/// host1 of a simulated fabric, in run 7.
class ServedRunOfAHost : public ::testing::Test {
 protected:
  PortId nic(std::string_view host) const { return *fabric_.find_nic(host); }
  datapath::RunNic target(std::string_view host) const {
    return {nic(host), *addresses_.book.address_of(nic(host))};
  }
  StartRun start() const {
    return {{RunId(7), {}}, {{"p1", nic("host1")}}, {target("host1"), target("host2")}};
  }
  /// Four pings to host2.
  Task task(std::uint32_t id) const {
    datapath::PingRequest request{.run = RunId(7), .batch = BatchId(1)};
    request.peers = {{nic("host2"), target("host2").address}};
    request.specs = {{0, PathLabel(50'000), PathLabel(50'000), 4, Bytes(128)}};
    return {TaskId(id), nic("host1"), std::chrono::seconds(5), request};
  }
  template <class Message>
  std::vector<Message> said() const {
    std::vector<Message> found;
    for (const ToCoordinator& message : bus_.said())
      if (const auto* wanted = std::get_if<Message>(&message)) found.push_back(*wanted);
    return found;
  }
  template <class Condition>
  static bool comes_true(Condition condition) {
    for (int i = 0; i < 3000 && !condition(); ++i) std::this_thread::sleep_for(milliseconds(10));
    return condition();
  }

  Fabric fabric_ = make_clos({.leaves = 2, .spines = 2, .hosts_per_leaf = 1}).value();
  AddressPlan addresses_ = plan_addresses(fabric_, IpFamily::v4).value();
  fakes::FakeBus bus_;
  PrepareRun prepare_ = [this] { return RunHost{run::simulated_engines(fabric_, addresses_.book, {}, 1)}; };
};

TEST_F(ServedRunOfAHost, SaysReadyOnceItsEnginesAreOpenAndDoesItsTasks) {
  ServedRun run(bus_, prepare_, start());
  EXPECT_EQ(run.id(), RunId(7));
  ASSERT_TRUE(comes_true([&] { return !said<Ready>().empty(); }));
  EXPECT_TRUE(said<Ready>()[0].troubles.empty());
  run.take(task(3));
  ASSERT_TRUE(comes_true([&] { return !said<TaskResult>().empty(); }));
  EXPECT_EQ(said<TaskResult>()[0].id, TaskId(3));
  EXPECT_EQ(said<TaskResult>()[0].error, std::nullopt);
  EXPECT_FALSE(run.is_closed());
}

TEST_F(ServedRunOfAHost, DoesATaskThatComesTwiceOnce) {
  ServedRun run(bus_, prepare_, start());
  ASSERT_TRUE(comes_true([&] { return !said<Ready>().empty(); }));
  run.take(task(3));
  run.take(task(3));
  run.take(task(4));
  ASSERT_TRUE(comes_true([&] { return said<TaskResult>().size() >= 2; }));
  EXPECT_EQ(said<TaskResult>()[0].id, TaskId(3));
  EXPECT_EQ(said<TaskResult>()[1].id, TaskId(4));
}

TEST_F(ServedRunOfAHost, SaysWhyANicCannotBeOpened) {
  prepare_ = [] {
    return RunHost{[](const NicAssignment&, const packet::RunSecrets&,
                      const datapath::SharedNics&) -> Result<NicEngines> {
      return fail(ErrorKind::absent, "no such interface");
    }};
  };
  ServedRun run(bus_, prepare_, start());
  ASSERT_TRUE(comes_true([&] { return !said<Ready>().empty(); }));
  EXPECT_EQ(said<Ready>()[0].troubles.size(), 1u);
  run.take(task(3));
  ASSERT_TRUE(comes_true([&] { return !said<TaskResult>().empty(); }));
  EXPECT_TRUE(said<TaskResult>()[0].error.has_value()) << "there is no engine to do it";
}

TEST_F(ServedRunOfAHost, IsClosedOnlyAfterItIsStopped) {
  ServedRun run(bus_, prepare_, start());
  ASSERT_TRUE(comes_true([&] { return !said<Ready>().empty(); }));
  EXPECT_FALSE(run.is_closed());
  run.stop();
  EXPECT_TRUE(comes_true([&] { return run.is_closed(); }));
}

}  // namespace
}  // namespace weft::session
