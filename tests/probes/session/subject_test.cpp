#include "probes/session/subject.hpp"

#include <gtest/gtest.h>

#include "probes/session/bus.hpp"

#include <algorithm>

namespace weft::session {
namespace {

TEST(Subject, EveryNameComesBackWholeAndStaysOneToken) {
  for (const std::string name : {"host1", "gpu-01.cluster.example", "a b", "x*>", "caf\xc3\xa9", "="}) {
    const auto subject = subject_of(RunId(7), "coordinator", name);
    EXPECT_EQ(sender_of(subject), name);
    EXPECT_EQ(std::count(subject.begin(), subject.end(), '.'), 3);
    EXPECT_EQ(subject.find_first_of("*> "), std::string::npos);
  }
}

TEST(Subject, RunsDoNotHearEachOther) {
  EXPECT_EQ(subscription_of(RunId(7), "host1"), "weft.0000000000000007.host1.*");
  EXPECT_NE(subscription_of(RunId(7), "host1"), subscription_of(RunId(8), "host1"));
}

TEST(Subject, WhatIsNoneOfOursHasNoSender) {
  for (const auto* subject : {"", "host1", "other.1.a.b", "weft.1.a.=G0", "weft.1.a.=4"})
    EXPECT_EQ(sender_of(subject), std::nullopt) << subject;
}

TEST(Subject, AnAcknowledgementSaysOfWhatAndFromWhom) {
  for (const char* name : {"host1", "a.b", "*", "x=2E", "5"}) {
    const auto subject = acknowledgement_subject(RunId(7), kCoordinator, name, 4'294'967'295);
    EXPECT_EQ(acknowledgement_in(subject), (Acknowledgement{name, 4'294'967'295}));
    EXPECT_FALSE(acknowledgement_in(subject_of(RunId(7), kCoordinator, name)));
  }
  for (const char* subject :
       {"", "1", "weft.1.a.b.", "weft.1.a.b.-1", "weft.1.a.b.4294967296", "other.1.a.b.1"})
    EXPECT_FALSE(acknowledgement_in(subject)) << subject;
}

}  // namespace
}  // namespace weft::session
