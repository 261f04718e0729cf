// How long, how deep and how full a JSON text may be, told before it is parsed: a parser keeps 16 to 100
// bytes of memory for each value, and one byte of text can make one. Pure.
#pragma once

#include <cstddef>
#include <string_view>

#include "topology/base/result.hpp"

namespace weft {

struct JsonLimits {
  std::size_t bytes;
  std::size_t depth;   // of arrays and objects in each other
  std::size_t values;  // and names of members
};

/// The Error (invalid_input) says which limit. A text that is no JSON may pass.
Result<void> check_json_limits(std::string_view text, const JsonLimits& limits);

}  // namespace weft
