// The live page's server over loopback: every page, and what hostile or slow clients get.
#include "collectors/web/page_server.hpp"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <httplib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <thread>

#include "collectors/web/other_page.hpp"
#include "tests/fakes/fake_watched.hpp"
#include "tests/support/scratch_file.hpp"
#include "topology/model/clos.hpp"

namespace weft::web {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

constexpr Nanoseconds kNow = std::chrono::hours(24 * 365 * 50);
constexpr const char* kToken = "a-token-of-the-test-1234";
const std::string kLab = "/api/v1/fabrics/lab/";

std::string milliseconds(Nanoseconds time) {
  return std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(time).count());
}

struct Served {
  FakeWatched watched;
  std::unique_ptr<PageServer> server;
  std::unique_ptr<httplib::Client> client;

  explicit Served(std::optional<std::string> token = std::nullopt, const std::string& name = "lab",
                  std::vector<std::shared_ptr<Elsewhere>> elsewhere = {})
      : watched(std::make_shared<const Fabric>(
                    make_clos({.name = name, .leaves = 4, .spines = 4, .hosts_per_leaf = 4}).value()),
                kNow) {
    server =
        PageServer::start({}, {.fabrics = {watched.page()},
                               .elsewhere = std::move(elsewhere),
                               .metrics = [](bool all) { return fmt::format("weft_up {}\n", all ? 2 : 1); },
                               .token = std::move(token)})
            .value();
    client = std::make_unique<httplib::Client>("127.0.0.1", server->port());
  }
  std::string own() const { return "http://127.0.0.1:" + std::to_string(server->port()); }
  json get(const std::string& path) { return json::parse(client->Get(path)->body); }
  int status(const std::string& path) { return client->Get(path)->status; }
  int mute(const json& wish, const std::string& token) {
    return client
        ->Post(kLab + "mutes", {{"Authorization", "Bearer " + token}}, wish.dump(), "application/json")
        ->status;
  }
  int unmute(const std::string& place, const std::string& token) {
    return client->Delete(kLab + "mutes/" + place, {{"Authorization", "Bearer " + token}})->status;
  }
};

class Raw {
 public:
  explicit Raw(std::uint16_t port) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const timeval limit{20, 0};
    ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    EXPECT_EQ(::connect(socket_, reinterpret_cast<const sockaddr*>(&to), sizeof to), 0);
  }
  ~Raw() { ::close(socket_); }
  bool send(std::string_view text) {
    return ::send(socket_, text.data(), text.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text.size());
  }
  /// All until the server closes.
  std::string rest() {
    std::string text;
    char part[4096];
    for (ssize_t got = 0; (got = ::recv(socket_, part, sizeof part, 0)) > 0;)
      text.append(part, static_cast<std::size_t>(got));
    return text;
  }

 private:
  int socket_;
};

TEST(PageServer, HandsOutThePageAndItsFilesWithHeadersThatKeepOthersOut) {
  Served served;
  const auto page = served.client->Get("/");
  EXPECT_EQ(page->status, 200);
  EXPECT_THAT(page->get_header_value("Content-Type"), StartsWith("text/html"));
  EXPECT_THAT(page->get_header_value("Content-Security-Policy"),
              AllOf(HasSubstr("default-src 'none'"), HasSubstr("script-src 'self'")));
  EXPECT_EQ(page->get_header_value("X-Content-Type-Options"), "nosniff");
  const auto script = served.client->Get("/main.js");
  EXPECT_THAT(script->get_header_value("Content-Type"), StartsWith("text/javascript"));
  EXPECT_EQ(served.client->Get("/main.js", {{"If-None-Match", script->get_header_value("ETag")}})->status,
            304);
  EXPECT_EQ(served.client->Get("/metrics")->body, "weft_up 1\n");
  EXPECT_EQ(served.client->Get("/metrics?all=1")->body, "weft_up 2\n") << "of all channels";
  EXPECT_EQ(served.client->Get("/metrics?all=0")->body, "weft_up 1\n");
}

TEST(PageServer, SaysWhatIsAtFaultWhereAndWhatToDo) {
  Served served;
  served.watched.fault("leaf1->spine2", 0.012, kNow - 5min);
  const auto state = served.get(kLab + "state");
  const auto& incident = state.at("incidents").at(0);
  EXPECT_EQ(state.at("verdict"), "degraded");
  EXPECT_THAT(incident.at("place").get<std::string>(), HasSubstr("leaf1--spine2"));
  EXPECT_THAT(incident.at("do").get<std::string>(), HasSubstr("leaf1 port 6"));
  const auto channel = incident.at("channels").at(0).get<std::size_t>();
  const auto letters = state.at("channels").get<std::string>();
  EXPECT_EQ(letters.at(channel), 'd');
  EXPECT_EQ(std::ranges::count(letters, 'h'), 63);
  EXPECT_EQ(served.get("/api/v1/fabrics").at("fabrics").at(0).at("verdict"), "degraded");
}

