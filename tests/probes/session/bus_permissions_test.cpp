#include "probes/session/bus_permissions.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "probes/session/bus.hpp"
#include "probes/session/subject.hpp"

namespace weft::session {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr RunId kRun(7);

std::vector<std::string> tokens(const std::string& subject) {
  std::vector<std::string> all(1);
  for (const char c : subject)
    if (c == '.')
      all.emplace_back();
    else
      all.back() += c;
  return all;
}

/// Whether a permission covers a subject, as NATS matches them: '*' is any one token.
bool covers(const std::vector<std::string>& permissions, const std::string& subject) {
  const auto asked = tokens(subject);
  return std::ranges::any_of(permissions, [&](const std::string& permission) {
    const auto allowed = tokens(permission);
    return allowed.size() == asked.size() &&
           std::ranges::equal(allowed, asked,
                              [](const auto& may, const auto& is) { return may == "*" || may == is; });
  });
}

TEST(BusPermissions, AreSubjectsOfTheRunForMessagesAndForTheirAcknowledgements) {
  const auto coordinator = coordinator_permissions(kRun);
  EXPECT_THAT(coordinator.publish,
              ElementsAre("weft.0000000000000007.*.coordinator", "weft.0000000000000007.*.coordinator.*"));
  EXPECT_THAT(coordinator.subscribe,
              ElementsAre("weft.0000000000000007.coordinator.*", "weft.0000000000000007.coordinator.*.*"));
  const auto agent = agent_permissions(kRun, "gpu1.cluster");
  EXPECT_THAT(agent.publish, ElementsAre("weft.0000000000000007.coordinator.gpu1=2Ecluster",
                                         "weft.0000000000000007.coordinator.gpu1=2Ecluster.*"));
  EXPECT_THAT(agent.subscribe, ElementsAre("weft.0000000000000007.gpu1=2Ecluster.*",
                                           "weft.0000000000000007.gpu1=2Ecluster.*.*"));
}

TEST(BusPermissions, WhoeverSendsToWhomeverElseOnlyWhatThePairSaysIsCovered) {
  const std::vector<std::string> names{"coordinator", "host1", "host2", "a.b",  "a",
                                       "b",           "*",     ">",     "x=2E", "h h"};
  for (const auto& self : names) {
    const bool leads = self == kCoordinator;
    const auto may = leads ? coordinator_permissions(kRun) : agent_permissions(kRun, self);
    for (const auto& to : names)
      for (const auto& from : names) {
        for (const auto& subject :
             {subject_of(kRun, to, from), acknowledgement_subject(kRun, to, from, 77)}) {
          EXPECT_EQ(covers(may.publish, subject), from == self && (leads || to == kCoordinator))
              << self << subject;
          EXPECT_EQ(covers(may.subscribe, subject), to == self) << self << subject;
        }
        for (const auto& others :
             {subject_of(RunId(8), to, from), acknowledgement_subject(RunId(8), to, from, 77)}) {
          EXPECT_FALSE(covers(may.publish, others));
          EXPECT_FALSE(covers(may.subscribe, others));
        }
      }
  }
}

TEST(BusPermissions, EveryHostIsAUserBesideTheCoordinator) {
  const auto users = bus_users(kRun, {"host1", "a.b"});
  ASSERT_TRUE(users);
  ASSERT_EQ(users->size(), 3u);
  EXPECT_EQ((*users)[0], (BusUser{"coordinator", "coordinator", coordinator_permissions(kRun)}));
  EXPECT_EQ((*users)[2], (BusUser{"a.b", "a=2Eb", agent_permissions(kRun, "a.b")}));
}

TEST(BusPermissions, AHostMayNotBeNamedAsTheCoordinatorOrAsAnother) {
  for (const char* name : {"coordinator", "host1"}) {
    const auto users = bus_users(kRun, {"host1", name});
    ASSERT_FALSE(users);
    EXPECT_EQ(users.error().kind, ErrorKind::usage);
    EXPECT_THAT(users.error().message, HasSubstr(name));
  }
}

}  // namespace
}  // namespace weft::session
