// Writing JSON documents for users: straight into a buffer those of millions of values (JsonText), by way of
// a tree those of few, which people read too (DocumentTree).
#pragma once

#include <fmt/format.h>

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "topology/files/document.hpp"

namespace weft::files {

using JsonText = fmt::memory_buffer;

template <class... Args>
void put(JsonText& out, fmt::format_string<Args...> format, Args&&... args) {
  fmt::format_to(std::back_inserter(out), format, std::forward<Args>(args)...);
}

/// A JSON string with its quotes; bytes that are no UTF-8 become U+FFFD.
void put_string(JsonText& out, std::string_view text);

/// A JSON number, the shortest that reads back the same; what JSON cannot say (infinite, not a number)
/// becomes the nearest that it can.
void put_number(JsonText& out, double number);

/// `"schema":"...","generated_at":"...","tool_version":"..."`: how every document begins.
void put_stamp(JsonText& out, std::string_view schema, const DocumentStamp& stamp);

/// A JSON array: `put_item` writes each of `items`.
template <class Items, class PutItem>
void put_array(JsonText& out, const Items& items, PutItem put_item) {
  out.push_back('[');
  bool first = true;
  for (const auto& item : items) {
    if (!first) out.push_back(',');
    first = false;
    put_item(item);
  }
  out.push_back(']');
}

/// Members stay in the order in which they are put in.
using DocumentTree = nlohmann::ordered_json;
/// With the members of put_stamp.
DocumentTree stamped_tree(std::string_view schema, const DocumentStamp& stamp);
/// Over several lines, and on one, without a line end; bytes that are no UTF-8 become U+FFFD.
std::string document_text(const DocumentTree& tree);
std::string document_line(const DocumentTree& tree);

}  // namespace weft::files