TEST(PageServer, AnUnchangedStateIsNotSentAgainAndSaysOfWhenItIs) {
  Served served;
  const auto version = served.get(kLab + "state").at("version").get<std::string>();
  const auto again = served.client->Get(kLab + "state?since=" + version);
  EXPECT_EQ(again->status, 304);
  EXPECT_EQ(again->get_header_value("Weft-At"), milliseconds(kNow));
  served.watched.advance(1s);
  EXPECT_EQ(served.status(kLab + "state?since=" + version), 200);
  EXPECT_EQ(served.status(kLab + "state?since=" + version.substr(1)), 200) << "of another server";
}

TEST(PageServer, APastMomentShowsWhatStoodThen) {
  Served served;
  const auto incident = served.watched.fault("leaf3->spine4", 0.2, kNow - 5h);
  served.watched.heal(incident, kNow - 3h);
  EXPECT_EQ(served.get(kLab + "state").at("incidents").size(), 0u);
  const auto then = served.get(kLab + "state?at=" + milliseconds(kNow - 4h));
  EXPECT_EQ(then.at("incidents").size(), 1u);
  EXPECT_EQ(std::ranges::count(then.at("channels").get<std::string>(), 'f'), 1);
  const auto before = served.get(kLab + "state?at=" + milliseconds(kNow - 6h));
  EXPECT_EQ(std::ranges::count(before.at("channels").get<std::string>(), 'h'), 64);
  const auto unkept = served.get(kLab + "state?at=1000");
  EXPECT_EQ(std::ranges::count(unkept.at("channels").get<std::string>(), 'u'), 64)
      << "never healthy by guess";
  EXPECT_EQ(served.get(kLab + "incidents").at("incidents").size(), 1u);
}

TEST(PageServer, ALinkHasItsHistoryIncidentsAndPaths) {
  Served served;
  served.watched.fault("leaf1->spine2", 0.012, kNow - 1h);
  for (const std::string name :
       {"leaf1--spine2", "spine2--leaf1", "leaf1/p6--spine2/p1", "leaf1%2Fp6--spine2%2Fp1"}) {
    const auto link = served.get(kLab + "links/" + name);
    EXPECT_EQ(link.at("name"), "leaf1--spine2") << name;
    EXPECT_EQ(link.at("incidents").size(), 1u);
    EXPECT_GT(link.at("history").at("lost").at(0).back(), 0);
    EXPECT_EQ(link.at("history").at("lost").at(1).back(), 0);
    EXPECT_GT(link.at("paths").at(0).at("lost"), 0);
  }
}

TEST(PageServer, WhatIsNotThereAndWhatMakesNoSenseIsRefusedWithAReason) {
  Served served;
  for (const std::string path :
       {"/nothing", "/../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/..%2f..%2fetc/passwd", "/ui/main.js",
        "/api/v1/fabrics/other/state", "/api/v1/fabrics/lab", "/api/v1/fabrics/lab/nothing",
        "/api/v1/fabrics/lab/links/leaf1--leaf2", "/api/v1/fabricsx"}) {
    const auto answer = served.client->Get(path);
    EXPECT_EQ(answer->status, 404) << path;
    EXPECT_NE(json::parse(answer->body).at("error"), "") << path;
  }
  for (const std::string query : {"state?at=yesterday", "state?at=-1", "state?at=99999999999999999999",
                                  "incidents?from=5&to=4", "incidents?to=1e3", "links/", "links/leaf1"})
    EXPECT_EQ(served.status(kLab + query), 400) << query;
  EXPECT_EQ(served.client->Put(kLab + "state", "", "text/plain")->status, 405);
  EXPECT_EQ(served.client->Post(kLab + "state", "", "text/plain")->status, 405);
  EXPECT_EQ(served.client->Delete("/")->status, 405);
  EXPECT_EQ(served.client->Delete(kLab + "mutes")->status, 405);
  EXPECT_EQ(served.client->Options("/")->status, 405);
  EXPECT_EQ(served.client->Get("/", {{"Range", "bytes=0-1,0-1,0-1"}})->status, 416);
  EXPECT_EQ(served.client->Get("/", {{"Host", "evil.example"}})->status, 421);
  EXPECT_EQ(served.client->Get("/", {{"Host", "127.0.0.1.evil.example"}})->status, 421);
  EXPECT_EQ(served.client->Get("/", {{"Host", "localhost:8000"}})->status, 200);
}

