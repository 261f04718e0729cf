// The live page in a real browser: what an operator sees, on a small fabric and on one of 24,576 NICs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "collectors/web/assets.hpp"
#include "collectors/web/other_page.hpp"
#include "collectors/web/page_server.hpp"
#include "tests/fakes/fake_watched.hpp"
#include "tests/support/browser.hpp"
#include "tests/support/page_colours.hpp"
#include "topology/model/clos.hpp"

namespace weft::web {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kEscape = "\uE00C";
constexpr const char* kEnter = "\uE007";
constexpr const char* kLeft = "\uE012";
constexpr const char* kDown = "\uE015";
constexpr const char* kTab = "\uE004";
/// The state of a fabric stands still here: it is of so much later, so that no slow machine sees it grow old.
constexpr auto kAhead = 10min;

std::string with(std::string text, const std::string& what, const std::string& by) {
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size())
    text.replace(at, what.size(), by);
  return text;
}

class Page {
 public:
  explicit Page(Fabric fabric)
      : watched_(std::make_shared<const Fabric>(std::move(fabric)),
                 std::chrono::system_clock::now().time_since_epoch() + kAhead) {}

  /// Null: it did not start, and the test has failed.
  void start(std::optional<std::string> token = std::nullopt) {
    server_ =
        PageServer::start({}, {.fabrics = {watched_.page()}, .elsewhere = also_, .token = std::move(token)})
            .value();
    auto browser = Browser::start();
    ASSERT_TRUE(browser) << browser.error().message;
    browser_ = *std::move(browser);
    open("#/" + watched_.view().fabric->name(), watched_.view().fabric->name() + "/overview");
  }
  /// Another page's fabric; before it starts.
  void also(const std::string& name, const std::string& url) {
    also_.push_back(other_page(name, url).value());
  }
  /// Real keys, one after the other.
  void type(std::string_view keys) { ASSERT_TRUE(browser_->type(keys)); }
  void open(const std::string& hash, const std::string& ready) {
    ASSERT_TRUE(browser_->open(server_->url() + hash));
    shows(ready);
  }
  void shows(const std::string& ready) {
    ASSERT_TRUE(browser_->waits_for("return document.body.dataset.ready === '" + ready + "'"))
        << ready << " is not shown but " << browser_->script("return document.body.dataset.ready") << "\n"
        << browser_->console();
  }
  /// Of the sign of a link; `dx`, `dy` from its middle in device pixels. What comes late moves the view,
  /// which is then drawn anew: so it is waited for.
  void has_colour(const std::string& link, int dx, int dy,
                  const testing::Matcher<std::array<int, 3>>& wanted) {
    auto is = link_colour(*browser_, link, dx, dy);
    for (int again = 0; again < 30 && !testing::Value(is, wanted); ++again) {
      std::this_thread::sleep_for(100ms);
      is = link_colour(*browser_, link, dx, dy);
    }
    EXPECT_THAT(is, wanted) << link;
  }
  /// What comes late moves the view (panels, a longer banner): then the pointer misses, and goes there again.
  void opens_by_click(const std::string& link) {
    const auto place = with(
        "const w = weftPage, b = document.getElementById('view').getBoundingClientRect();"
        "const [x, y] = w.scene.places.get(w.model.findLink('LINK')); return [Math.round(b.left + x), "
        "Math.round(b.top + y)];",
        "LINK", link);
    bool is_open = false;
    for (int tries = 0; tries < 5 && !is_open; ++tries) {
      const auto at = browser_->script(place);
      ASSERT_TRUE(browser_->click(at.at(0), at.at(1)));
      is_open = browser_->script("return location.hash.includes('/link/')").get<bool>();
    }
    ASSERT_TRUE(browser_->waits_for("return document.body.dataset.link === '" + link + "'"));
  }
  /// The history as a chart with something drawn, or as a table where the program has no charts.
  void shows_chart() {
    if (!has_charts()) {
      EXPECT_TRUE(browser_->waits_for("return document.querySelector('#losses') !== null"));
      return;
    }
    EXPECT_TRUE(browser_->waits_for("return document.querySelector('#chart canvas') !== null"));
    EXPECT_GT(browser_->script("return Number(document.getElementById('chart').dataset.points)").get<int>(),
              100);
  }
  static bool has_charts() {
    return std::ranges::find(assets(), std::string_view("/charts.js"), &Asset::path) != assets().end();
  }
  std::string text(const std::string& selector) {
    return browser_->script("return document.querySelector('" + selector + "').innerText").get<std::string>();
  }
  FakeWatched& watched() { return watched_; }
  Browser& browser() { return *browser_; }

