// The files of the front end (collectors/web/ui), which the build puts into the program.
#pragma once

#include <span>
#include <string_view>

namespace weft::web {

struct Asset {
  std::string_view path;  // "/main.js"
  std::string_view type;
  std::string_view text;
  std::string_view hash;  // of the text
};

std::span<const Asset> assets();

}  // namespace weft::web