TEST(PageServer, AHeadHasTheHeadersAndNoBody) {
  Served served;
  const auto head = served.client->Head(kLab + "layout");
  EXPECT_EQ(head->status, 200);
  EXPECT_EQ(head->body, "");
  EXPECT_GT(std::stoi(head->get_header_value("Content-Length")), 500);
}

TEST(PageServer, ASourceThatFailsIsSaidSo) {
  Served served;
  served.watched.break_with("the database is away");
  const auto answer = served.client->Get(kLab + "incidents");
  EXPECT_EQ(answer->status, 503);
  EXPECT_THAT(answer->body, HasSubstr("the database is away"));
  EXPECT_EQ(served.status(kLab + "state"), 200) << "what is live needs no database";
}

TEST(PageServer, AMuteNeedsTheToken) {
  const json wish{{"place", "leaf1--spine2"}, {"minutes", 60}, {"reason", "cable ordered"}};
  Served closed;
  EXPECT_EQ(closed.mute(wish, kToken), 403) << "without a token nobody changes anything";
  EXPECT_EQ(closed.unmute("leaf1--spine2", kToken), 403);
  Served served{std::string(kToken)};
  EXPECT_EQ(served.mute(wish, "a-token-of-the-test-1235"), 401);
  EXPECT_EQ(served.mute(wish, ""), 401);
  EXPECT_EQ(served.client->Post(kLab + "mutes", wish.dump(), "application/json")->status, 401);
  EXPECT_EQ(served.get(kLab + "mutes").at("mutes").size(), 0u);
  EXPECT_EQ(served.mute(wish, kToken), 201);
  const auto standing = served.get(kLab + "mutes").at("mutes").at(0);
  EXPECT_EQ(standing.at("place"), "leaf1--spine2");
  EXPECT_EQ(standing.at("who"), "live page");
  EXPECT_EQ(standing.at("until").get<std::int64_t>() - standing.at("from").get<std::int64_t>(), 3'600'000);
}

