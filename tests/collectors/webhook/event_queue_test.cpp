#include "collectors/webhook/event_queue.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weft::webhook {
namespace {

using std::chrono::seconds;

files::EventReport event(std::uint64_t incident, IncidentState state, std::uint64_t number = 0) {
  files::EventReport report{.fabric = "a", .number = number, .incident = {.id = IncidentId(incident)}};
  report.incident.channels = {"leaf1->spine2"};
  report.incident.state = state;
  if (state != IncidentState::suspected && state != IncidentState::dismissed)
    report.incident.opened = seconds(1);
  return report;
}

files::EventReport muted(files::EventReport report) {
  report.incident.muted_by = "optics";
  return report;
}

TEST(EventQueue, TellsOfWhatIsOpenAndOfItsEndAndOfNoSuspicion) {
  const WebhookOptions options;
  EventQueue queue(options);
  EXPECT_FALSE(queue.push(event(1, IncidentState::suspected)));
  EXPECT_TRUE(queue.push(event(1, IncidentState::open, 1)));
  EXPECT_TRUE(queue.push(event(1, IncidentState::closed, 2)));
  EXPECT_FALSE(queue.push(event(2, IncidentState::dismissed)));
  EXPECT_EQ(queue.next()->id, "1.1");
  EXPECT_EQ(queue.counts().waiting, 2u);
}

TEST(EventQueue, OfWhatIsMutedNobodyIsToldButWhoWasToldHearsItsEnd) {
  const WebhookOptions options;
  EventQueue queue(options);
  EXPECT_FALSE(queue.push(muted(event(1, IncidentState::open))));
  EXPECT_FALSE(queue.push(muted(event(1, IncidentState::closed)))) << "nobody knows of it";
  EXPECT_TRUE(queue.push(event(2, IncidentState::open)));
  EXPECT_FALSE(queue.push(muted(event(2, IncidentState::recovering))));
  EXPECT_TRUE(queue.push(muted(event(2, IncidentState::closed))));
}

TEST(EventQueue, WhoWasToldByAnotherHearsTheEndOfWhatIsMutedMeanwhile) {
  const WebhookOptions options;
  EventQueue queue(options);
  queue.note_told(event(1, IncidentState::open));
  queue.note_told(muted(event(2, IncidentState::open)));
  EXPECT_TRUE(queue.push(muted(event(1, IncidentState::closed, 1))));
  EXPECT_FALSE(queue.push(muted(event(2, IncidentState::closed, 1)))) << "nobody was told";
  queue.note_told(event(3, IncidentState::open)), queue.note_told(event(3, IncidentState::closed));
  EXPECT_FALSE(queue.push(muted(event(3, IncidentState::closed, 1)))) << "it was told by the other";
}

TEST(EventQueue, PausesGrowUpToALimitAndBeginAnewWithTheNextEvent) {
  const WebhookOptions options{.first_pause = seconds(1), .longest_pause = seconds(4), .tries = 5};
  EventQueue queue(options);
  queue.push(event(1, IncidentState::open)), queue.push(event(2, IncidentState::open));
  EXPECT_EQ(queue.tried(Answer::again, "down"), seconds(1));
  EXPECT_EQ(queue.tried(Answer::again, "down"), seconds(2));
  EXPECT_EQ(queue.tried(Answer::again, "down"), seconds(4));
  EXPECT_EQ(queue.tried(Answer::again, "down"), seconds(4));
  EXPECT_EQ(queue.counts().last_trouble, "down");
  EXPECT_EQ(queue.tried(Answer::again, "down"), seconds(0)) << "all tries failed: the next one";
  EXPECT_EQ(queue.counts().dropped, 1u);
  EXPECT_EQ(queue.next()->id, "2.0");
  EXPECT_EQ(queue.tried(Answer::again, "down"), seconds(1));
  EXPECT_EQ(queue.tried(Answer::taken, ""), seconds(0));
  EXPECT_EQ(queue.counts().sent, 1u);
  EXPECT_EQ(queue.next(), nullptr);
}

TEST(EventQueue, IsBoundedAndKeepsTheNewest) {
  const WebhookOptions options{.most_waiting = 3};
  EventQueue queue(options);
  for (std::uint64_t i = 1; i <= 10; ++i) queue.push(event(i, IncidentState::open));
  EXPECT_EQ(queue.counts().waiting, 3u);
  EXPECT_EQ(queue.counts().dropped, 7u);
  EXPECT_EQ(queue.next()->id, "1.0") << "it may be under way";
  queue.tried(Answer::taken, "");
  EXPECT_EQ(queue.next()->id, "9.0");
}

TEST(AnswerOf, AReceiverMayTakeRefuseOrBeAskedAgain) {
  EXPECT_EQ(answer_of(200), Answer::taken);
  EXPECT_EQ(answer_of(204), Answer::taken);
  for (const int status : {301, 400, 401, 404}) EXPECT_EQ(answer_of(status), Answer::refused) << status;
  for (const int status : {0, 408, 429, 500, 503}) EXPECT_EQ(answer_of(status), Answer::again) << status;
}

}  // namespace
}  // namespace weft::webhook
