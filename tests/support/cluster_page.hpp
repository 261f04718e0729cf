// The commands of docs/cluster.md, as its reader pastes them.
#pragma once

#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "tests/places.hpp"

namespace weft {

/// The lines of the blocks that are marked as a shell's, each of `replaced` (theirs, ours) written instead.
inline std::vector<std::string> commands_of_cluster_page(
    const std::vector<std::pair<std::string, std::string>>& replaced) {
  std::vector<std::string> commands;
  std::ifstream page(WEFT_SOURCE_DIR "/docs/cluster.md");
  bool in_block = false;
  for (std::string line; std::getline(page, line);) {
    if (line.starts_with("```")) {
      in_block = line == "```sh";
      continue;
    }
    if (!in_block) continue;
    for (const auto& [theirs, ours] : replaced)
      for (auto at = line.find(theirs); at != std::string::npos; at = line.find(theirs, at + ours.size()))
        line.replace(at, theirs.size(), ours);
    commands.push_back(line);
  }
  return commands;
}

}  // namespace weft
