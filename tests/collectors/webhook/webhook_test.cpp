// The webhook against a server on this host.
#include "collectors/webhook/webhook.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <httplib.h>

#include <fstream>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>

#include "tests/support/schema.hpp"
#include "tests/support/scratch_file.hpp"

namespace weft::webhook {
namespace {

using testing::HasSubstr;
using Milliseconds = std::chrono::milliseconds;

constexpr std::string_view kSecret = "0123456789abcdef0123456789abcdef";

files::EventReport opened(std::uint64_t incident) {
  files::EventReport report{.fabric = "a", .number = 1, .change = IncidentChange::opened};
  report.incident.id = IncidentId(incident);
  report.incident.channels = {"leaf1->spine2"};
  report.incident.state = IncidentState::open;
  report.incident.opened = std::chrono::seconds(1'769'860'800);
  return report;
}

/// A receiver that answers as it is told to; 0: it hangs.
class Receiver {
 public:
  explicit Receiver(std::vector<int> answers) : answers_(std::move(answers)) {
    server_.Post("/hook", [this](const httplib::Request& request, httplib::Response& response) {
      int status = 200;
      {
        const std::scoped_lock lock(mutex_);
        requests_.push_back(request);
        if (requests_.size() <= answers_.size()) status = answers_[requests_.size() - 1];
      }
      for (int i = 0; status == 0 && i < 100 && !ending_; ++i) std::this_thread::sleep_for(Milliseconds(20));
      response.status = status == 0 ? 200 : status;
    });
    port_ = server_.bind_to_any_port("127.0.0.1");
    thread_ = std::jthread([this] { server_.listen_after_bind(); });
  }
  ~Receiver() {
    ending_ = true;
    server_.stop();
  }
  std::string url() const { return fmt::format("http://127.0.0.1:{}/hook", port_); }
  std::vector<httplib::Request> requests() const {
    const std::scoped_lock lock(mutex_);
    return requests_;
  }

 private:
  std::vector<int> answers_;
  httplib::Server server_;
  mutable std::mutex mutex_;
  std::vector<httplib::Request> requests_;
  std::atomic<bool> ending_ = false;
  int port_ = 0;
  std::jthread thread_;
};

WebhookOptions to(const std::string& url) {
  return {.url = url,
          .secret = std::string(kSecret),
          .answer_within = Milliseconds(300),
          .first_pause = Milliseconds(10),
          .longest_pause = Milliseconds(50)};
}

template <class Is>
WebhookCounts when(const Webhook& webhook, Is is) {
  WebhookCounts counts = webhook.counts();
  for (int i = 0; i < 1000 && !is(counts); ++i) {
    std::this_thread::sleep_for(Milliseconds(10));
    counts = webhook.counts();
  }
  return counts;
}
WebhookCounts when_sent(const Webhook& webhook, std::uint64_t sent) {
  return when(webhook, [&](const WebhookCounts& counts) { return counts.sent >= sent; });
}

TEST(Webhook, PostsAnEventWithASignatureThatTheReceiverCanMakeAnew) {
  const Receiver receiver({});
  const auto webhook = Webhook::start(to(receiver.url())).value();
  webhook->report(opened(12));
  EXPECT_EQ(when_sent(*webhook, 1).sent, 1u);
  ASSERT_EQ(receiver.requests().size(), 1u);
  const auto request = receiver.requests().front();
  expect_matches_schema(request.body, "event");
  EXPECT_EQ(request.get_header_value("Content-Type"), "application/json");
  EXPECT_EQ(request.get_header_value("X-Weft-Event"), "12.1");
  const auto signed_as = request.get_header_value("X-Weft-Signature");
  ASSERT_TRUE(signed_as.starts_with("t=")) << signed_as;
  EXPECT_EQ(signed_as, signature(kSecret, std::stoll(signed_as.substr(2)), request.body));
}

TEST(Webhook, TriesAgainWhereTheReceiverFailsAndKeepsTheOrder) {
  const Receiver receiver({500, 503, 200});
  const auto webhook = Webhook::start(to(receiver.url())).value();
  webhook->report(opened(1)), webhook->report(opened(2));
  EXPECT_EQ(when_sent(*webhook, 2).sent, 2u);
  std::vector<std::string> ids;
  for (const auto& request : receiver.requests()) ids.push_back(request.get_header_value("X-Weft-Event"));
  EXPECT_THAT(ids, testing::ElementsAre("1.1", "1.1", "1.1", "2.1"));
  EXPECT_EQ(webhook->counts().last_trouble, "");
}

TEST(Webhook, AReceiverThatHangsHoldsUpNobodyAndIsTriedAgain) {
  const Receiver receiver({0});
  const auto webhook = Webhook::start(to(receiver.url())).value();
  const auto began = std::chrono::steady_clock::now();
  for (std::uint64_t i = 1; i <= 100; ++i) webhook->report(opened(i));
  EXPECT_LT(std::chrono::steady_clock::now() - began, Milliseconds(200)) << "report() does not wait";
  EXPECT_EQ(when_sent(*webhook, 100).sent, 100u);
  EXPECT_EQ(receiver.requests().size(), 101u);
}

TEST(Webhook, WhatTheReceiverRefusesIsNotTriedAgain) {
  const Receiver receiver({404, 200});
  const auto webhook = Webhook::start(to(receiver.url())).value();
  webhook->report(opened(1)), webhook->report(opened(2));
  const auto counts = when_sent(*webhook, 1);
  EXPECT_EQ(counts.refused, 1u);
  EXPECT_EQ(receiver.requests().size(), 2u);
}

TEST(Webhook, WithNobodyThereItSaysSoAndEndsAtOnce) {
  auto webhook = Webhook::start(to("http://127.0.0.1:1/hook")).value();
  webhook->report(opened(1));
  const auto counts = when(*webhook, [](const WebhookCounts& now) { return !now.last_trouble.empty(); });
  EXPECT_THAT(counts.last_trouble, HasSubstr("127.0.0.1:1"));
  EXPECT_EQ(counts.waiting, 1u);
  const auto began = std::chrono::steady_clock::now();
  webhook.reset();
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(2));
}

TEST(Webhook, AnUrlThatWouldTellTheWorldIsRefused) {
  for (const char* url :
       {"", "leaf1", "ftp://a/b", "http://example.org/hook", "https://", "https://u:p@example.org/",
        "https://exa mple.org/", "http://127.0.0.1.example.org/x", "https://a/\n"}) {
    const auto started = Webhook::start({.url = url});
    ASSERT_FALSE(started) << url;
    EXPECT_EQ(started.error().kind, ErrorKind::usage);
    EXPECT_THAT(started.error().message, HasSubstr("expected https://"));
  }
}

// RFC 4231 has no case with this form; made with `printf '1769860800.{}' | openssl dgst -sha256 -hmac
// SECRET`.
TEST(Signature, IsHmacSha256OverTimeAndBody) {
  EXPECT_EQ(signature(kSecret, 1'769'860'800, "{}"),
            "t=1769860800,v1=a9355dbe4b0efb8cfff5f2b1db9fee5ed34ea3a6fe8d160e2c073a969f149142");
}

TEST(Secret, IsReadFromAFileThatNobodyElseCanRead) {
  using std::filesystem::perms;
  const ScratchFile file(std::string(kSecret) + "\n");
  std::filesystem::permissions(file.path(), perms::owner_read | perms::owner_write);
  EXPECT_EQ(read_secret(file.path()), std::string(kSecret));
  std::filesystem::permissions(file.path(), perms::others_read, std::filesystem::perm_options::add);
  EXPECT_EQ(read_secret(file.path()).error().kind, ErrorKind::permission);
  EXPECT_THAT(read_secret(file.path()).error().message, HasSubstr("chmod 600"));
  const ScratchFile shorter("hunter2");
  std::filesystem::permissions(shorter.path(), perms::owner_read);
  EXPECT_THAT(read_secret(shorter.path()).error().message, HasSubstr("7 bytes"));
  EXPECT_EQ(read_secret("/nowhere/secret").error().kind, ErrorKind::not_found);
  EXPECT_EQ(read_secret("/tmp").error().kind, ErrorKind::invalid_input);
}

}  // namespace
}  // namespace weft::webhook
