// The page of `weft plan --html`: what stands in it, and that a browser shows it offline and runs nothing of
// it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/plan.hpp"
#include "collectors/web/page_server.hpp"
#include "tests/support/browser.hpp"
#include "tests/support/command.hpp"
#include "tests/support/scratch_file.hpp"
#include "tests/support/text_of.hpp"
#include "topology/files/rates.hpp"
#include "topology/os/scratch_directory.hpp"

namespace weft::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr std::string_view kPowered =
    "fabric: roce-a\nrails: {groups: 2, hosts_per_group: 8, rails: 4, spines: 4}\n"
    "domains:\n  - {name: \"pdu<b>1\", kind: power, members: [\"host[1-4]\"], events: 2, exposure: 365d, "
    "repair: "
    "6h}\n";

/// Rates of a site that has a name to be wary of.
std::string hostile_rates() {
  auto rates = files::published_rates();
  rates.origin = "<img src=x onerror=\"document.title='run'\"><script>document.title='run'</script>";
  return files::rates_text(rates, {.generated_at = {}, .tool_version = "1"});
}

class PlanPage : public ::testing::Test {
 protected:
  os::ScratchDirectory directory_ = os::ScratchDirectory::make().value();
  std::string file_ = directory_.path() / "plan.html";

  void make() {
    const ScratchFile fabric(kPowered), rates(hostile_rates());
    const auto outcome = call(plan_command, {fabric.path(), "--job", "48", "--rates", rates.path(),
                                             "--histories", "40", "--what-if", "spares=0", "--html", file_});
    ASSERT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_THAT(outcome.out, testing::StartsWith("48 GPUs on 12 hosts")) << "the table comes as ever";
  }
};

TEST_F(PlanPage, HasWhatTheTableHasAndNothingFromOutsideIsMarkup) {
  make();
  const auto page = text_of(file_);
  for (const char* part : {"<h1>48 GPUs on 12 hosts", "How many spares", "<svg id=\"spares\"", "Where",
                           "leaf group", "rail", "What interrupts the job", "Time lost, by kind",
                           "work done again", "Blast radius", "pdu&lt;b&gt;1", "What to improve first",
                           "What if", "How often to sweep", "Parts on the shelf", "Guesses", "--detect 60 s"})
    EXPECT_THAT(page, HasSubstr(part));
  for (const char* never : {"<img", "<script", "http://", "https://", "url(", "nan", "inf\""})
    EXPECT_THAT(page, Not(HasSubstr(never)));
  const ScratchFile fabric("fabric: small\nclos: {leaves: 2, spines: 2, hosts_per_leaf: 2, link: 400G}\n");
  const auto refused = call(plan_command, {fabric.path(), "--job", "8", "--html", "/nowhere/at/all.html"});
  EXPECT_EQ(refused.status, 64);
  EXPECT_THAT(refused.err, HasSubstr("/nowhere/at"));
  EXPECT_THAT(call(plan_command, {fabric.path(), "--job", "8", "--html", fabric.path()}).err,
              HasSubstr("would take its place"));
}

TEST_F(PlanPage, IsShownByABrowserAsItIsMeantAndRunsNothing) {
  if (!Browser::is_there()) GTEST_SKIP() << "chromium and chromium-driver are not installed";
  make();
  auto browser = Browser::start();
  ASSERT_TRUE(browser) << browser.error().message;
  ASSERT_TRUE((*browser)->open("file://" + file_));
  ASSERT_TRUE((*browser)->waits_for("return document.readyState === 'complete'"));
  const auto is = [&](const std::string& what) { return (*browser)->script("return " + what); };
  EXPECT_EQ(is("document.title"), "Plan of roce-a");
  EXPECT_EQ(is("document.images.length + document.scripts.length"), 0);
  EXPECT_EQ(is("getComputedStyle(document.querySelector('h1')).fontSize"), "22px")
      << "the policy has the hash of the style";
  EXPECT_EQ(is("document.querySelectorAll('#spares polyline').length"), 2);
  EXPECT_GT(is("document.querySelector('#spares').getBoundingClientRect().width").get<double>(), 500);
  EXPECT_EQ(is("document.documentElement.scrollWidth <= innerWidth"), true);
  EXPECT_EQ((*browser)->console(), "");
}

}  // namespace
}  // namespace weft::cli