TEST(PageServer, AMuteThatMakesNoSenseIsRefused) {
  Served served{std::string(kToken)};
  const auto refused = [&](const json& change) {
    json wish{{"place", "leaf1"}, {"minutes", 60}, {"reason", "x"}};
    wish.update(change);
    return served.mute(wish, kToken);
  };
  EXPECT_EQ(refused({{"place", "leaf9"}}), 404);
  EXPECT_EQ(refused({{"minutes", 0}}), 400);
  EXPECT_EQ(refused({{"minutes", 90 * 24 * 60 + 1}}), 400);
  EXPECT_EQ(refused({{"minutes", -5}}), 400);
  EXPECT_EQ(refused({{"in", 90 * 24 * 60 + 1}}), 400);
  EXPECT_EQ(refused({{"in", "tomorrow"}}), 400);
  EXPECT_EQ(refused({{"reason", ""}}), 400);
  EXPECT_EQ(refused({{"reason", std::string(300, 'x')}}), 400);
  EXPECT_EQ(served.mute(json(std::string(20'000, 'x')), kToken), 413);
  EXPECT_EQ(served.get(kLab + "mutes").at("mutes").size(), 0u);
}

TEST(PageServer, ControlCharactersOfAMuteAreMadeHarmless) {
  Served served{std::string(kToken)};
  EXPECT_EQ(served.mute({{"place", "leaf1"}, {"minutes", 60}, {"reason", "two\nlines"}, {"who", "\x1b[2J"}},
                        kToken),
            201);
  const auto mutes = served.watched.mutes().value();
  for (const std::string& text : {mutes.at(0).reason, mutes.at(0).who})
    EXPECT_TRUE(std::ranges::none_of(text, [](char c) {
      return std::iscntrl(static_cast<unsigned char>(c));
    })) << text;
}

TEST(PageServer, AMuteMayBeAheadAndIsRemovedByItsPlace) {
  Served served{std::string(kToken)};
  EXPECT_EQ(served.mute({{"place", "leaf1/p6--spine2/p1"},
                         {"minutes", 60},
                         {"reason", "new optics"},
                         {"who", "anna"},
                         {"in", 30}},
                        kToken),
            201);
  const auto standing = served.get(kLab + "mutes").at("mutes").at(0);
  EXPECT_EQ(standing.at("who"), "anna");
  EXPECT_EQ(std::to_string(standing.at("from").get<std::int64_t>()), milliseconds(kNow + 30min));
  EXPECT_EQ(served.unmute("leaf1--spine2", "a-token-of-the-test-1235"), 401);
  EXPECT_EQ(served.unmute("leaf1--spine3", kToken), 404) << "it was not muted";
  EXPECT_EQ(served.unmute("leaf1/p6--spine2/p1", kToken), 200) << "by another of its names";
  EXPECT_EQ(served.get(kLab + "mutes").at("mutes").size(), 0u);
}

TEST(PageServer, APageOfAnotherSiteChangesNothingEvenWithTheToken) {
  Served served{std::string(kToken)};
  const std::string wish = R"({"place":"leaf1","minutes":60,"reason":"x"})";
  const auto from = [&](httplib::Headers headers) {
    headers.emplace("Authorization", std::string("Bearer ") + kToken);
    return served.client->Post(kLab + "mutes", headers, wish, "application/json")->status;
  };
  EXPECT_EQ(from({{"Origin", "https://evil.example"}}), 403);
  EXPECT_EQ(from({{"Origin", "null"}}), 403);
  EXPECT_EQ(from({{"Sec-Fetch-Site", "cross-site"}}), 403);
  EXPECT_EQ(from({{"Sec-Fetch-Site", "same-site"}, {"Origin", served.own()}}), 403);
  EXPECT_EQ(served.get(kLab + "mutes").at("mutes").size(), 0u);
  EXPECT_EQ(from({{"Origin", served.own()}}), 201);
  EXPECT_EQ(from({{"Sec-Fetch-Site", "same-origin"}, {"Origin", "https://watch.example"}}), 201)
      << "behind a proxy the browser knows better";
  EXPECT_EQ(served.client->Options(kLab + "mutes")->status, 405) << "no other site is told that it may";
}

TEST(PageServer, TellsTheBlacklistAndWhyItCannotBeRead) {
  Served served;
  EXPECT_EQ(served.get(kLab + "blacklist").at("count"), 0);
  served.watched.avoid("leaf1--spine2", Verdict::degraded, kNow + 2h);
  const auto list = served.get(kLab + "blacklist");
  const auto& link = list.at("links").at(0);
  EXPECT_EQ(link.at("name"), "leaf1--spine2");
  EXPECT_EQ(link.at("verdict"), "degraded");
  EXPECT_EQ(std::to_string(link.at("until").get<std::int64_t>()), milliseconds(kNow + 2h));
  EXPECT_FALSE(list.contains("trouble"));
  served.watched.break_with("the file is away");
  EXPECT_EQ(served.get(kLab + "blacklist").at("trouble"), "the file is away");
}

TEST(PageServer, TellsPortsThatDegradeAndPortsThatCountedErrors) {
  Served served;
  EXPECT_EQ(served.get(kLab + "counters").at("ports").size(), 0u);
  served.watched.warn("leaf1/p3", PortWarning::Days{3.5, 2.1, 7.8}, "corrected errors rise");
  served.watched.warn("leaf2/p4", std::nullopt, "12 errors of 4.5e+12 codewords in 24 h");
  const auto list = served.get(kLab + "counters");
  const auto& port = list.at("ports").at(0);
  EXPECT_EQ(port.at("port"), "leaf1/p3");
  EXPECT_EQ(port.at("degrading"), true);
  EXPECT_EQ(port.at("days"), 3.5);
  EXPECT_EQ(port.at("days_high"), 7.8);
  EXPECT_EQ(port.at("source"), "prometheus");
  EXPECT_EQ(std::to_string(port.at("at").get<std::int64_t>()), milliseconds(kNow - 5min));
  EXPECT_FALSE(list.at("ports").at(1).contains("days"));
  served.watched.break_with("the server is away");
  EXPECT_EQ(served.get(kLab + "counters").at("trouble"), "the server is away");
}

TEST(PageServer, SaysHowOldAStateIsByItsOwnClock) {
  Served served;
  const auto answer = served.client->Get(kLab + "state");
  const auto age =
      std::stoll(answer->get_header_value("Weft-Now")) - std::stoll(answer->get_header_value("Weft-At"));
  EXPECT_GT(age, 24LL * 3600 * 1000) << "the state of the test is of 2020";
}

TEST(PageServer, ALinkWhoseWatcherIsBusyIsShownWithoutItsPaths) {
  Served served;
  served.watched.break_paths("the watcher is busy");
  const auto link = served.get(kLab + "links/leaf1--spine2");
  EXPECT_EQ(link.at("paths").size(), 0u);
  EXPECT_EQ(link.at("paths_trouble"), "the watcher is busy");
  EXPECT_GT(link.at("history").at("at").size(), 0u);
}

/// Two watchers with a page each; the first shows the fabric of the second too.
struct TwoPages {
  Served other{std::string(kToken), "north"};
  Served own{std::string(kToken), "lab", {other_page("north", other.own()).value()}};
  const std::string north = "/api/v1/fabrics/north/";

  json row() {
    for (int i = 0; i < 200; ++i, std::this_thread::sleep_for(50ms))
      if (auto found = own.get("/api/v1/fabrics").at("fabrics").at(1); found.contains("verdict"))
        return found;
    return {};
  }
};

TEST(OtherPages, AFabricOfAnotherWatcherIsShownAsOnItsOwnPage) {
  TwoPages pages;
  pages.other.watched.fault("leaf1->spine2", 0.012, kNow - 5min);
  const auto row = pages.row();
  EXPECT_EQ(row.at("name"), "north");
  EXPECT_EQ(row.at("may_change"), true);
  EXPECT_EQ(pages.own.get("/api/v1/fabrics").at("fabrics").at(0).at("verdict"), "healthy");
  const auto state = pages.own.client->Get(pages.north + "state");
  EXPECT_EQ(json::parse(state->body), pages.other.get(pages.north + "state"));
  EXPECT_EQ(state->get_header_value("Weft-At"), milliseconds(kNow));
  const auto version = json::parse(state->body).at("version").get<std::string>();
  EXPECT_EQ(pages.own.status(pages.north + "state?since=" + version), 304);
  EXPECT_EQ(pages.own.get(pages.north + "links/leaf1%2Fp6--spine2%2Fp1").at("name"), "leaf1--spine2");
  const auto packed = pages.own.client->Get(pages.north + "layout", {{"Accept-Encoding", "gzip"}});
  EXPECT_EQ(json::parse(packed->body).at("fabric"), "north")
      << "it comes compressed and is unpacked by the client";
}

TEST(OtherPages, AMuteGoesToItsOwnWatcherWithTheTokenOfThat) {
  TwoPages pages;
  const std::string wish = R"({"place":"leaf1","minutes":60,"reason":"x"})";
  const auto mute = [&](httplib::Headers headers) {
    return pages.own.client->Post(pages.north + "mutes", headers, wish, "application/json")->status;
  };
  EXPECT_EQ(mute({{"Authorization", "Bearer a-token-of-the-test-1235"}}), 401);
  const std::string good = std::string("Bearer ") + kToken;
  EXPECT_EQ(mute({{"Authorization", good}, {"Origin", "https://evil.example"}}), 403);
  EXPECT_EQ(mute({{"Authorization", good}}), 201);
  EXPECT_EQ(pages.other.watched.mutes()->size(), 1u);
  EXPECT_EQ(pages.own.watched.mutes()->size(), 0u);
  EXPECT_EQ(pages.own.client->Delete(pages.north + "mutes/leaf1", {{"Authorization", good}})->status, 200);
  EXPECT_EQ(pages.other.watched.mutes()->size(), 0u);
}

TEST(OtherPages, OneThatIsAwayIsSaidSoAndTheOwnFabricGoesOn) {
  auto pages = std::make_unique<TwoPages>();
  EXPECT_EQ(pages->row().at("name"), "north");
  pages->other.server.reset();
  const auto answer = pages->own.client->Get(pages->north + "state");
  EXPECT_EQ(answer->status, 503);
  EXPECT_THAT(answer->body, HasSubstr("does not answer"));
  EXPECT_EQ(pages->own.status(kLab + "state"), 200);
}

TEST(OtherPages, WhatAnotherPagePassesOnIsNotPassedOnAgain) {
  TwoPages pages;
  const httplib::Headers passed{{"Weft-Passed-On", "1"}};
  EXPECT_EQ(pages.own.client->Get(pages.north + "state", passed)->status, 404);
  EXPECT_EQ(json::parse(pages.own.client->Get("/api/v1/fabrics", passed)->body).at("fabrics").size(), 1u);
}

TEST(OtherPages, OnlyPlainAddressesOfPagesAreTaken) {
  for (const std::string url :
       {"https://host:1", "host:1", "http://", "http://:80", "http://a:0", "http://a:65536", "http://a:1/x",
        "http://user@host:1", "http://a b:1", "http://a:1?x"})
    EXPECT_FALSE(other_page("north", url)) << url;
  EXPECT_FALSE(other_page("", "http://a:1"));
  EXPECT_FALSE(other_page("a/b", "http://a:1"));
}

TEST(PageServer, HugeRequestsAreCutOff) {
  Served served;
  for (const std::string start : {"GET /", "GET / HTTP/1.1\r\nA: ",
                                  "POST /api/v1/fabrics/lab/mutes HTTP/1.1\r\nHost: "
                                  "localhost\r\nTransfer-Encoding: chunked\r\n\r\nFFFFFF\r\n"}) {
    Raw raw(served.server->port());
    raw.send(start);
    bool taken = true;
    for (int i = 0; i < 4096 && taken; ++i) taken = raw.send(std::string(4096, 'a'));  // 16 MB
    EXPECT_THAT(raw.rest(), testing::Not(HasSubstr(" 200 "))) << start;
  }
  std::string many = "GET / HTTP/1.1\r\n";
  for (int i = 0; i < 20'000; ++i) many += "A: b\r\n";
  Raw raw(served.server->port());
  raw.send(many + "\r\n");
  EXPECT_THAT(raw.rest(), testing::Not(HasSubstr(" 200 ")));
  EXPECT_EQ(served.client->Get("/" + std::string(2000, 'a'))->status, 414);
  EXPECT_EQ(served.status("/"), 200);
}

TEST(PageServer, SlowAndSilentClientsDoNotKeepOthersOut) {
  Served served;
  std::vector<std::unique_ptr<Raw>> slow;
  for (int i = 0; i < 24; ++i) {
    slow.push_back(std::make_unique<Raw>(served.server->port()));
    if (i % 2) slow.back()->send("GET / HTTP/1.1\r\nHost: loc");
  }
  std::jthread drip([&](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      for (auto& one : slow) one->send("a");
      std::this_thread::sleep_for(200ms);
    }
  });
  httplib::Client client("127.0.0.1", served.server->port());
  client.set_read_timeout(30s);
  const auto begin = std::chrono::steady_clock::now();
  const auto answer = client.Get("/");
  ASSERT_TRUE(answer) << "24 slow clients hold eight threads for two seconds each at most";
  EXPECT_EQ(answer->status, 200);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 15s);
}

TEST(PageServer, EndsAtOnceWhileClientsHang) {
  auto served = std::make_unique<Served>();
  Raw raw(served->server->port());
  raw.send("GET / HTTP/1.1\r\n");
  std::this_thread::sleep_for(100ms);
  const auto begin = std::chrono::steady_clock::now();
  served.reset();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 3s);
}

TEST(PageServer, ATakenPortAndATokenInClearAreRefused) {
  Served served;
  const auto second = PageServer::start({.port = served.server->port()}, {});
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().kind, ErrorKind::conflict);
  EXPECT_THAT(second.error().message, HasSubstr("the port is taken"));
  const auto clear = PageServer::start({.address = "0.0.0.0"}, {.token = kToken});
  ASSERT_FALSE(clear);
  EXPECT_EQ(clear.error().kind, ErrorKind::usage);
}

TEST(ReadToken, OnlyAFileOfItsOwnersAlone) {
  ScratchFile file("a-token-of-the-test-1234\n");
  std::filesystem::permissions(file.path(), std::filesystem::perms(0600));
  EXPECT_EQ(read_token(file.path()).value(), kToken);
  std::filesystem::permissions(file.path(), std::filesystem::perms(0604));
  EXPECT_EQ(read_token(file.path()).error().kind, ErrorKind::permission);
  // As systemd hands a credential to a service: of root, and a list of access rights that shows as its group.
  std::filesystem::permissions(file.path(), std::filesystem::perms(0440));
  EXPECT_EQ(read_token(file.path()).has_value(), ::geteuid() == 0);
  EXPECT_EQ(read_token("/nowhere/token").error().kind, ErrorKind::not_found);
  ScratchFile few("short\n");
  std::filesystem::permissions(few.path(), std::filesystem::perms(0600));
  EXPECT_EQ(read_token(few.path()).error().kind, ErrorKind::invalid_input);
}

}  // namespace
}  // namespace weft::web