 private:
  FakeWatched watched_;
  std::vector<std::shared_ptr<Elsewhere>> also_;
  std::unique_ptr<PageServer> server_;
  std::unique_ptr<Browser> browser_;
};

#define NEEDS_BROWSER() \
  if (!Browser::is_there()) GTEST_SKIP() << "chromium and chromium-driver are not installed"

TEST(LivePage, ShowsAtOnceWhatIsAtFaultWhereSinceWhenAndWhatToDo) {
  NEEDS_BROWSER();
  Page page(make_clos({.name = "lab", .leaves = 4, .spines = 4, .hosts_per_leaf = 4}).value());
  const auto now = page.watched().now();
  page.watched().fault("leaf1->spine2", 0.012, now - 90min);
  page.watched().fault("spine3->leaf4", 1.0, now - 4min);
  page.watched().mute(page.watched().fault("leaf2->spine1", 0.003, now - 10h), "cable ordered");
  ASSERT_NO_FATAL_FAILURE(page.start());
  EXPECT_THAT(page.text("#banner"), HasSubstr("FAILED — leaf4--spine3 (from spine3): down"));
  EXPECT_THAT(page.text("#banner"), HasSubstr("for 4 min, since "));
  EXPECT_THAT(page.text("#banner"), HasSubstr("1 more · 1 muted"));
  EXPECT_THAT(page.text("#side .card"), HasSubstr("shut spine3 port 4"));
  page.has_colour("leaf4--spine3", -5, 0, kFailedColour);
  page.has_colour("leaf1--spine2", 0, 2, kDegradedColour);
  page.has_colour("leaf2--spine1", 0, 2, std::array{0xff, 0xff, 0xff});  // a muted sign is hollow
  EXPECT_EQ(page.browser().console(), "");
}

TEST(LivePage, ShowsNewsWithoutAReloadAndHealthAfterIt) {
  NEEDS_BROWSER();
  Page page(make_clos({.name = "lab", .leaves = 4, .spines = 4, .hosts_per_leaf = 4}).value());
  ASSERT_NO_FATAL_FAILURE(page.start());
  EXPECT_THAT(page.text("#banner"), HasSubstr("HEALTHY — nothing is at fault"));
  const auto incident = page.watched().fault("leaf1->spine2", 0.012, page.watched().now());
  EXPECT_TRUE(
      page.browser().waits_for("return document.getElementById('banner').dataset.verdict === 'degraded'"));
  page.has_colour("leaf1--spine2", 0, 2, kDegradedColour);
  page.watched().heal(incident, page.watched().now());
  EXPECT_TRUE(
      page.browser().waits_for("return document.getElementById('banner').dataset.verdict === 'healthy'"));
  EXPECT_EQ(page.browser().console(), "");
}

TEST(LivePage, GoesFromTheFabricToALinksHistoryPathsAndEvidenceByPointer) {
  NEEDS_BROWSER();
  Page page(make_clos({.name = "lab", .leaves = 4, .spines = 4, .hosts_per_leaf = 4}).value());
  page.watched().fault("leaf1->spine2", 0.012, page.watched().now() - 90min);
  ASSERT_NO_FATAL_FAILURE(page.start());
  ASSERT_NO_FATAL_FAILURE(page.opens_by_click("leaf1--spine2"));
  EXPECT_EQ(page.browser().script("return decodeURIComponent(location.hash)"),
            "#/lab/link/leaf1/p6--spine2/p1");
  EXPECT_THAT(page.text("#detail"), HasSubstr("leaf1->spine2"));
  EXPECT_THAT(page.text("#paths"), HasSubstr("host1 → leaf1 → spine2"));
  page.shows_chart();
  page.browser().script("document.querySelector('#side .card').click()");
  page.shows("lab/incident/1");
  EXPECT_THAT(page.text("#side"), HasSubstr("720 of 60000 probes over it were lost"));
  EXPECT_THAT(page.text("#side"), HasSubstr("weft mute add 'leaf1--spine2'")) << "read-only without a token";
  EXPECT_EQ(page.browser().console(), "");
}

