// LabWithWatch: a lab of the test's own, and `weft watch` of it, whose events, metrics and state go to files.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "tests/support/lab_user.hpp"
#include "tests/support/schema.hpp"
#include "tests/support/text_of.hpp"

namespace weft {

class LabWithWatch {
 public:
  explicit LabWithWatch(std::string_view fabric) : user(fabric) {
    const auto up = user.up();
    EXPECT_EQ(up.status, 0) << up.errors;
    watch_.emplace(user.start({"watch", "--lab=" + user.lab, "--state", state(), "--events", events_file(),
                               "--close-after", "4s", "--for", "150s", "--metrics-file", metrics_file()}));
  }

  std::string state() const { return user.directory() / "state"; }
  std::string events_file() const { return user.directory() / "events.jsonl"; }
  std::string metrics_file() const { return user.directory() / "weft.prom"; }
  std::string metrics() const { return text_of(metrics_file()); }
  /// The metrics come to say so within `limit`.
  bool becomes_healthy(bool healthy, std::chrono::seconds limit) const {
    const auto until = std::chrono::steady_clock::now() + limit;
    const auto line = fmt::format("verdict=\"healthy\"}} {}", healthy ? 1 : 0);
    while (metrics().find(line) == std::string::npos) {
      if (std::chrono::steady_clock::now() > until) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
    }
    return true;
  }
  RunningCommand& watch() { return *watch_; }

  std::vector<nlohmann::json> events() const {
    std::vector<nlohmann::json> all;
    std::ifstream file(events_file());
    for (std::string line; std::getline(file, line) && !file.eof();) {
      expect_matches_schema(line, "event");
      all.push_back(nlohmann::json::parse(line));
    }
    return all;
  }
  /// The first event of this change that is there within `limit`.
  std::optional<nlohmann::json> wait_for(const std::string& change, std::chrono::seconds limit) const {
    const auto until = std::chrono::steady_clock::now() + limit;
    while (std::chrono::steady_clock::now() < until) {
      for (const nlohmann::json& event : events())
        if (event["change"] == change) return event;
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    return std::nullopt;
  }
  /// Every channel was crossed by probes: the database has the first seconds.
  void wait_until_it_probes() const {
    for (int i = 0; i < 300 && !std::filesystem::exists(state() + "/watch.db"); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    std::this_thread::sleep_for(std::chrono::seconds(6));
  }

  const LabUser user;

 private:
  std::optional<RunningCommand> watch_;
};

}  // namespace weft
