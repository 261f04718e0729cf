#include "collectors/web/page_script.hpp"

#include <fmt/format.h>
#include <sodium.h>

#include <algorithm>
#include <array>

#include "collectors/web/assets.hpp"

namespace weft::web {
namespace {

/// Files of the live page's folder, each after those that it imports.
constexpr std::array<std::string_view, 8> kModules{"signs", "text",   "saving", "scene",
                                                   "model", "matrix", "graph",  "report"};

std::string_view module_text(std::string_view name) {
  const auto path = fmt::format("/{}.js", name);
  const auto all = assets();
  const auto at = std::ranges::find(all, path, &Asset::path);
  return at == all.end() ? std::string_view() : at->text;
}

/// "const { a, b: c } = m_signs;" of "import { a, b as c } from './signs.js';"
std::string import_line(std::string_view line) {
  const auto open = line.find('{'), close = line.find('}'), from = line.find("'./");
  std::string names(line.substr(open, close - open + 1));
  for (auto at = names.find(" as "); at != std::string::npos; at = names.find(" as "))
    names.replace(at, 4, ": ");
  const auto module = line.substr(from + 3, line.find(".js'") - from - 3);
  return fmt::format("const {} = m_{};\n", names, module);
}

/// The name that "const x = ...", "function x(...)", "class x {" declares.
std::string declared(std::string_view line) {
  line.remove_prefix(std::min(line.find(' ') + 1, line.size()));
  return std::string(line.substr(0, line.find_first_of(" (={")));
}

}  // namespace

/// Each module is a function of its own, whose value is what it exports.
std::string report_script() {
  std::string script = "'use strict';\n";
  for (const std::string_view name : kModules) {
    std::string exported;
    script += fmt::format("const m_{} = (() => {{\n", name);
    for (std::string_view rest = module_text(name); !rest.empty();) {
      const auto end = std::min(rest.find('\n'), rest.size());
      auto line = rest.substr(0, end);
      rest.remove_prefix(std::min(end + 1, rest.size()));
      if (line.starts_with("import {")) {
        script += import_line(line);
        continue;
      }
      if (line.starts_with("export ")) {
        line.remove_prefix(7);
        exported += declared(line) + ", ";
      }
      script.append(line).append("\n");
    }
    script += fmt::format("return {{ {} }};\n}})();\n", exported);
  }
  return script;
}

std::string source_hash(std::string_view script) {
  std::array<unsigned char, crypto_hash_sha256_BYTES> digest{};
  crypto_hash_sha256(digest.data(), reinterpret_cast<const unsigned char*>(script.data()), script.size());
  std::array<char, sodium_base64_ENCODED_LEN(crypto_hash_sha256_BYTES, sodium_base64_VARIANT_ORIGINAL)>
      text{};
  sodium_bin2base64(text.data(), text.size(), digest.data(), digest.size(), sodium_base64_VARIANT_ORIGINAL);
  return fmt::format("sha256-{}", text.data());
}

std::string harmless_json(std::string_view json) {
  std::string text;
  text.reserve(json.size());
  for (const char c : json) {
    if (c == '<')
      text += "\\u003c";
    else
      text += c;
  }
  return text;
}

}  // namespace weft::web