TEST(LivePage, WhatTheArrowsChoseStaysChosenWhenThePageIsLaidOutAnew) {
  NEEDS_BROWSER();
  Page page(make_clos({.name = "lab", .leaves = 4, .spines = 4, .hosts_per_leaf = 4}).value());
  ASSERT_NO_FATAL_FAILURE(page.start());
  for (const char* key : {kDown, kLeft}) ASSERT_TRUE(page.browser().press(key));
  const auto chosen = page.browser().script("return weftPage.cursor.go.id");
  const auto width = page.browser().script(
      "const w = weftPage.scene.width; document.getElementById('frame').style.maxWidth = '400px';"
      "dispatchEvent(new Event('resize')); return w");
  ASSERT_TRUE(page.browser().waits_for("return weftPage.scene.width < " + width.dump()));
  ASSERT_TRUE(page.browser().press(kEnter));
  page.shows("lab/node/" + chosen.get<std::string>());
}

TEST(LivePage, TheKeyboardReachesAllThatThePointerDoes) {
  NEEDS_BROWSER();
  Page page(make_clos({.name = "lab", .leaves = 4, .spines = 4, .hosts_per_leaf = 4}).value());
  page.watched().fault("leaf1->spine2", 0.012, page.watched().now() - 90min);
  ASSERT_NO_FATAL_FAILURE(page.start());
  for (const char* key : {kDown, kLeft, kEnter}) ASSERT_TRUE(page.browser().press(key));
  ASSERT_TRUE(page.browser().waits_for("return document.body.dataset.ready.startsWith('lab/node/')"));
  EXPECT_THAT(page.text("#ports"), HasSubstr("p1"));
  ASSERT_TRUE(page.browser().press(kEscape));
  page.shows("lab/overview");
  ASSERT_TRUE(page.browser().press("j"));
  ASSERT_TRUE(page.browser().press(kEnter));
  page.shows("lab/incident/1");
  ASSERT_TRUE(page.browser().press("t"));
  EXPECT_EQ(page.browser().script("return document.documentElement.dataset.theme"), "dark");
  ASSERT_TRUE(page.browser().press("?"));
  EXPECT_EQ(page.browser().script("return document.getElementById('keys').open"), true);
  EXPECT_EQ(page.browser().console(), "");
}

TEST(LivePage, TheSliderShowsAMomentThatIsOver) {
  NEEDS_BROWSER();
  Page page(make_clos({.name = "lab", .leaves = 4, .spines = 4, .hosts_per_leaf = 4}).value());
  const auto now = page.watched().now();
  page.watched().heal(page.watched().fault("leaf3->spine4", 0.2, now - 5h), now - 3h);
  ASSERT_NO_FATAL_FAILURE(page.start());
  ASSERT_TRUE(page.browser().waits_for("return !document.getElementById('time').disabled"));
  page.browser().script(
      "const s = document.getElementById('time'); s.value = Number(s.max) - 4 * 3600e3;"
      "s.dispatchEvent(new Event('input'));"
      "weftPage.timeline.setView(0, 0);");  // as what comes in the meantime does
  page.shows("lab/overview@past");
  EXPECT_THAT(page.text("#banner"), HasSubstr("FAILED — leaf3--spine4"));
  page.has_colour("leaf3--spine4", -5, 0, kFailedColour);
  EXPECT_THAT(page.browser().script("return location.hash").get<std::string>(), HasSubstr("?at="));
  ASSERT_TRUE(page.browser().press("l"));
  page.shows("lab/overview");
  EXPECT_THAT(page.text("#banner"), HasSubstr("HEALTHY"));
  EXPECT_EQ(page.browser().console(), "");
}

