// The live page in a real browser: what an operator sees, on a small fabric and on one of 24,576 NICs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "collectors/web/page_server.hpp"
#include "tests/fakes/fake_watched.hpp"
#include "tests/support/browser.hpp"
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

/// Red, green and blue of the sign of a link, in the middle of what is drawn there. A pixel is copied first:
/// the browser warns of a canvas that is read often.
constexpr const char* kColourAt = R"(
  const w = globalThis.weftPage, view = document.getElementById('view'), l = w.model.findLink('LINK');
  const [x, y] = w.scene.places.get(l), s = devicePixelRatio, pixel = document.createElement('canvas');
  pixel.width = pixel.height = 1;
  const ctx = pixel.getContext('2d', {willReadFrequently: true});
  ctx.drawImage(view, -Math.round(x * s + DX), -Math.round(y * s + DY));
  const p = ctx.getImageData(0, 0, 1, 1).data;
  return [p[0], p[1], p[2]];)";

std::string with(std::string text, const std::string& what, const std::string& by) {
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size())
    text.replace(at, what.size(), by);
  return text;
}

class Page {
 public:
  explicit Page(Fabric fabric)
      : watched_(
            std::make_shared<const Fabric>(std::move(fabric)),
            std::chrono::duration_cast<Nanoseconds>(std::chrono::system_clock::now().time_since_epoch())) {}

  /// Null: it did not start, and the test has failed.
  void start(std::optional<std::string> token = std::nullopt) {
    server_ = PageServer::start({}, {.fabrics = {watched_.page()}, .token = std::move(token)}).value();
    auto browser = Browser::start();
    ASSERT_TRUE(browser) << browser.error().message;
    browser_ = *std::move(browser);
    open("#/" + watched_.view().fabric->name(), watched_.view().fabric->name() + "/overview");
  }
  void open(const std::string& hash, const std::string& ready) {
    ASSERT_TRUE(browser_->open(server_->url() + hash));
    shows(ready);
  }
  void shows(const std::string& ready) {
    ASSERT_TRUE(browser_->waits_for("return document.body.dataset.ready === '" + ready + "'"))
        << ready << " is not shown but " << browser_->script("return document.body.dataset.ready") << "\n"
        << browser_->console();
  }
  /// Of the sign of a link; `dx`, `dy` from its middle in device pixels.
  std::array<int, 3> colour(const std::string& link, int dx, int dy) {
    auto script =
        with(with(with(kColourAt, "LINK", link), "DX", std::to_string(dx)), "DY", std::to_string(dy));
    return browser_->script(script).get<std::array<int, 3>>();
  }
  void click_link(const std::string& link) {
    const auto at = browser_->script(
        with("const w = weftPage, b = document.getElementById('view').getBoundingClientRect();"
             "const [x, y] = w.scene.places.get(w.model.findLink('LINK')); return [Math.round(b.left + x), "
             "Math.round(b.top + y)];",
             "LINK", link));
    ASSERT_TRUE(browser_->click(at.at(0), at.at(1)));
  }
  std::string text(const std::string& selector) {
    return browser_->script("return document.querySelector('" + selector + "').innerText").get<std::string>();
  }
  FakeWatched& watched() { return watched_; }
  Browser& browser() { return *browser_; }

 private:
  FakeWatched watched_;
  std::unique_ptr<PageServer> server_;
  std::unique_ptr<Browser> browser_;
};

