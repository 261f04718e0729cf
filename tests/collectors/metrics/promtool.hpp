// Prometheus' own checks, by its promtool. No server runs.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "topology/os/run_program.hpp"

namespace weft::metrics {

inline bool promtool_is_here() {
  const auto ran = os::run_program({"promtool", "--version"}, "", std::chrono::seconds(20));
  return ran.has_value();
}

/// Success when `promtool WORDS` has nothing to say against its input.
inline testing::AssertionResult promtool(std::vector<std::string> words, const std::string& input = "") {
  words.insert(words.begin(), "promtool");
  const auto ran = os::run_program(words, input, std::chrono::seconds(60));
  if (ran) return testing::AssertionSuccess();
  return testing::AssertionFailure() << ran.error().message;
}

/// Where there is no promtool it says nothing.
inline testing::AssertionResult promtool_takes(const std::string& metrics) {
  if (!promtool_is_here()) return testing::AssertionSuccess() << "no promtool here (Debian: prometheus)";
  return promtool({"check", "metrics"}, metrics);
}

}  // namespace weft::metrics