TEST(LivePage, AMomentThatIsOverIsOpenedByItsAddress) {
  NEEDS_BROWSER();
  Page page(make_clos({.name = "lab", .leaves = 4, .spines = 4, .hosts_per_leaf = 4}).value());
  const auto now = page.watched().now();
  page.watched().heal(page.watched().fault("leaf3->spine4", 0.2, now - 5h), now - 3h);
  ASSERT_NO_FATAL_FAILURE(page.start());
  const auto at = std::chrono::floor<std::chrono::milliseconds>(now - 4h).count();
  ASSERT_TRUE(page.browser().open("about:blank"));
  page.open("#/lab/link/leaf3/p8--spine4/p3?at=" + std::to_string(at) + "&span=2",
            "lab/link/leaf3/p8--spine4/p3@past");
  ASSERT_TRUE(page.browser().waits_for("return document.body.dataset.link === 'leaf3--spine4'"));
  EXPECT_THAT(page.text("#banner"), HasSubstr("FAILED — leaf3--spine4"));
  EXPECT_EQ(page.text("#span option:checked"), "2 h");
  page.shows_chart();
  page.open("#/lab?at=1000", "lab/overview@past");
  EXPECT_THAT(page.text("#banner"), HasSubstr("UNKNOWN — nothing is kept of that moment"));
  EXPECT_EQ(page.browser().console(), "");
}

TEST(LivePage, LoadsItsChartsWithTheFirstChartAlone) {
  NEEDS_BROWSER();
  if (!Page::has_charts()) GTEST_SKIP() << "this weft was built without charts: npm was not there";
  Page page(make_clos({.name = "lab", .leaves = 4, .spines = 4, .hosts_per_leaf = 4}).value());
  page.watched().fault("leaf1->spine2", 0.012, page.watched().now() - 90min);
  ASSERT_NO_FATAL_FAILURE(page.start());
  const std::string loaded =
      "return performance.getEntriesByType('resource').filter(e => e.name.endsWith('/charts.js')).length";
  EXPECT_EQ(page.browser().script(loaded), 0);
  page.open("#/lab/link/leaf1/p6--spine2/p1", "lab/link/leaf1/p6--spine2/p1");
  page.shows_chart();
  EXPECT_EQ(page.browser().script(loaded), 1);
  EXPECT_THAT(page.browser()
                  .script("return document.getElementById('chart').getAttribute('aria-label')")
                  .get<std::string>(),
              HasSubstr("leaf1->spine2 at most 1.2 %"));
  EXPECT_EQ(page.browser().console(), "");
}

TEST(LivePage, MutesWithATokenAndEndsTheMuteByTheKeyboard) {
  NEEDS_BROWSER();
  Page page(make_clos({.name = "lab", .leaves = 4, .spines = 4, .hosts_per_leaf = 4}).value());
  page.watched().fault("leaf1->spine2", 0.012, page.watched().now() - 90min);
  ASSERT_NO_FATAL_FAILURE(page.start("a-token-of-the-test-1234"));
  page.open("#/lab/incident/1", "lab/incident/1");
  const auto said = [&](const std::string& text) {
    return page.browser().waits_for(
        with("return [...document.querySelectorAll('#side output')].some(o => o.innerText.includes('TEXT'))",
             "TEXT", text));
  };
  page.browser().script("document.querySelector('form.mute').elements.reason.focus()");
  page.type("cable ordered" + std::string(kTab) + "anna" + kTab + "wrong-token-of-the-test" + kEnter);
  EXPECT_TRUE(said("the token is missing or wrong"));
  EXPECT_EQ(page.watched().mutes()->size(), 0u);
  page.type("a-token-of-the-test-1234" + std::string(kEnter));  // what was wrong is selected
  EXPECT_TRUE(said("muted"));
  ASSERT_EQ(page.watched().mutes()->size(), 1u);
  EXPECT_EQ(page.watched().mutes()->front().place, "leaf1--spine2");
  EXPECT_EQ(page.watched().mutes()->front().who, "anna");
  EXPECT_EQ(page.watched().mutes()->front().until - page.watched().mutes()->front().from, 4h);
  EXPECT_TRUE(page.browser().waits_for("return document.getElementById('mutes').innerText === 'mutes (1)'"));
  page.browser().script("document.activeElement.blur()");
  ASSERT_TRUE(page.browser().press("m"));
  page.shows("lab/mutes");
  EXPECT_TRUE(
      page.browser().waits_for("return document.getElementById('banner').innerText.includes('1 muted')"));
  EXPECT_THAT(page.text(".standing"), testing::AllOf(HasSubstr("cable ordered"), HasSubstr("by anna")));
  page.browser().script("document.querySelector('.standing button').focus()");
  ASSERT_TRUE(page.browser().press(kEnter));
  EXPECT_TRUE(page.browser().waits_for("return document.querySelector('.standing') === null"));
  EXPECT_EQ(page.watched().mutes()->size(), 0u);
}

