#include "probes/watch/incident_book.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "topology/model/clos.hpp"

namespace weft::watch {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;

/// Looks at the ten seconds before `now`; wall clock and steady clock are the same.
class Book {
 public:
  explicit Book(const BookOptions& options = {}) : book_(fabric_, options) {}

  LookFinding finding(std::string_view channel, bool sure = true) const {
    return {.place = {{*fabric_.find_channel(channel)}, {}},
            .cause = Cause::loss,
            .verdict = Verdict::failed,
            .estimate = Estimate{0.1, 0.08, 0.12},
            .confidence = 0.99,
            .evidence = {"some were lost"},
            .sure = sure};
  }
  std::vector<IncidentChange> see(const std::vector<LookFinding>& findings) {
    now_ += seconds(1);
    book_.see(findings, now_ - seconds(10), {now_, now_});
    return changes();
  }
  /// So many probes crossed the place of each incident in the second that begins now.
  std::vector<IncidentChange> cross(std::uint64_t passed, std::uint64_t lost,
                                    Nanoseconds later = seconds(1)) {
    now_ += later;
    book_.cross([&](const WatchedIncident&,
                    std::span<const WatchedIncident>) { return Crossed{.passed = passed, .lost = lost}; },
                now_, {now_, now_});
    return changes();
  }
  IncidentBook& operator*() { return book_; }
  Nanoseconds now() const { return now_; }

 private:
  std::vector<IncidentChange> changes() {
    std::vector<IncidentChange> all;
    for (const IncidentEvent& event : book_.take_events()) all.push_back(event.change);
    return all;
  }

  Fabric fabric_ = *make_clos({.leaves = 4, .spines = 4, .hosts_per_leaf = 2});
  IncidentBook book_;
  Nanoseconds now_ = minutes(10);
};

TEST(IncidentBook, WhatIsSureAndOldIsOpenedAtOnceAndWhatIsNotIsSuspected) {
  Book book;
  EXPECT_THAT(book.see({book.finding("leaf1->spine1"), book.finding("leaf2->spine3", false)}),
              testing::UnorderedElementsAre(IncidentChange::suspected, IncidentChange::opened,
                                            IncidentChange::suspected));
  ASSERT_EQ((*book).current().size(), 2u);
  EXPECT_EQ((*book).current()[0].state, IncidentState::open) << "the worst first";
  EXPECT_EQ((*book).current()[1].state, IncidentState::suspected);
}

TEST(IncidentBook, OneCableIsOneIncidentWhicheverDirectionALookNames) {
  Book book;
  book.see({book.finding("leaf1->spine1")});
  book.see({book.finding("spine1->leaf1")});
  EXPECT_EQ((*book).current().size(), 1u);
}

TEST(IncidentBook, WhereNothingIsProbedNothingGetsHealthy) {
  Book book;
  book.see({book.finding("leaf1->spine1")});
  for (int i = 0; i < 100; ++i) EXPECT_THAT(book.cross(0, 0), IsEmpty());
  EXPECT_EQ((*book).current()[0].state, IncidentState::open);
}

TEST(IncidentBook, CleanProbesEndItAfterItsHold) {
  Book book;
  book.see({book.finding("leaf1->spine1")});
  EXPECT_THAT(book.cross(100'000, 0), ElementsAre(IncidentChange::recovering));
  EXPECT_THAT(book.cross(100'000, 0), IsEmpty()) << "it holds for a minute";
  EXPECT_THAT(book.cross(100'000, 0, minutes(2)), ElementsAre(IncidentChange::closed));
  EXPECT_THAT((*book).current(), IsEmpty());
}

TEST(IncidentBook, LossesWhileItRecoversBringItBack) {
  Book book;
  book.see({book.finding("leaf1->spine1")});
  book.cross(100'000, 0);
  EXPECT_THAT(book.cross(900, 100), ElementsAre(IncidentChange::came_back));
  EXPECT_EQ((*book).current()[0].state, IncidentState::open);
  EXPECT_EQ((*book).current()[0].flaps, 1u);
}

TEST(IncidentBook, WherePathsAreToBeVerifiedItClosesOnlyByThoseMappedSinceItRecovers) {
  Book book({.hold = seconds(2), .verify_paths = true});
  book.see({book.finding("leaf1->spine1")});
  book.cross(100'000, 0);
  EXPECT_TRUE((*book).awaits_paths());
  EXPECT_THAT(book.cross(100'000, 0, minutes(2)), IsEmpty());
  (*book).paths_known(minutes(1));  // before it began
  EXPECT_THAT(book.cross(100'000, 0, minutes(2)), IsEmpty());
  (*book).paths_known(book.now());
  EXPECT_FALSE((*book).awaits_paths());
  EXPECT_THAT(book.cross(100'000, 0, seconds(1)), ElementsAre(IncidentChange::closed));
}

TEST(IncidentBook, AnotherWatcherGoesOnWithWhatIsNotOver) {
  Book first;
  first.see({first.finding("leaf1->spine1")});
  const Incident open = (*first).current()[0];
  Book second;
  const std::vector<IncidentEvent> last{{.number = 4, .change = IncidentChange::opened, .incident = open}};
  (*second).restore(last, 0, second.now());
  ASSERT_EQ((*second).current().size(), 1u);
  EXPECT_EQ((*second).current()[0].id, open.id);
  second.see({second.finding("leaf3->spine3")});
  EXPECT_EQ((*second).current().size(), 2u);
  EXPECT_NE((*second).current()[0].id, (*second).current()[1].id) << "a number is not given twice";
  Book third;
  (*third).restore(last, 7, third.now());
  third.see({third.finding("leaf3->spine3")});
  EXPECT_EQ((*third).current().back().id, IncidentId(8)) << "nor one of a place that is gone";
}

}  // namespace
}  // namespace weft::watch
