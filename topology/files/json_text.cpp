#include "topology/files/json_text.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

namespace weft::files {
namespace {

bool stands_as_is(char c) { return c >= 0x20 && c < 0x7F && c != '"' && c != '\\'; }

}  // namespace

void put_string(JsonText& out, std::string_view text) {
  if (std::ranges::all_of(text, stands_as_is)) return put(out, "\"{}\"", text);
  put(out, "{}", document_line(text));
}

void put_number(JsonText& out, double number) {
  constexpr double kMax = std::numeric_limits<double>::max();
  put(out, "{}", std::isnan(number) ? 0.0 : std::clamp(number, -kMax, kMax));
}

void put_stamp(JsonText& out, std::string_view schema, const DocumentStamp& stamp) {
  put(out, "\"schema\":\"{}\",\"generated_at\":\"{}\",\"tool_version\":", schema,
      weft::to_string(stamp.generated_at));
  put_string(out, stamp.tool_version);
}

DocumentTree stamped_tree(std::string_view schema, const DocumentStamp& stamp) {
  return {{"schema", schema},
          {"generated_at", weft::to_string(stamp.generated_at)},
          {"tool_version", stamp.tool_version}};
}

std::string document_text(const DocumentTree& tree) {
  return tree.dump(2, ' ', false, DocumentTree::error_handler_t::replace);
}

std::string document_line(const DocumentTree& tree) {
  return tree.dump(-1, ' ', false, DocumentTree::error_handler_t::replace);
}

}  // namespace weft::files