TEST(LivePage, WhatSomebodyTypesOutlivesNews) {
  NEEDS_BROWSER();
  Page page(make_clos({.name = "lab", .leaves = 4, .spines = 4, .hosts_per_leaf = 4}).value());
  page.watched().fault("leaf1->spine2", 0.012, page.watched().now() - 90min);
  ASSERT_NO_FATAL_FAILURE(page.start("a-token-of-the-test-1234"));
  page.open("#/lab/incident/1", "lab/incident/1");
  page.browser().script("document.querySelector('form.mute').elements.reason.focus()");
  page.type("planned work");
  page.browser().script("document.activeElement.blur()");
  page.watched().fault("leaf2->spine1", 1.0, page.watched().now());
  EXPECT_TRUE(
      page.browser().waits_for("return document.getElementById('banner').dataset.verdict === 'failed'"));
  EXPECT_EQ(page.browser().script("return document.querySelector('form.mute').elements.reason.value"),
            "planned work");
}

TEST(LivePage, ShowsWhichLinksAreOnTheBlacklistAndWhy) {
  NEEDS_BROWSER();
  Page page(make_clos({.name = "lab", .leaves = 4, .spines = 4, .hosts_per_leaf = 4}).value());
  page.watched().avoid("leaf3--spine3", Verdict::degraded, page.watched().now() + 2h);
  page.watched().avoid("leaf4--spine4", Verdict::failed, page.watched().now() - 2h);
  ASSERT_NO_FATAL_FAILURE(page.start());
  ASSERT_TRUE(page.browser().waits_for(
      "return document.querySelector('#side').innerText.includes('ON THE BLACKLIST (1)')"));
  EXPECT_THAT(page.text("#side"), Not(HasSubstr("leaf4--spine4"))) << "it has ended";
  page.has_colour("leaf3--spine3", 0, 0, testing::Each(testing::Lt(64)));  // a ring with a dark slash
  page.open("#/lab/link/leaf3/p7--spine3/p3", "lab/link/leaf3/p7--spine3/p3");
  ASSERT_TRUE(page.browser().waits_for("return document.querySelector('.avoided[data-active]') !== null"));
  EXPECT_THAT(page.text(".avoided"),
              testing::AllOf(HasSubstr("38 of 4096"), HasSubstr("set by weft"), HasSubstr("drained host3")));
  page.open("#/lab/link/leaf4/p8--spine4/p4", "lab/link/leaf4/p8--spine4/p4");
  ASSERT_TRUE(
      page.browser().waits_for("return document.querySelector('.avoided:not([data-active])') !== null"));
  EXPECT_EQ(page.browser().console(), "");
}

TEST(LivePage, ShowsWhichPortsDegradeWithTheDaysThatAreLeft) {
  NEEDS_BROWSER();
  Page page(make_clos({.name = "lab", .leaves = 4, .spines = 4, .hosts_per_leaf = 4}).value());
  page.watched().warn("leaf3/p7", PortWarning::Days{3.5, 2.1, std::nullopt}, "corrected errors rise");
  page.watched().warn("leaf4/p8", std::nullopt, "12 errors of 4.5e+12 codewords in 24 h");
  ASSERT_NO_FATAL_FAILURE(page.start());
  ASSERT_TRUE(page.browser().waits_for(
      "return document.querySelector('#side').innerText.includes('DEGRADING PORTS (1)')"));
  EXPECT_THAT(page.text("#side"),
              testing::AllOf(HasSubstr("leaf3/p7 loses frames in 3.5 days (2.1 to never)"),
                             HasSubstr("leaf4/p8 12 errors of 4.5e+12 codewords in 24 h")));
  EXPECT_EQ(page.browser().script("return document.getElementById('banner').dataset.verdict"), "healthy");
  page.open("#/lab/link/leaf3/p7--spine3/p3", "lab/link/leaf3/p7--spine3/p3");
  ASSERT_TRUE(
      page.browser().waits_for("return document.querySelector('.counters[data-degrading]') !== null"));
  EXPECT_THAT(page.text(".counters"), testing::AllOf(HasSubstr("corrected errors rise"),
                                                     HasSubstr("prometheus, read"), HasSubstr("5 min")));
  EXPECT_EQ(page.browser().console(), "");
}

