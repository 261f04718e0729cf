// The source tree as the style tests read it: files, their lines without comments, and what they include.
#pragma once

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

namespace weft::style {

inline constexpr auto kCodeFolders =
    std::to_array<std::string_view>({"topology", "probes", "collectors", "balancer", "cli"});

struct Include {
  std::size_t line = 0;
  std::string what;     // as written between the marks
  bool quoted = false;  // "of this project", not <of another>
};

struct SourceFile {
  std::string path;    // from the root of the tree, as in topology/base/ids.hpp
  std::string folder;  // topology/base
  std::vector<std::string> lines;
  std::vector<Include> includes;
};

/// What stands before a `//`. A text that holds `//` is cut short; no rule here looks behind one.
inline std::string_view without_comment(std::string_view line) { return line.substr(0, line.find("//")); }

/// The include of this line, if it is one; its `what` is empty otherwise.
inline Include include_of(std::string_view line, std::size_t number) {
  const auto after_blanks = [](std::string_view text) {
    text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
    return text;
  };
  line = after_blanks(line);
  if (!line.starts_with('#')) return {};
  line = after_blanks(line.substr(1));
  if (!line.starts_with("include")) return {};
  line = after_blanks(line.substr(7));
  if (line.empty() || (line[0] != '"' && line[0] != '<')) return {};
  const auto end = line.find(line[0] == '"' ? '"' : '>', 1);
  if (end == std::string_view::npos) return {};
  return {number, std::string(line.substr(1, end - 1)), line[0] == '"'};
}

inline SourceFile read_source(const std::filesystem::path& root, const std::filesystem::path& file) {
  SourceFile source;
  source.path = std::filesystem::relative(file, root).generic_string();
  source.folder = std::filesystem::path(source.path).parent_path().generic_string();
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    source.lines.push_back(line);
    if (auto include = include_of(line, source.lines.size()); !include.what.empty())
      source.includes.push_back(std::move(include));
  }
  return source;
}

/// All C++ and CUDA files under `folder` (from the root), by path.
inline std::vector<SourceFile> read_tree(const std::filesystem::path& root, std::string_view folder) {
  constexpr auto kEndings = std::to_array<std::string_view>({".hpp", ".cpp", ".h", ".cu", ".cuh"});
  std::vector<SourceFile> tree;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root / folder))
    if (entry.is_regular_file() && std::ranges::count(kEndings, entry.path().extension().string()) > 0)
      tree.push_back(read_source(root, entry.path()));
  std::ranges::sort(tree, {}, &SourceFile::path);
  return tree;
}

/// The code of the project, without its tests.
inline std::vector<SourceFile> read_code(const std::filesystem::path& root) {
  std::vector<SourceFile> all;
  for (const std::string_view folder : kCodeFolders)
    for (SourceFile& file : read_tree(root, folder)) all.push_back(std::move(file));
  return all;
}

}  // namespace weft::style
