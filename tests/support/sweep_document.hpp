// What the tests ask of a sweep's JSON document.
#pragma once

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

}  // namespace weft