TEST(LivePage, AnOldStateIsUnknownAndNeverHealthy) {
  NEEDS_BROWSER();
  Page page(make_clos({.name = "lab", .leaves = 4, .spines = 4, .hosts_per_leaf = 4}).value());
  page.watched().fault("leaf1->spine2", 0.012, page.watched().now() - 90min);
  page.watched().advance(-kAhead - 20s);  // the watcher hangs since then, and its server goes on
  ASSERT_NO_FATAL_FAILURE(page.start());
  EXPECT_THAT(page.text("#banner"), HasSubstr("UNKNOWN since"));
  EXPECT_EQ(page.browser().script("return document.getElementById('banner').dataset.verdict"), "unknown");
  EXPECT_THAT(page.text("#notice"), HasSubstr("the watcher has not looked for"));
  EXPECT_EQ(page.browser().script("return weftPage.moment.letters.includes('h')"), false);
  page.has_colour("leaf1--spine2", 0, 2,
                  kDegradedColour);  // what was at fault still is, for all that is known
  page.watched().advance(kAhead);
  EXPECT_TRUE(
      page.browser().waits_for("return document.getElementById('banner').dataset.verdict === 'degraded'"));
  EXPECT_EQ(page.browser().script("return weftPage.moment.letters.includes('h')"), true);
}

TEST(LivePage, SaysThatTheWatcherIsGoneAndComesBackWithIt) {
  NEEDS_BROWSER();
  FakeWatched watched(std::make_shared<const Fabric>(
                          make_clos({.name = "lab", .leaves = 2, .spines = 2, .hosts_per_leaf = 2}).value()),
                      std::chrono::system_clock::now().time_since_epoch() + kAhead);
  auto server = PageServer::start({}, {.fabrics = {watched.page()}}).value();
  const auto port = server->port();
  auto browser = Browser::start();
  ASSERT_TRUE(browser) << browser.error().message;
  ASSERT_TRUE((*browser)->open(server->url()));
  ASSERT_TRUE((*browser)->waits_for("return document.body.dataset.ready === 'lab/overview'"));
  EXPECT_EQ((*browser)->script("return document.getElementById('notice').hidden"), true);
  server.reset();
  EXPECT_TRUE((*browser)->waits_for(
      "return document.getElementById('notice').innerText.includes('does not answer')"));
  server = PageServer::start({.port = port}, {.fabrics = {watched.page()}}).value();
  EXPECT_TRUE((*browser)->waits_for("return document.getElementById('notice').hidden"));
}

TEST(LivePage, SeveralFabricsStandOnOnePageEachWithItsVerdict) {
  NEEDS_BROWSER();
  Page other(make_clos({.name = "north", .leaves = 2, .spines = 2, .hosts_per_leaf = 2}).value());
  other.watched().fault("leaf1->spine2", 0.012, other.watched().now() - 90min);
  const auto server = PageServer::start({}, {.fabrics = {other.watched().page()}}).value();
  Page page(make_clos({.name = "lab", .leaves = 4, .spines = 4, .hosts_per_leaf = 4}).value());
  page.also("north", server->url());
  page.also("away", "http://127.0.0.1:1/");
  ASSERT_NO_FATAL_FAILURE(page.start());
  page.open("#/", "fabrics");
  ASSERT_TRUE(page.browser().waits_for(
      "return document.querySelector('[data-fabric=north]').innerText.includes('DEGRADED')"));
  EXPECT_THAT(page.text("[data-fabric=lab]"), HasSubstr("HEALTHY"));
  EXPECT_THAT(page.text("[data-fabric=away]"), HasSubstr("NOT HEARD"));
  EXPECT_THAT(page.text("#banner"), HasSubstr("2 of 3 fabrics are not healthy"));
  page.browser().script("document.querySelector('[data-fabric=north]').click()");
  page.shows("north/overview");
  EXPECT_THAT(page.text("#banner"), HasSubstr("DEGRADED — leaf1--spine2"));
  page.has_colour("leaf1--spine2", 0, 2, kDegradedColour);
  page.open("#/north/link/leaf1/p4--spine2/p1", "north/link/leaf1/p4--spine2/p1");
  page.shows_chart();
  EXPECT_EQ(page.browser().console(), "");
}

