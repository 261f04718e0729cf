#include "topology/base/json_limits.hpp"

namespace weft {

Result<void> check_json_limits(std::string_view text, const JsonLimits& limits) {
  if (text.size() > limits.bytes)
    return fail(ErrorKind::invalid_input, "a message of {} bytes is longer than {}", text.size(),
                limits.bytes);
  std::size_t depth = 0;
  std::size_t values = 1;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string && c == '\\')
      ++i;
    else if (c == '"')
      in_string = !in_string;
    else if (in_string)
      continue;
    else if (c == '[' || c == '{')
      ++values, ++depth;
    else if (c == ',' || c == ':')
      ++values;
    else if ((c == ']' || c == '}') && depth > 0)
      --depth;
    if (depth > limits.depth)
      return fail(ErrorKind::invalid_input, "a message of {} bytes is nested deeper than {}", text.size(),
                  limits.depth);
    if (values > limits.values)
      return fail(ErrorKind::invalid_input, "a message of {} bytes has more than {} values", text.size(),
                  limits.values);
  }
  return {};
}

}  // namespace weft
