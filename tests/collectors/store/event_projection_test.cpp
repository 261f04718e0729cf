#include "collectors/store/event_projection.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/collectors/store/store_rig.hpp"

namespace weft::store {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::uint64_t> ids(const std::vector<files::EventReport>& events) {
  std::vector<std::uint64_t> all;
  for (const auto& event : events) all.push_back(event.incident.id.value());
  return all;
}

class Projection : public ::testing::Test {
 protected:
  StoreFile file_;
  WatchStore store_ = file_.open();
  Database& database_ = store_.database();

  void apply(const std::vector<watch::StoredEvent>& events) {
    const auto applied = store_.apply(events);
    ASSERT_TRUE(applied) << applied.error().message;
  }
};

TEST_F(Projection, AnEventAppliedTwiceChangesNothing) {
  const std::vector events{stored(5, cable_event(1, "leaf1->spine2", IncidentState::open, kStart))};
  EXPECT_EQ(store_.apply(events)->events, 1u);
  EXPECT_EQ(store_.last_sequence(), 5u);
  EXPECT_EQ(store_.apply(events)->events, 0u);
  EXPECT_EQ(database_.number("SELECT count(*) FROM events"), 1);
  EXPECT_EQ(offences(database_, {})->front().times, 1u);
}

TEST_F(Projection, KeepsWhatItHasWhenTheFileIsOpenedAgain) {
  apply({stored(5, cable_event(1, "leaf1->spine2", IncidentState::open, kStart))});
  EXPECT_EQ(file_.open().last_sequence(), 5u);
  auto again = file_.open();
  EXPECT_THAT(ids(*incidents(again.database(), {})), ElementsAre(1));
}

TEST_F(Projection, AStreamThatWasMadeAnewIsReadFromItsBeginning) {
  apply({stored(1, cable_event(1, "leaf1->spine2", IncidentState::closed, kStart)),
         stored(2, cable_event(2, "leaf2->spine1", IncidentState::closed, kStart + Seconds(10))),
         stored(3, cable_event(3, "leaf2->spine2", IncidentState::closed, kStart + Seconds(20)))});
  EXPECT_EQ(store_.last_incident(), 3u);
  for (const int start : {3'600, 7'200}) {  // and once more
    const auto first =
        stored(1, cable_event(4, "leaf1->spine1", IncidentState::open, kStart + Seconds(start)));
    const auto second =
        stored(2, cable_event(5, "leaf1->spine2", IncidentState::open, kStart + Seconds(start + 10)));
    apply({first, second});
    EXPECT_EQ(store_.last_sequence(), 2u);
    EXPECT_EQ(store_.apply(std::vector{first, second})->events, 0u) << "as when a watch starts again";
  }
  EXPECT_EQ(database_.number("SELECT count(*) FROM events"), 7);
  EXPECT_EQ(database_.number("SELECT count(DISTINCT at) FROM events WHERE sequence > 0"), 2);
  EXPECT_THAT(ids(*incidents(database_, {})), ElementsAre(5, 4, 3, 2, 1));
}

TEST_F(Projection, AnEventThatIsForgottenIsNoneOfANewStream) {
  const auto old = stored(1, cable_event(1, "leaf1->spine2", IncidentState::closed, kStart));
  apply({old, stored(2, cable_event(2, "leaf2->spine1", IncidentState::open, kStart + Seconds(86'400)))});
  ASSERT_TRUE(forget_events(database_, kStart + Seconds(3'600)));
  EXPECT_EQ(store_.apply(std::vector{old})->events, 0u);
  EXPECT_EQ(store_.last_sequence(), 2u);
  EXPECT_EQ(store_.last_incident(), 2u);
}

TEST_F(Projection, FindsIncidentsByTimeAndByLinkWrittenEitherWay) {
  apply({stored(1, cable_event(1, "leaf1->spine2", IncidentState::closed, kStart)),
         stored(2, cable_event(2, "leaf2->spine1", IncidentState::open, kStart + Seconds(7200))),
         stored(3, cable_event(3, "leaf1->spine2", IncidentState::dismissed, kStart + Seconds(7200)))});
  EXPECT_THAT(ids(*incidents(database_, {})), ElementsAre(3, 2, 1));
  EXPECT_THAT(ids(*incidents(database_, {.suspicions = false})), ElementsAre(2, 1));
  EXPECT_THAT(ids(*incidents(database_, {.from = kStart + Seconds(3600)})), ElementsAre(3, 2));
  EXPECT_THAT(ids(*incidents(database_, {.until = kStart + Seconds(3600)})), ElementsAre(1));
  EXPECT_THAT(ids(*incidents(database_, {.place = "leaf1--spine2"})), ElementsAre(3, 1));
  EXPECT_THAT(ids(*incidents(database_, {.place = "spine2--leaf1"})), ElementsAre(3, 1));
  EXPECT_THAT(ids(*incidents(database_, {.from = kStart + Seconds(90'000), .place = "leaf2--spine1"})),
              ElementsAre(2))
      << "it is still open";
  EXPECT_THAT(ids(*incidents(database_, {.place = "leaf1"})), ElementsAre(3, 1)) << "of a node its cables";
  EXPECT_THAT(ids(*incidents(database_, {.place = "spine1"})), ElementsAre(2));
  EXPECT_THAT(ids(*incidents(database_, {.place = "leaf"})), ElementsAre());
}

TEST_F(Projection, AddsUpTheOffencesOfACableAndTakesBackWhatASwitchExplains) {
  auto flapping = cable_event(1, "leaf1->spine2", IncidentState::closed, kStart);
  flapping.incident.flaps = 3;
  apply({stored(1, flapping),
         stored(2, cable_event(2, "leaf1->spine2", IncidentState::open, kStart + Seconds(86'400))),
         stored(3, cable_event(3, "leaf2->spine1", IncidentState::suspected, kStart))});
  auto found = offences(database_, {});
  ASSERT_TRUE(found) << found.error().message;
  ASSERT_EQ(found->size(), 1u) << "a suspicion is no offence";
  EXPECT_EQ(found->front().link, "leaf1--spine2");
  EXPECT_EQ(found->front().times, 5u);
  EXPECT_EQ(found->front().bad, Seconds(120));
  EXPECT_EQ(found->front().first_seen, kStart);
  EXPECT_EQ(found->front().last_seen, kStart + Seconds(86'460));

  auto of_switch = cable_event(2, "leaf1->spine2", IncidentState::open, kStart + Seconds(86'400));
  of_switch.incident.place.nodes = {small_fabric().find_node("spine2").value()};
  apply({stored(4, of_switch)});
  EXPECT_EQ(offences(database_, {})->front().times, 4u);
  EXPECT_THAT(ids(*incidents(database_, {.place = "spine2"})), ElementsAre(2, 1)) << "its cable's too";
}

TEST_F(Projection, KeepsALineThatItCannotReadAndGoesOn) {
  const auto applied = store_.apply(std::vector<watch::StoredEvent>{
      {.incident = 7, .sequence = 1, .text = R"({"schema":"weft.event/9"})"},
      stored(2, cable_event(1, "leaf1->spine2", IncidentState::open, kStart))});
  ASSERT_TRUE(applied) << applied.error().message;
  EXPECT_EQ(applied->unreadable, 1u);
  EXPECT_EQ(store_.last_sequence(), 2u);
  EXPECT_EQ(database_.number("SELECT count(*) FROM events"), 2);
  EXPECT_THAT(ids(*incidents(database_, {})), ElementsAre(1));
}

TEST_F(Projection, ForgetsOldIncidentsThatAreOverButNoOffence) {
  apply({stored(1, cable_event(1, "leaf1->spine2", IncidentState::closed, kStart)),
         stored(2, cable_event(2, "leaf2->spine1", IncidentState::open, kStart))});
  ASSERT_TRUE(forget_events(database_, kStart + Seconds(86'400)));
  EXPECT_THAT(ids(*incidents(database_, {})), ElementsAre(2));
  EXPECT_EQ(offences(database_, {})->size(), 2u);
  EXPECT_EQ(store_.last_sequence(), 2u) << "what was forgotten does not come again";
}

}  // namespace
}  // namespace weft::store
