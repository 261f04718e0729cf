#include "balancer/blacklist/entry_book.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "topology/model/clos.hpp"

namespace weft::blacklist {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

constexpr UtcTime kDay{std::chrono::seconds(1'800'000'000)};

class EntryBookOfAFabric : public testing::Test {
 protected:
  Subject subject(std::string_view name) const { return *parse_subject(fabric_, name); }
  /// As it stands in a ledger.
  Entry& kept(std::uint64_t id, std::string_view name, EntryState state) {
    Entry entry{.id = EntryId(id), .subject = name_of(fabric_, subject(name)), .state = state};
    ledger_.last_id = id;
    return ledger_.entries.emplace_back(std::move(entry));
  }
  EntryBook book() { return {ledger_, fabric_, NicAction::host}; }

  Fabric fabric_ = *make_clos({.leaves = 2, .spines = 2, .hosts_per_leaf = 2});
  Ledger ledger_;
};

TEST_F(EntryBookOfAFabric, AnEntryWhoseSubjectTheFabricHasNoMoreIsMarkedOnceAndNotLive) {
  kept(1, "leaf1--spine1", EntryState::active).subject.name = "leaf1--spine7";
  auto first = book();
  EXPECT_THAT(first.newly_lost(), ElementsAre(Pair(EntryId(1), HasSubstr("spine7"))));
  EXPECT_FALSE(ledger_.entries[0].is_known);
  EXPECT_FALSE(EntryBook::is_live(ledger_.entries[0]));
  EXPECT_THAT(book().newly_lost(), IsEmpty()) << "it was told of already";
}

TEST_F(EntryBookOfAFabric, AnEntryWhoseSubjectIsBackIsKnownAgain) {
  kept(1, "leaf1--spine1", EntryState::proposed).is_known = false;
  book();
  EXPECT_TRUE(ledger_.entries[0].is_known);
}

TEST_F(EntryBookOfAFabric, OutOfTheRoutesIsWhatAnActiveEntryTakes) {
  kept(1, "leaf1--spine1", EntryState::active);
  kept(2, "leaf2--spine1", EntryState::probation);
  const auto all = book();
  EXPECT_TRUE(all.is_taken_out(*fabric_.find_link("leaf1--spine1")));
  EXPECT_FALSE(all.is_taken_out(*fabric_.find_link("leaf2--spine1")));
}

TEST_F(EntryBookOfAFabric, ALinkCoversItsChannelsAndAChannelDoesNotCoverItsLink) {
  kept(1, "leaf1--spine1", EntryState::active);
  kept(2, "leaf2->spine1", EntryState::active);
  auto all = book();
  ASSERT_NE(all.covering(subject("leaf1->spine1")), nullptr);
  EXPECT_EQ(all.covering(subject("leaf1->spine1"))->id, EntryId(1));
  EXPECT_EQ(all.covering(subject("leaf2--spine1")), nullptr);
  EXPECT_EQ(all.covering(subject("leaf2--spine2")), nullptr);
}

TEST_F(EntryBookOfAFabric, ALeafCoversACableOfItsHostsOnlyWhileItIsActive) {
  for (const auto state : {EntryState::proposed, EntryState::probation}) {
    ledger_ = {};
    kept(1, "leaf1", state);
    EXPECT_EQ(book().covering(subject("host1")), nullptr);
    ASSERT_NE(book().covering(subject("leaf1")), nullptr);
  }
  ledger_ = {};
  kept(1, "leaf1", EntryState::active);
  kept(2, "host1", EntryState::probation);
  EXPECT_EQ(book().covering(subject("host1--leaf1"))->id, EntryId(2)) << "of the same host first";
  EXPECT_EQ(book().covering(subject("host2--leaf1"))->id, EntryId(1));
}

TEST_F(EntryBookOfAFabric, AReleasedEntryCoversNothingAndIsStillFoundByItsName) {
  kept(1, "leaf1--spine1", EntryState::released);
  auto all = book();
  EXPECT_EQ(all.covering(subject("leaf1--spine1")), nullptr);
  EXPECT_THAT(all.named({SubjectKind::link, "leaf1--spine1"}), ElementsAre(EntryId(1)));
  ASSERT_NE(all.entry(EntryId(1)), nullptr);
  EXPECT_EQ(all.entry(EntryId(9)), nullptr);
}

TEST_F(EntryBookOfAFabric, ANewEntryHasTheNextIdTheLedgersTimeAndIsFoundAtOnce) {
  kept(4, "leaf1--spine1", EntryState::released);
  ledger_.time = Seconds(77);
  auto all = book();
  const Entry& made = all.add({}, subject("leaf2--spine2"));
  EXPECT_EQ(made.id, EntryId(5));
  EXPECT_EQ(made.since, Seconds(77));
  EXPECT_EQ(made.subject, (SubjectName{SubjectKind::link, "leaf2--spine2"}));
  EXPECT_EQ(ledger_.last_id, 5u);
  EXPECT_NE(all.covering(subject("leaf2--spine2")), nullptr);
}

TEST_F(EntryBookOfAFabric, OffencesCountOfTheLastThirtyDaysAndNotThoseAddedByHand) {
  kept(1, "leaf1--spine1", EntryState::released).last_seen = kDay;
  ledger_.entries[0].offences = 3;
  auto all = book();
  const auto soon = kDay + std::chrono::hours(24 * 29);
  EXPECT_EQ(all.add({.first_seen = soon, .last_seen = soon}, subject("leaf1--spine1")).offences, 4u);

  Ledger other;
  other.entries.push_back(ledger_.entries[0]);
  other.last_id = 1;
  EntryBook late(other, fabric_, NicAction::host);
  const auto later = kDay + std::chrono::hours(24 * 31);
  EXPECT_EQ(late.add({.first_seen = later}, subject("leaf1--spine1")).offences, 1u);

  Ledger by_hand;
  by_hand.entries.push_back(ledger_.entries[0]);
  by_hand.entries[0].by_hand = true;
  by_hand.last_id = 1;
  EntryBook added(by_hand, fabric_, NicAction::host);
  EXPECT_EQ(added.add({.first_seen = soon}, subject("leaf1--spine1")).offences, 1u);
}

}  // namespace
}  // namespace weft::blacklist
