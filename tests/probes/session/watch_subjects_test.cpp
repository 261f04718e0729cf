#include "probes/session/watch_subjects.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

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
  EXPECT_EQ(users->at(0).account, BusAccount::watchers);
  EXPECT_EQ(users->at(2).account, BusAccount::agents);
  EXPECT_EQ(users->at(2).name, "b=2Ec");
  for (const auto& host : {"pod1", "coordinator", "watcher", "a"}) {
    const auto refused = watch_users("pod1", {"watcher"}, {"a", host});
    ASSERT_FALSE(refused) << host;
    EXPECT_EQ(refused.error().kind, ErrorKind::usage);
  }
}

/// Whether a subject is one of `pattern`, as a server reads it.
bool covers(std::string_view pattern, std::string_view subject) {
  while (!pattern.empty() && !subject.empty()) {
    if (pattern == ">") return true;
    const auto word = pattern.substr(0, pattern.find('.')), name = subject.substr(0, subject.find('.'));
    if (word != "*" && word != name) return false;
    pattern.remove_prefix(std::min(word.size() + 1, pattern.size()));
    subject.remove_prefix(std::min(name.size() + 1, subject.size()));
  }
  return pattern.empty() && subject.empty();
}
bool covers(const std::vector<std::string>& patterns, std::string_view subject) {
  return std::ranges::any_of(patterns, [&](const auto& pattern) { return covers(pattern, subject); });
}

TEST(WatchSubjects, WhoCoordinatesSweepsHearsNoMappingAndSpeaksInNone) {
  const auto one = coordinator_of_sweeps("pod1");
  EXPECT_EQ(one.account, BusAccount::agents);
  const auto runs = fmt::format("weft.{:016x}", sweep_run("pod1").value());
  const auto mappings = fmt::format("weft.{:016x}", standing_run("pod1").value());
  EXPECT_TRUE(covers(one.may.publish, runs + ".a.coordinator"));
  EXPECT_TRUE(covers(one.may.subscribe, runs + ".coordinator.a"));
  for (const auto& foreign : {mappings, std::string("weft.obs.pod1"), std::string("weft.say.pod1")}) {
    EXPECT_FALSE(covers(one.may.publish, foreign + ".a.coordinator")) << foreign;
    EXPECT_FALSE(covers(one.may.publish, foreign + ".coordinator")) << foreign;
    EXPECT_FALSE(covers(one.may.subscribe, foreign + ".coordinator.a")) << foreign;
    EXPECT_FALSE(covers(one.may.subscribe, foreign + ".a")) << foreign;
  }
  EXPECT_NE(sweep_run("pod1"), sweep_run("pod2"));
}

TEST(WatchSubjects, AnOperatorGivesLabelsAndHearsTheirAnswersAndNothingElse) {
  const auto users = watch_users("pod1", {"watcher"}, {"a", "b"}, {"operator"});
  ASSERT_TRUE(users);
  const BusUser& one = users->back();
  EXPECT_EQ(one.participant, "operator");
  EXPECT_EQ(one.account, BusAccount::operators);
  const auto to_a = watch_subject(kLabels, "pod1", "a"), of_a = watch_subject(kLabelAnswers, "pod1", "a");
  EXPECT_EQ(one.may.publish, std::vector<std::string>{"weft.labels.pod1.*"});
  EXPECT_EQ(one.may.subscribe, std::vector<std::string>{"weft.labelled.pod1.*"});
  EXPECT_FALSE(covers(one.may.publish, watch_subject(kLabels, "pod2", "a")));
  EXPECT_FALSE(covers(one.may.publish, watch_subject(kPlan, "pod1", "a")));
  for (const auto& user : *users) {
    if (user.account != BusAccount::agents) continue;
    const bool is_a = user.participant == "a";
    EXPECT_FALSE(covers(user.may.publish, to_a)) << user.participant;
    EXPECT_EQ(covers(user.may.subscribe, to_a), is_a) << user.participant;
    EXPECT_EQ(covers(user.may.publish, of_a), is_a) << user.participant;
    EXPECT_FALSE(covers(user.may.subscribe, of_a)) << user.participant;
  }
  // In the account of the agents; watchers are in one of their own, from which no labels pass.
  EXPECT_FALSE(covers(coordinator_of_all_runs().may.publish, to_a));
  EXPECT_FALSE(watch_users("pod1", {"watcher"}, {"operator"}, {"operator"}));
}

}  // namespace
}  // namespace weft::session
