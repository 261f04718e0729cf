// The live page of `weft watch` on real packets, in a real browser: what an operator changes there is what
// the watcher goes by.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>

#include "collectors/web/page_server.hpp"
#include "tests/support/browser.hpp"
#include "tests/support/lab_user.hpp"
#include "tests/support/page_colours.hpp"
#include "topology/base/instant.hpp"
#include "topology/os/clocks.hpp"

namespace weft {
namespace {

using Json = nlohmann::json;
using namespace std::chrono_literals;

constexpr const char* kToken = "a-token-of-the-test-1234";
constexpr const char* kTab = "\uE004";
constexpr const char* kEnter = "\uE007";
constexpr const char* kFabric =
    "fabric: watched\nkind: roce\nclos: {leaves: 3, spines: 2, hosts_per_leaf: 2, link: 400G}\n"
    "lab: {link_rate: 50M}\n";

class WatchedByPage {
 public:
  explicit WatchedByPage(const std::function<std::vector<std::string>(const LabUser&)>& more = {}) {
    EXPECT_EQ(user.up().status, 0);
    std::ofstream(token_file()) << kToken << "\n";
    std::filesystem::permissions(token_file(), std::filesystem::perms(0600));
    std::vector<std::string> words{
        "watch",        "--lab=" + user.lab, "--state", user.directory() / "state",
        "--events",     events_file(),       "--page",  "127.0.0.1:" + std::to_string(port()),
        "--page-token", token_file(),        "--for",   "200s"};
    for (auto& word : more ? more(user) : std::vector<std::string>()) words.push_back(std::move(word));
    watch_.emplace(user.start(words));
  }
  Json get(const std::string& path) {
    httplib::Client client("127.0.0.1", port());
    client.set_read_timeout(10s);
    const auto answer = client.Get("/api/v1/fabrics/watched/" + path);
    return answer && answer->status == 200 ? Json::parse(answer->body) : Json::object();
  }
  template <class Holds>
  bool comes(Holds holds, std::chrono::seconds limit) {
    for (const auto end = std::chrono::steady_clock::now() + limit; std::chrono::steady_clock::now() < end;
         std::this_thread::sleep_for(200ms))
      if (holds()) return true;
    return false;
  }
  std::optional<Json> opened() {
    std::ifstream file(events_file());
    for (std::string line; std::getline(file, line) && !file.eof();)
      if (auto event = Json::parse(line); event["change"] == "opened") return event;
    return std::nullopt;
  }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(port()) + "/"; }

  const LabUser user{kFabric};

 private:
  /// Of each process that tests at the same time another one.
  static int port() { return 20'000 + getpid() % 10'000; }
  std::string token_file() const { return user.directory() / "token"; }
  std::string events_file() const { return user.directory() / "events.jsonl"; }

