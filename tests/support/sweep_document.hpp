// What the tests ask of a sweep's JSON document.
#pragma once

#include <gtest/gtest.h>

#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/support/lab_user.hpp"
#include "tests/support/schema.hpp"

namespace weft {

inline nlohmann::json document_of(const Answer& answer) {
  expect_matches_schema(answer.output, "diagnosis");
  return nlohmann::json::parse(answer.output, nullptr, false);
}

inline bool names_a_switch_link(const nlohmann::json& document) {
  for (const auto& link : document["links"])
    if (link["link"].get<std::string>().find("host") == std::string::npos) return true;
  return false;
}

/// What the sweep says of a host, as one text; empty: nothing.
inline std::string said_of(const nlohmann::json& document, const std::string& host) {
  for (const auto& finding : document["hosts"])
    if (finding["host"] == host) return finding.dump();
  return "";
}

/// Why a host was not tested; empty: it was.
inline std::string untested(const nlohmann::json& document, const std::string& host) {
  for (const auto& each : document["coverage"]["not_tested"])
    if (each["host"] == host) return each["why"];
  return "";
}

/// What this machine kept a test from showing, for who reads the output: the test stands, and asked for less.
inline void print_disturbance(const char* what, const nlohmann::json& evidence) {
  std::printf("disturbed by this machine: %s: %s\n", what, evidence.dump().c_str());
}

/// That no part of the fabric is told to be at fault. A delay of the whole fabric is this machine's, which
/// runs all of its hosts.
inline bool names_nothing(const nlohmann::json& document) {
  for (const char* findings : {"links", "hosts", "groups", "sets"})
    if (!document[findings].empty()) return false;
  for (const auto& finding : document["fabric_wide"])
    if (finding["cause"] != "delay") return false;
  return true;
}

/// Not `healthy` because of this machine: it made round trips late, or kept hosts from running (their own
/// clocks say so).
inline bool is_disturbed_by_this_machine(const nlohmann::json& document) {
  if (!document["fabric_wide"].empty()) return true;
  std::size_t disturbed = document["account"]["late"]["unexplained"];
  for (const auto& part : document["account"]) disturbed += part["excused"].get<std::size_t>();
  return document["verdict"] == "unknown" && disturbed > 0;
}

/// Of a fabric without a fault: no part of it is named, ever. The verdict is `healthy`, or, where this
/// machine disturbed the sweep, another; which, the test's output says.
inline void expect_healthy_but_for_this_machine(const nlohmann::json& document) {
  EXPECT_TRUE(names_nothing(document)) << document;
  if (is_disturbed_by_this_machine(document))
    return print_disturbance("whole fabric and account", {document["fabric_wide"], document["account"]});
  EXPECT_EQ(document["verdict"], "healthy") << document["account"] << document["coverage"];
}

}  // namespace weft
