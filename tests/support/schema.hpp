// Checks documents against the JSON Schema files of docs/schema. Every test whose code writes a document uses
// it.
#pragma once

#include <gtest/gtest.h>

#include <string_view>

namespace weft {

/// Success when `json_text` is JSON and meets docs/schema/NAME.schema.json; otherwise every violation with
/// its place.
testing::AssertionResult matches_schema(std::string_view json_text, std::string_view name);

}  // namespace weft

/// As in expect_matches_schema(text, "diagnosis").
#define expect_matches_schema(json_text, name) EXPECT_TRUE(::weft::matches_schema((json_text), (name)))