  std::optional<RunningCommand> watch_;
};

/// Readings of ten days, of a port whose corrected errors rise since the fourth by .6 decades a day.
std::string rising_errors() {
  std::string lines = "{\"schema\":\"weft.counters/1\",\"source\":\"script\"}\n";
  const auto first = os::wall_now() - 240h;
  double errors = 1000;
  for (int hour = 0; hour <= 239; ++hour) {
    const double bits = 5440 * std::pow(10, -8 + 0.6 * std::max(hour - 144, 0) / 24.0);
    errors += 9'000.0 * 3600 * (1 - std::exp(-bits));  // of codewords at 50 Mb/s
    lines += fmt::format("{{\"at\":\"{}\",\"port\":\"leaf1/p3\",\"counters\":{{\"fec_corrected\":{}}}}}\n",
                         instant_text(first + std::chrono::hours(hour)), static_cast<std::uint64_t>(errors));
  }
  return lines;
}

TEST(WatchPage, ADegradingPortHasTheDaysThatAreLeftAndChangesNoVerdict) {
  WatchedByPage lab([](const LabUser& user) {
    const std::string file = user.directory() / "counters.jsonl";
    std::ofstream(file) << rising_errors();
    return std::vector<std::string>{"--counters", file};
  });
  ASSERT_TRUE(lab.comes([&] { return !lab.get("counters").value("ports", Json::array()).empty(); }, 60s))
      << lab.get("counters");
  const auto port = lab.get("counters").at("ports").at(0);
  EXPECT_EQ(port.at("port"), "leaf1/p3");
  EXPECT_EQ(port.at("degrading"), true);
  EXPECT_GT(port.at("days"), 0.5) << port;
  EXPECT_LT(port.at("days"), 10) << port;
  EXPECT_EQ(port.at("source"), "script");
  ASSERT_TRUE(lab.comes([&] { return lab.get("state").value("verdict", "") == "healthy"; }, 120s));
  if (!Browser::is_there()) return;
  auto browser = Browser::start();
  ASSERT_TRUE(browser) << browser.error().message;
  ASSERT_TRUE((*browser)->open(lab.url()));
  EXPECT_TRUE((*browser)->waits_for(
      "return document.querySelector('#side').innerText.includes('leaf1/p3 loses frames in')"));
  EXPECT_EQ((*browser)->console(), "");
}

TEST(WatchPage, AFaultIsSeenThereOpenedByAClickAndFoundAgainByTheSlider) {
  if (!Browser::is_there()) GTEST_SKIP() << "chromium and chromium-driver are not installed";
  WatchedByPage lab([](const LabUser&) { return std::vector<std::string>{"--close-after", "4s"}; });
  ASSERT_TRUE(lab.comes([&] { return lab.get("state").value("verdict", "") == "healthy"; }, 120s));
  auto started = Browser::start();
  ASSERT_TRUE(started) << started.error().message;
  Browser& page = **started;
  ASSERT_TRUE(page.open(lab.url() + "#/watched"));
  const auto shows = [&](const char* verdict) {
    return page.waits_for(
        fmt::format("return document.getElementById('banner').dataset.verdict === '{}'", verdict), 90s);
  };
  const auto has_colour = [&](int dx, int dy, std::array<int, 3> wanted) {
    return lab.comes([&] { return link_colour(page, "leaf1--spine1", dx, dy) == wanted; }, 10s);
  };
  ASSERT_TRUE(shows("healthy"));
  lab.user.fault("leaf1--spine1", {"--loss", "30", "--from", "leaf1"});
  ASSERT_TRUE(shows("failed"));
  EXPECT_TRUE(has_colour(-5, 0, kFailedColour));
  const auto place = page.script(
      "const w = weftPage, b = document.getElementById('view').getBoundingClientRect(), [x, y] = "
      "w.scene.places.get(w.model.findLink('leaf1--spine1')); return [Math.round(b.left + x), "
      "Math.round(b.top + y)]");
  ASSERT_TRUE(page.click(place.at(0), place.at(1)));
  EXPECT_TRUE(
      page.waits_for("return document.querySelector('#paths')?.innerText.includes('leaf1 \u2192 spine1')"));
  std::this_thread::sleep_for(25s);  // the slider's steps are ten seconds
  ASSERT_EQ(lab.user.weft({"lab", "heal", "--name", lab.user.lab}).status, 0);
  ASSERT_TRUE(page.open(lab.url() + "#/watched"));
  // Clean probes close it, over paths that were mapped since.
  ASSERT_TRUE(page.waits_for("return document.getElementById('banner').dataset.verdict === 'healthy'", 150s));
  const auto opened = lab.opened();
  ASSERT_TRUE(opened);
  page.script(
      fmt::format("const s = document.getElementById('time'); s.value = Date.parse('{}') + 15000;"
                  "s.dispatchEvent(new Event('input'))",
                  opened->at("at").get<std::string>()));
  EXPECT_TRUE(shows("failed"));
  EXPECT_TRUE(has_colour(-5, 0, kFailedColour));
  EXPECT_EQ(page.console(), "");
}

TEST(WatchPage, AMuteThatIsTypedThereAlertsNobodyUntilItIsEndedThere) {
  if (!Browser::is_there()) GTEST_SKIP() << "chromium and chromium-driver are not installed";
  WatchedByPage lab;
  ASSERT_TRUE(lab.comes([&] { return lab.get("state").value("verdict", "") == "healthy"; }, 120s));
  const auto link = lab.get("links/leaf1--spine1");
  EXPECT_FALSE(link.at("paths").empty()) << link;
  EXPECT_GT(link.at("paths").at(0).at("sent"), 0) << link;

  auto browser = Browser::start();
  ASSERT_TRUE(browser) << browser.error().message;
  ASSERT_TRUE((*browser)->open(lab.url() + "#/watched/link/" + "leaf1--spine1"));
  ASSERT_TRUE((*browser)->waits_for("return document.querySelector('form.mute') !== null"));
  (*browser)->script("document.querySelector('form.mute').elements.reason.focus()");
  ASSERT_TRUE((*browser)->type("cable ordered" + std::string(kTab) + "anna" + kTab + kToken + kEnter));
  EXPECT_TRUE((*browser)->waits_for(
      "return document.querySelector('form.mute output').innerText.includes('nobody is alerted')"));
  EXPECT_EQ(lab.get("mutes").at("mutes").at(0).at("who"), "anna");
  std::this_thread::sleep_for(3s);  // a watcher reads the mutes every 2 s

  lab.user.fault("leaf1--spine1", {"--loss", "20", "--from", "leaf1"});
  ASSERT_TRUE(lab.comes([&] { return lab.opened().has_value(); }, 40s));
  EXPECT_EQ(lab.opened()->value("muted_by", ""), "cable ordered") << *lab.opened();
  (*browser)->script("document.activeElement.blur()");
  EXPECT_TRUE(
      (*browser)->waits_for("return document.getElementById('banner').innerText.includes('1 muted')"));

  (*browser)->script("document.querySelector('.standing button').click()");
  EXPECT_TRUE((*browser)->waits_for("return document.querySelector('.standing') === null"));
  EXPECT_TRUE(
      (*browser)->waits_for("return document.getElementById('banner').innerText.includes('leaf1--spine1')"));
  EXPECT_EQ(lab.get("mutes").at("mutes").size(), 0u);
  EXPECT_EQ((*browser)->console(), "");
}

}  // namespace
}  // namespace weft
