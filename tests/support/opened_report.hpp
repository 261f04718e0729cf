// A report in a browser, opened as a file.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <memory>
#include <string>

#include "tests/support/browser.hpp"

namespace weft {

inline constexpr const char* kEnter = "\uE007";

class OpenedReport {
 public:
  /// Null: the test has failed, or has no browser.
  static std::unique_ptr<OpenedReport> of(const std::string& html) {
    auto opened = std::unique_ptr<OpenedReport>(new OpenedReport);
    const auto file = opened->scratch_.path() / "report.html";
    std::ofstream(file) << html;
    auto browser = Browser::start();
    EXPECT_TRUE(browser) << browser.error().message;
    if (!browser) return nullptr;
    opened->browser_ = *std::move(browser);
    EXPECT_TRUE(opened->browser_->open("file://" + file.string()));
    EXPECT_TRUE(opened->browser_->waits_for("return globalThis.weftReport?.ready === true"))
        << opened->browser_->console();
    return opened;
  }
  Browser& browser() { return *browser_; }
  bool shows(const std::string& place) {
    return browser_->waits_for("return document.body.dataset.ready === '" + place + "'");
  }
  /// What is told of the place that a view shows; `key`: of one of several.
  std::string told(const std::string& key = "") {
    return browser_->script("return document.querySelector('[data-view=\"" + key + "\"] .place').innerText")
        .get<std::string>();
  }

 private:
  OpenedReport() = default;
  os::ScratchDirectory scratch_ = os::ScratchDirectory::make().value();
  std::unique_ptr<Browser> browser_;
};

}  // namespace weft