TEST(LivePage, TheSmallestFabricsAreDrawnWithoutAnError) {
  NEEDS_BROWSER();
  for (const auto& spec :
       {ClosSpec{.name = "one", .leaves = 1, .spines = 1, .hosts_per_leaf = 1},
        ClosSpec{.name = std::string(200, 'n'), .leaves = 1, .spines = 1, .hosts_per_leaf = 2}}) {
    Page page(make_clos(spec).value());
    ASSERT_NO_FATAL_FAILURE(page.start());
    EXPECT_THAT(page.text("#banner"), HasSubstr("HEALTHY"));
    page.open("#/" + spec.name + "/node/leaf1", spec.name + "/node/leaf1");
    EXPECT_LE(page.browser().script("return document.documentElement.scrollWidth - innerWidth").get<int>(), 0)
        << "it fits the window";
    EXPECT_EQ(page.browser().console(), "");
  }
}

TEST(LivePage, NamesFromOutsideAreTextAndNothingElse) {
  NEEDS_BROWSER();
  Page page(
      make_clos({.name = "lab<img src=x onerror=alert(1)>", .leaves = 2, .spines = 2, .hosts_per_leaf = 2})
          .value());
  page.watched().mute(page.watched().fault("leaf1->spine2", 0.5, page.watched().now() - 1min),
                      "<b id=evil>x</b>");
  ASSERT_NO_FATAL_FAILURE(page.start());
  EXPECT_EQ(page.browser().script("return document.querySelectorAll('img, #evil').length"), 0);
  EXPECT_THAT(page.text("#side"), HasSubstr("<b id=evil>"));
  EXPECT_EQ(page.browser().console(), "");
}

TEST(LivePage, OfTwentyFourThousandNicsShowsPodsThenLeafThenLink) {
  NEEDS_BROWSER();
  Page page(make_pod_clos(
                {.name = "hall", .pods = 24, .leaves = 32, .spines = 32, .cores = 1024, .hosts_per_leaf = 32})
                .value());
  page.watched().fault("leaf100->spine100", 0.012, page.watched().now() - 90min);
  page.watched().fault("spine700->core870", 1.0, page.watched().now() - 4min);
  ASSERT_NO_FATAL_FAILURE(page.start());
  EXPECT_EQ(page.browser().script("return weftPage.model.linkCount"), 73'728);
  EXPECT_EQ(page.browser().script("return weftPage.scene.stops.length"), 24);
  page.has_colour("spine700--core870", -4, 0, kFailedColour);
  page.has_colour("leaf100--spine100", 0, 2, kDegradedColour);
  ASSERT_TRUE(page.browser().press(kDown));
  ASSERT_TRUE(page.browser().press(kEnter));
  page.shows("hall/pod/1");
  page.open("#/hall/pod/4", "hall/pod/4");
  page.has_colour("leaf100--spine100", 0, 2, kDegradedColour);
  ASSERT_NO_FATAL_FAILURE(page.opens_by_click("leaf100--spine100"));
  ASSERT_TRUE(page.browser().press(kEscape));
  page.shows("hall/node/leaf100");
  EXPECT_EQ(page.browser().script("return weftPage.scene.stops.length"), 65);
  EXPECT_EQ(page.browser().console(), "");
}

}  // namespace
}  // namespace weft::web
