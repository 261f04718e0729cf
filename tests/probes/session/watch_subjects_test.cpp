#include "probes/session/watch_subjects.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weft::session {
namespace {

TEST(WatchSubjects, HaveANameWithDotsAsOneWord) {
  const auto subject = watch_subject(kWindows, "pod.1", "gpu001.cluster");
  EXPECT_EQ(subject, "weft.obs.pod=2E1.gpu001=2Ecluster");
  EXPECT_EQ(name_in(subject, kWindows, "pod.1"), "gpu001.cluster");
  EXPECT_EQ(watch_subjects(kWindows, "pod.1"), "weft.obs.pod=2E1.*");
}

TEST(WatchSubjects, OfAnotherKindOrFabricHaveNoName) {
  for (const auto* subject : {"weft.say.pod.a", "weft.obs.other.a", "weft.obs.pod", "weft.obs.pod.a.b",
                              "weft.obs.pod.=2", "", "weft.obs.pod2.a"})
    EXPECT_EQ(name_in(subject, kWindows, "pod"), std::nullopt) << subject;
}

TEST(WatchSubjects, TheUsersOfABusHaveNamesThatSubjectsTellApart) {
  const auto users = watch_users("pod1", {"watcher"}, {"a", "b.c"});
  ASSERT_TRUE(users);
  ASSERT_EQ(users->size(), 3u);
  EXPECT_TRUE(users->at(0).watcher);
  EXPECT_FALSE(users->at(2).watcher);
  EXPECT_EQ(users->at(2).name, "b=2Ec");
  for (const auto& host : {"pod1", "coordinator", "watcher", "a"}) {
    const auto refused = watch_users("pod1", {"watcher"}, {"a", host});
    ASSERT_FALSE(refused) << host;
    EXPECT_EQ(refused.error().kind, ErrorKind::usage);
  }
}

}  // namespace
}  // namespace weft::session
