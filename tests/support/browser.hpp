// Browser: a headless Chromium, driven over the WebDriver protocol (W3C) by Debian's chromedriver, a child of
// this process. Header only: it needs the flags of the HTTP library, which come with weft_collectors_web.
#pragma once

#include <httplib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <regex>
#include <string>
#include <thread>

#include "tests/support/text_of.hpp"
#include "topology/os/child_process.hpp"
#include "topology/os/scratch_directory.hpp"

namespace weft {

class Browser {
 public:
  static bool is_there() {
    return std::filesystem::exists("/usr/bin/chromedriver") && std::filesystem::exists("/usr/bin/chromium");
  }

  static Result<std::unique_ptr<Browser>> start(int width = 1440, int height = 900) {
    WEFT_TRY(auto scratch, os::ScratchDirectory::make());
    const auto log = scratch.path() / "chromedriver.log";
    WEFT_TRY(auto driver, os::ChildProcess::start({.argv = {"/usr/bin/chromedriver", "--port=0"},
                                                   .output = os::ToFile{log},
                                                   .errors = os::ToNothing{},
                                                   .own_session = true}));
    auto browser = std::unique_ptr<Browser>(new Browser(std::move(scratch), std::move(driver)));
    WEFT_TRY(const int port, browser->port_in(log));
    browser->client_ = std::make_unique<httplib::Client>("127.0.0.1", port);
    browser->client_->set_read_timeout(std::chrono::seconds(60));
    const nlohmann::json wanted{
        {"goog:chromeOptions",
         {{"args",
           {"--no-sandbox", "--disable-gpu", "--headless=new", "--disable-dev-shm-usage",
            "--user-data-dir=" + (browser->scratch_.path() / "profile").string(),
            "--window-size=" + std::to_string(width) + "," + std::to_string(height)}}}},
        {"goog:loggingPrefs", {{"browser", "ALL"}}}};
    WEFT_TRY(const auto session, browser->call("POST", "", {{"capabilities", {{"alwaysMatch", wanted}}}}));
    browser->session_ = "/" + session.at("sessionId").get<std::string>();
    return browser;
  }

  ~Browser() {
    if (!session_.empty()) client_->Delete("/session" + session_);
    driver_.stop(std::chrono::seconds(5));
    driver_.send_signal_to_group(SIGKILL);
  }

  Result<void> open(const std::string& url) {
    WEFT_TRY_VOID(run("POST", "/url", {{"url", url}}));
    return {};
  }
  /// What a function body returns in the page; null where it fails.
  nlohmann::json script(const std::string& body) {
    return call("POST", "/execute/sync", {{"script", body}, {"args", nlohmann::json::array()}})
        .value_or(nlohmann::json());
  }
  /// Until the body returns true.
  bool waits_for(const std::string& body, std::chrono::seconds limit = std::chrono::seconds(20)) {
    const auto end = std::chrono::steady_clock::now() + limit;
    while (std::chrono::steady_clock::now() < end) {
      if (script(body) == true) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return false;
  }
  /// A real key, as a user presses it.
  Result<void> press(const std::string& key) {
    const auto act = [&](const char* type) { return nlohmann::json{{"type", type}, {"value", key}}; };
    return run(
        "POST", "/actions",
        {{"actions", {{{"type", "key"}, {"id", "keys"}, {"actions", {act("keyDown"), act("keyUp")}}}}}});
  }
  /// The keys of a text in UTF-8, one after the other.
  Result<void> type(std::string_view text) {
    auto actions = nlohmann::json::array();
    for (std::size_t at = 0; at < text.size();) {
      std::size_t end = at + 1;
      while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) ++end;
      for (const char* type : {"keyDown", "keyUp"})
        actions.push_back({{"type", type}, {"value", std::string(text.substr(at, end - at))}});
      at = end;
    }
    return run("POST", "/actions", {{"actions", {{{"type", "key"}, {"id", "keys"}, {"actions", actions}}}}});
  }
  /// At a place of the window.
  Result<void> click(int x, int y) {
    const nlohmann::json moves{
        {{"type", "pointerMove"}, {"duration", 0}, {"x", x}, {"y", y}, {"origin", "viewport"}},
        {{"type", "pointerDown"}, {"button", 0}},
        {{"type", "pointerUp"}, {"button", 0}}};
    return run("POST", "/actions",
               {{"actions", {{{"type", "pointer"}, {"id", "mouse"}, {"actions", moves}}}}});
  }
  /// As if the page were printed ("print") or the user's colours were these ("light", "dark").
  Result<void> show_as(const std::string& media, const std::string& colours = "light") {
    const nlohmann::json features{{{"name", "prefers-color-scheme"}, {"value", colours}}};
    return run(
        "POST", "/goog/cdp/execute",
        {{"cmd", "Emulation.setEmulatedMedia"}, {"params", {{"media", media}, {"features", features}}}});
  }
  /// All that the page wrote to the console and all that failed to load, since the last call.
  std::string console() {
    const auto lines = call("POST", "/se/log", {{"type", "browser"}});
    if (!lines) return lines.error().message;
    std::string text;
    for (const auto& line : *lines) text += line.at("message").get<std::string>() + "\n";
    return text;
  }

 private:
  Browser(os::ScratchDirectory scratch, os::ChildProcess driver)
      : scratch_(std::move(scratch)), driver_(std::move(driver)) {}

  static Result<int> port_in(const std::filesystem::path& log) {
    for (int i = 0; i < 400; ++i, std::this_thread::sleep_for(std::chrono::milliseconds(50))) {
      const std::string text = text_of(log);
      if (std::smatch match; std::regex_search(text, match, std::regex("successfully on port ([0-9]+)")))
        return std::stoi(match[1]);
    }
    return fail(ErrorKind::timeout, "chromedriver names no port");
  }

  Result<nlohmann::json> call(const char* method, const std::string& path, const nlohmann::json& body) {
    httplib::Request request;
    request.method = method;
    request.path = "/session" + session_ + path;
    request.body = body.dump();
    request.set_header("Content-Type", "application/json");
    const auto answer = client_->send(request);
    if (!answer) return fail(ErrorKind::absent, "chromedriver does not answer {}", path);
    auto json = nlohmann::json::parse(answer->body, nullptr, false);
    if (answer->status != 200 || !json.contains("value"))
      return fail(ErrorKind::internal, "chromedriver: {}: {}", path, answer->body.substr(0, 400));
    return json.at("value");
  }
  Result<void> run(const char* method, const std::string& path, const nlohmann::json& body) {
    const auto done = call(method, path, body);
    if (!done) return pass_on(done);
    return {};
  }

  os::ScratchDirectory scratch_;
  os::ChildProcess driver_;
  std::unique_ptr<httplib::Client> client_;
  std::string session_;
};

}  // namespace weft