/// As style.css has them, light.
constexpr std::array kFailed{0xc8, 0x10, 0x2e};
constexpr std::array kDegraded{0xe0, 0x7b, 0x00};

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
  EXPECT_EQ(page.colour("leaf4--spine3", -5, 0), kFailed);
  EXPECT_EQ(page.colour("leaf1--spine2", 0, 2), kDegraded);
  EXPECT_EQ(page.colour("leaf2--spine1", 0, 2), (std::array{0xff, 0xff, 0xff})) << "a muted sign is hollow";
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
  EXPECT_EQ(page.colour("leaf1--spine2", 0, 2), kDegraded);
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
  page.click_link("leaf1--spine2");
  ASSERT_TRUE(page.browser().waits_for("return document.body.dataset.link === 'leaf1--spine2'"));
  EXPECT_EQ(page.browser().script("return decodeURIComponent(location.hash)"),
            "#/lab/link/leaf1/p6--spine2/p1");
  EXPECT_THAT(page.text("#detail"), HasSubstr("leaf1->spine2"));
  EXPECT_THAT(page.text("#paths"), HasSubstr("host1 → leaf1 → spine2"));
  EXPECT_GT(page.browser().script("return document.getElementById('chart').width").get<int>(), 300);
  page.browser().script("document.querySelector('#side .card').click()");
  page.shows("lab/incident/1");
  EXPECT_THAT(page.text("#side"), HasSubstr("720 of 60000 probes over it were lost"));
  EXPECT_THAT(page.text("#side"), HasSubstr("weft mute add 'leaf1--spine2'")) << "read-only without a token";
  EXPECT_EQ(page.browser().console(), "");
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
      "s.dispatchEvent(new Event('input'));");
  page.shows("lab/overview@past");
  EXPECT_THAT(page.text("#banner"), HasSubstr("FAILED — leaf3--spine4"));
  EXPECT_EQ(page.colour("leaf3--spine4", -5, 0), kFailed);
  EXPECT_THAT(page.browser().script("return location.hash").get<std::string>(), HasSubstr("?at="));
  ASSERT_TRUE(page.browser().press("l"));
  page.shows("lab/overview");
  EXPECT_THAT(page.text("#banner"), HasSubstr("HEALTHY"));
  EXPECT_EQ(page.browser().console(), "");
}

TEST(LivePage, MutesWithAToken) {
  NEEDS_BROWSER();
  Page page(make_clos({.name = "lab", .leaves = 4, .spines = 4, .hosts_per_leaf = 4}).value());
  page.watched().fault("leaf1->spine2", 0.012, page.watched().now() - 90min);
  ASSERT_NO_FATAL_FAILURE(page.start("a-token-of-the-test-1234"));
  page.open("#/lab/incident/1", "lab/incident/1");
  const std::string fill = R"(
    const f = document.querySelector('form.mute').elements;
    f.reason.value = 'cable ordered'; f.token.value = 'TOKEN';
    document.querySelector('form.mute button').click();)";
  page.browser().script(with(fill, "TOKEN", "wrong-token-of-the-test"));
  const std::string said = "return document.querySelector('form.mute output').innerText.includes('TEXT')";
  EXPECT_TRUE(page.browser().waits_for(with(said, "TEXT", "the token is missing or wrong")));
  EXPECT_EQ(page.watched().mutes()->size(), 0u);
  page.browser().script(with(fill, "TOKEN", "a-token-of-the-test-1234"));
  EXPECT_TRUE(page.browser().waits_for(with(said, "TEXT", "muted")));
  ASSERT_EQ(page.watched().mutes()->size(), 1u);
  EXPECT_EQ(page.watched().mutes()->front().place, "leaf1--spine2");
}

TEST(LivePage, SaysThatTheWatcherIsGone) {
  NEEDS_BROWSER();
  auto watched = std::make_unique<FakeWatched>(
      std::make_shared<const Fabric>(
          make_clos({.name = "lab", .leaves = 2, .spines = 2, .hosts_per_leaf = 2}).value()),
      1h);
  auto server = PageServer::start({}, {.fabrics = {watched->page()}}).value();
  auto browser = Browser::start();
  ASSERT_TRUE(browser) << browser.error().message;
  ASSERT_TRUE((*browser)->open(server->url()));
  ASSERT_TRUE((*browser)->waits_for("return document.body.dataset.ready === 'lab/overview'"));
  EXPECT_EQ((*browser)->script("return document.getElementById('notice').hidden"), true);
  server.reset();
  EXPECT_TRUE((*browser)->waits_for(
      "return document.getElementById('notice').innerText.includes('does not answer')"));
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
  EXPECT_EQ(page.colour("spine700--core870", -4, 0), kFailed);
  EXPECT_EQ(page.colour("leaf100--spine100", 0, 2), kDegraded);
  ASSERT_TRUE(page.browser().press(kDown));
  ASSERT_TRUE(page.browser().press(kEnter));
  page.shows("hall/pod/1");
  page.open("#/hall/pod/4", "hall/pod/4");
  EXPECT_EQ(page.colour("leaf100--spine100", 0, 2), kDegraded);
  page.click_link("leaf100--spine100");
  ASSERT_TRUE(page.browser().waits_for("return document.body.dataset.link === 'leaf100--spine100'"));
  ASSERT_TRUE(page.browser().press(kEscape));
  page.shows("hall/node/leaf100");
  EXPECT_EQ(page.browser().script("return weftPage.scene.stops.length"), 65);
  EXPECT_EQ(page.browser().console(), "");
}

}  // namespace
}  // namespace weft::web
