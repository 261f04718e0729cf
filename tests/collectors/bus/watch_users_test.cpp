// What a standing agent may say and hear over a real nats-server with JetStream on loopback.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "collectors/bus/agent_link.hpp"
#include "collectors/bus/watch_link.hpp"
#include "probes/run/watch_server.hpp"
#include "probes/session/subject.hpp"
#include "probes/session/watch_subjects.hpp"
#include "probes/watch/label_messages.hpp"
#include "tests/collectors/bus/rogue.hpp"
#include "topology/base/check.hpp"

namespace weft::bus {
namespace {

using namespace std::chrono_literals;
using namespace session;

const std::string kFabric = "pod.1";

run::NatsServer server() {
  auto started =
      run::start_watch_server({IpAddress(IpAddress::V4{127, 0, 0, 1})}, kFabric, {"host1", "host2"});
  WEFT_CHECK(started.has_value());
  return std::move(*started);
}

bool may_publish(const run::NatsServer& nats, const std::string& subject) {
  return Rogue(nats, "host1").may_publish(subject);
}
bool may_subscribe(const run::NatsServer& nats, const std::string& subject) {
  return Rogue(nats, "host1").may_subscribe(subject);
}

TEST(WatchUsers, AnAgentSpeaksOfItselfAlone) {
  const auto nats = server();
  EXPECT_TRUE(may_publish(nats, watch_subject(kWindows, kFabric, "host1")));
  EXPECT_TRUE(may_publish(nats, watch_subject(kSay, kFabric, "host1")));
  EXPECT_TRUE(may_publish(nats, watch_subject(kCounters, kFabric, "host1")));
  EXPECT_TRUE(may_publish(nats, watch_subject(kLabelAnswers, kFabric, "host1")));
  EXPECT_TRUE(may_publish(nats, subject_of(RunId(7), "coordinator", "host1")));
  EXPECT_TRUE(may_publish(nats, acknowledgement_subject(RunId(7), "coordinator", "host1", 1)));
  for (const auto& subject :
       {watch_subject(kWindows, kFabric, "host2"),       watch_subject(kSay, kFabric, "host2"),
        watch_subject(kCounters, kFabric, "host2"),      watch_subject(kCounters, "other", "host1"),
        watch_subject(kWindows, "other", "host1"),       watch_subject(kPlan, kFabric, "host1"),
        watch_subject(kPlan, kFabric, "host2"),          watch_subject(kEvents, kFabric, "1"),
        watch_subject(kLabels, kFabric, "host1"),        watch_subject(kLabels, kFabric, "host2"),
        watch_subject(kLabelAnswers, kFabric, "host2"),  subject_of(RunId(7), "coordinator", "host2"),
        subject_of(RunId(7), "host2", "coordinator"),    inbox_of(kFabric, "host2") + ".ack.1",
        inbox_of(kFabric, "watcher") + ".x.windows.1",   std::string("$KV.WEFT_WATCH.pod=2E1.lease"),
        std::string("$JS.API.STREAM.INFO.WEFT_OBS"),     std::string("$JS.API.STREAM.MSG.GET.KV_WEFT_WATCH"),
        std::string("$JS.API.STREAM.PURGE.WEFT_EVENTS"), std::string("$JS.API.CONSUMER.CREATE.WEFT_OBS"),
        std::string("$JS.API.DIRECT.GET.KV_WEFT_WATCH")})
    EXPECT_FALSE(may_publish(nats, subject)) << subject;
}

TEST(WatchUsers, AnAgentHearsItsPlanAndItsAnswersAlone) {
  const auto nats = server();
  EXPECT_TRUE(may_subscribe(nats, watch_subject(kPlan, kFabric, "host1")));
  EXPECT_TRUE(may_subscribe(nats, watch_subject(kLabels, kFabric, "host1")));
  EXPECT_TRUE(may_subscribe(nats, inbox_of(kFabric, "host1") + ".ack.*"));
  EXPECT_TRUE(may_subscribe(nats, subscription_of(RunId(7), "host1")));
  for (const auto& subject :
       {watch_subject(kPlan, kFabric, "host2"), watch_subjects(kPlan, kFabric),
        watch_subject(kLabels, kFabric, "host2"), watch_subjects(kLabels, kFabric),
        watch_subject(kLabelAnswers, kFabric, "host2"), watch_subjects(kLabelAnswers, kFabric),
        watch_subjects(kWindows, kFabric), watch_subject(kWindows, kFabric, "host1"),
        watch_subjects(kEvents, kFabric), watch_subjects(kSay, kFabric), watch_subjects(kCounters, kFabric),
        inbox_of(kFabric, "host2") + ".>", inbox_of(kFabric, "watcher") + ".>",
        subscription_of(RunId(7), "host2"), std::string("$KV.WEFT_WATCH.>"), std::string("_INBOX.>"),
        std::string("weft.>"), std::string(">")})
    EXPECT_FALSE(may_subscribe(nats, subject)) << subject;
}

/// The server sends an acknowledgement wherever its asker wants it: nothing that an agent could not say
/// itself may come of that.
TEST(WatchUsers, AnAcknowledgementWantedElsewhereSteersNobody) {
  const auto nats = server();
  auto link = connect_watch_link(nats.address_for("watcher"), kFabric);
  ASSERT_TRUE(link) << link.error().message;
  ASSERT_TRUE(link->values->put("mutes", 0, "[]"));
  ASSERT_TRUE(link->events->append(1, 0, "event"));
  const auto other = connect_agent_link(nats.address_for("host2"), kFabric, "host2");
  Rogue rogue(nats, "host1");
  const auto own = watch_subject(kWindows, kFabric, "host1");
  for (const auto* api : {"STREAM.PURGE.WEFT_EVENTS", "STREAM.DELETE.WEFT_EVENTS", "STREAM.DELETE.WEFT_OBS",
                          "STREAM.DELETE.KV_WEFT_WATCH"})
    rogue.publish_request(own, std::string("$JS.API.") + api, "x");
  rogue.publish_request(own, watch_subject(kEvents, kFabric, "2"), "x");
  rogue.publish_request(own, watch_subject(kWindows, kFabric, "host2"), "x");
  rogue.publish_request(own, watch_subject(kPlan, kFabric, "host2"), "x");
  rogue.publish_request(own, watch_subject(kSay, kFabric, "host2"), "x");
  rogue.publish_request(own, watch_subject(kLabels, kFabric, "host2"), "x");
  rogue.publish_request(own, watch_subject(kCounters, kFabric, "host2"), "x");
  rogue.publish_request(own, "$KV.WEFT_WATCH.pod=2E1.value.mutes", "x");
  std::this_thread::sleep_for(300ms);
  const auto events = link->events->read_behind(0, 10);
  ASSERT_TRUE(events) << events.error().message;
  ASSERT_EQ(events->size(), 1u);
  EXPECT_EQ(events->at(0).text, "event");
  EXPECT_EQ(link->values->get("mutes")->text, "[]");
  const auto windows = link->feed->fetch(100, 300ms);
  ASSERT_TRUE(windows);
  for (const auto& window : *windows) EXPECT_EQ(window.host, "host1");
  EXPECT_TRUE(link->feed->words().empty());
  EXPECT_TRUE(link->feed->counters().empty());
  // Another agent may be sent an acknowledgement, which is no plan; never what the agent says itself.
  for (auto word = (*other)->next_word(0s); word && *word; word = (*other)->next_word(0s))
    EXPECT_TRUE((*word)->starts_with("{\"stream\"")) << **word;
  for (auto request = (*other)->next_label_request(); request; request = (*other)->next_label_request())
    EXPECT_FALSE(watch::peek_request_id(std::as_bytes(std::span(*request)))) << *request;
}

}  // namespace
}  // namespace weft::bus
