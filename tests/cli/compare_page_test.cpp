// The page of `weft compare run --html`, as a browser shows it: offline, light and dark, on a screen and on
// paper.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/places.hpp"
#include "tests/support/opened_report.hpp"
#include "tests/support/schema.hpp"
#include "tests/support/scratch_file.hpp"
#include "tests/support/text_of.hpp"
#include "topology/os/run_program.hpp"
#include "topology/os/scratch_directory.hpp"

namespace weft::cli {
namespace {

using testing::HasSubstr;

constexpr std::string_view kNameToBeWaryOf = "b<script>document.title='run'</script>";

class ComparePage : public ::testing::Test {
 protected:
  static constexpr std::string_view kLight = "rgb(255, 255, 255)";

  os::ScratchDirectory directory_ = os::ScratchDirectory::make().value();
  std::string file_ = directory_.path() / "compared.html", document_ = directory_.path() / "compared.json";
  std::unique_ptr<Browser> browser_;

  void make() {
    const ScratchFile a("fabric: a\nclos: {leaves: 2, spines: 2, hosts_per_leaf: 2, link: 100G}\n");
    const ScratchFile b(fmt::format(
        "fabric: \"{}\"\nclos: {{leaves: 2, spines: 1, hosts_per_leaf: 2, link: 100G}}\n", kNameToBeWaryOf));
    // The program itself: it runs itself for each sweep.
    const auto said = os::run_program(
        {"sh", "-c",
         fmt::format(
             "{0}/weft compare run --simulate {1} {2} --blocks 3 --each load=full --html {3} -o json > {4}; "
             "test $? = 1 && {0}/weft report {4} --html {3}.again --fabric {1} --fabric {2}",
             WEFT_BINARY_DIR, a.path(), b.path(), file_, document_)},
        "", std::chrono::seconds(60));
    ASSERT_TRUE(said) << said.error().message;
    auto browser = Browser::start();
    ASSERT_TRUE(browser) << browser.error().message;
    browser_ = std::move(*browser);
    ASSERT_TRUE(browser_->open("file://" + file_));
    ASSERT_TRUE(browser_->waits_for("return document.readyState === 'complete'"));
  }
  nlohmann::json is(const std::string& what) { return browser_->script("return " + what); }
};

TEST_F(ComparePage, IsShownOfflineInLightAndDarkAndOnPaper) {
  if (!Browser::is_there()) GTEST_SKIP() << "chromium and chromium-driver are not installed";
  make();
  ASSERT_FALSE(HasFatalFailure());
  EXPECT_EQ(is("document.title"), "weft compare: differs");
  EXPECT_EQ(is("document.images.length"), 0);
  EXPECT_EQ(is("document.scripts.length"), 2) << "its own with its values, and none of a name from outside";
  EXPECT_EQ(is("document.querySelectorAll('svg + .tools button').length"),
            is("document.querySelectorAll('svg').length"));
  EXPECT_EQ(is("document.querySelectorAll('table + .tools button').length"),
            is("document.querySelectorAll('table').length"));
  const std::string keep = "URL.createObjectURL = blob => (blob.text().then(t => window.saved = t), '#');";
  static_cast<void>(browser_->script(keep + "document.querySelector('table + .tools button').click()"));
  EXPECT_TRUE(browser_->waits_for("return (window.saved ?? '').includes('layer,')"));
  static_cast<void>(browser_->script(keep + "document.querySelector('svg + .tools button').click()"));
  EXPECT_TRUE(browser_->waits_for("return (window.saved ?? '').startsWith('<svg')"));
  EXPECT_EQ(is("performance.getEntriesByType('resource').length"), 0) << "nothing is fetched";
  EXPECT_GT(is("document.querySelector('svg').getBoundingClientRect().width").get<double>(), 500)
      << "the policy has the hash of the style";
  EXPECT_EQ(is("document.documentElement.scrollWidth <= innerWidth"), true);

  EXPECT_EQ(is("getComputedStyle(document.body).backgroundColor"), kLight);
  ASSERT_TRUE(browser_->show_as("", "dark"));
  EXPECT_NE(is("getComputedStyle(document.body).backgroundColor"), kLight);

  const std::string hidden =
      "[...document.querySelectorAll('details table')].filter(t => "
      "!t.checkVisibility({contentVisibilityAuto: true})).length";
  ASSERT_TRUE(browser_->show_as("screen"));
  EXPECT_GT(is(hidden), 0) << "tables of the charts are folded away";
  ASSERT_TRUE(browser_->show_as("print"));
  EXPECT_EQ(is(hidden), 0) << "nobody can unfold them on paper";
  EXPECT_EQ(browser_->console(), "");
}

TEST_F(ComparePage, HasBothFabricsToSearchAndIsTheSameFromItsDocument) {
  if (!Browser::is_there()) GTEST_SKIP() << "chromium and chromium-driver are not installed";
  make();
  ASSERT_FALSE(HasFatalFailure());
  EXPECT_EQ(text_of(file_), text_of(file_ + ".again"));
  expect_matches_schema(text_of(document_), "comparison");
  EXPECT_EQ(is("document.querySelectorAll('canvas.view').length"), 2);
  const auto told = [&](const char* side) {
    return is(fmt::format("document.querySelector('[data-view={}] .place').innerText", side))
        .get<std::string>();
  };
  EXPECT_THAT(told("a"), HasSubstr("8 cables"));
  EXPECT_THAT(told("b"), HasSubstr("congested, load")) << "one spine for two hosts a leaf";
  static_cast<void>(browser_->script("document.querySelector('[data-view=b] .find').focus()"));
  ASSERT_TRUE(browser_->type("leaf1--spine1"));
  ASSERT_TRUE(browser_->press(kEnter));
  EXPECT_TRUE(browser_->waits_for("return document.body.dataset.ready.startsWith('b:link=leaf1')"));
  EXPECT_THAT(told("b"), HasSubstr("times what it carries"));
  EXPECT_EQ(browser_->console(), "");
}

}  // namespace
}  // namespace weft::cli
