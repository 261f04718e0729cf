// The program of a site that stands in docs/blacklist.md, for `weft blacklist sync --to exec:PROGRAM`.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/places.hpp"
#include "tests/support/text_of.hpp"

namespace weft::cli {

inline void write_program(const std::filesystem::path& path, const std::string& script) {
  std::ofstream(path) << script;
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
}

/// With its marks in `drains`, a directory that is made; nothing is marked.
inline std::string site_program(const std::string& drains) {
  std::filesystem::create_directory(drains);
  std::ofstream(drains + "/marks.json") << "{}";
  auto script = text_of(WEFT_SOURCE_DIR "/docs/blacklist.md");
  script = script.substr(script.find("#!/bin/sh"));
  script = script.substr(0, script.find("```"));
  const std::string place = "/var/lib/site-drains";
  return script.replace(script.find(place), place.size(), drains);
}

}  // namespace weft::cli
