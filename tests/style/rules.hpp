// Who may include whom, and where the world outside may be touched: the rules of docs/architecture.md as
// data, and functions from source files to the violations in them. A violation reads "FILE:LINE: what".
#pragma once

#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "tests/places.hpp"
#include "tests/style/source_tree.hpp"

namespace weft::style {

using Violations = std::vector<std::string>;
using Folders = std::set<std::string>;

/// A line weft_module(PATH [ADAPTER | APPLICATION] [DEPS PATH...] ...) of the top CMakeLists.txt: a folder,
/// with those in it.
struct Module {
  bool adapter = false;      // it touches the world; all others are pure
  bool application = false;  // an adapter that puts others together
  Folders may_include;       // DEPS, and all that those may
};
using Modules = std::map<std::string, Module>;

inline Modules modules_in(const std::string& cmake_lists) {
  Modules modules;
  const std::regex call(R"(weft_module\(([^)]*)\))");
  for (std::sregex_iterator at(cmake_lists.begin(), cmake_lists.end(), call), end; at != end; ++at) {
    std::istringstream words((*at)[1].str());
    std::string path;
    words >> path;
    Module& module = modules[path];
    bool in_deps = false;
    for (std::string word; words >> word;) {
      module.application = module.application || word == "APPLICATION";
      module.adapter = module.adapter || module.application || word == "ADAPTER";
      const bool keyword =
          word == "ADAPTER" || word == "APPLICATION" || word == "DEPS" || word == "LIBS" || word == "EXCLUDE";
      if (keyword) in_deps = word == "DEPS";
      if (keyword || !in_deps) continue;
      module.may_include.insert(word);
      for (const std::string& far : modules.at(word).may_include) module.may_include.insert(far);
    }
  }
  return modules;
}

/// Of this tree. A module names only modules above its own line: there is no circle.
inline const Modules& modules() {
  static const Modules all = [] {
    std::ifstream file(WEFT_SOURCE_DIR "/CMakeLists.txt");
    return modules_in({std::istreambuf_iterator<char>(file), {}});
  }();
  return all;
}

/// The module that a folder belongs to; empty: none.
inline std::string module_of(std::string_view folder) {
  for (std::filesystem::path path(folder); !path.empty(); path = path.parent_path())
    if (modules().contains(path.generic_string())) return path.generic_string();
  return {};
}

inline bool is_adapter(std::string_view folder) {
  const auto module = modules().find(module_of(folder));
  return module != modules().end() && module->second.adapter;
}

/// Files that may do what their folder may not, each with the word it needs. docs/architecture.md says why.
struct Exception {
  std::string file;
  std::string word;
};
inline const std::vector<Exception>& exceptions() {
  static const std::vector<Exception> all{
      {"probes/session/agent_loop.cpp", "lock::now("},        // drives the agent: bus in, engines out
      {"probes/session/coordinator_loop.cpp", "lock::now("},  // drives the coordinator over a bus
      {"topology/files/file_text.cpp", "ofstream"},           // the folder's own job
      {"balancer/nccl/environment.cpp", "getenv("},  // a library in somebody else's program has no options
      {"topology/os/scratch_directory.cpp", "getenv("},  // an error names the TMPDIR that is no directory
      {"topology/base/check.cpp", "fprintf("},           // a broken precondition's last words
      {"probes/nic/packet_filter.hpp", "linux/"},        // sock_filter, a value, in an inner header
  };
  return all;
}
inline bool is_excepted(std::string_view file, std::string_view word) {
  return std::ranges::any_of(exceptions(),
                             [&](const Exception& e) { return e.file == file && e.word == word; });
}

inline std::string at(const SourceFile& file, std::size_t line, const std::string& what) {
  return file.path + ":" + std::to_string(line) + ": " + what;
}

/// The files of cli/ that name engines: which one serves is decided there and nowhere else.
inline bool composes(std::string_view file) {
  constexpr auto kComposers =
      std::to_array<std::string_view>({"cli/infiniband_lab.cpp", "cli/infiniband_source.cpp"});
  return std::ranges::count(kComposers, file) > 0;
}

/// A quoted include that the folder may not have, or a folder that no rule knows. Of cli/ only those that
/// compose name engines.
inline Violations wrong_includes(const std::vector<SourceFile>& files) {
  Violations found;
  for (const SourceFile& file : files) {
    const std::string module = module_of(file.folder);
    if (file.folder != "cli" && module.empty()) {
      found.push_back(
          at(file, 1, file.folder + " is in no module: add it to CMakeLists.txt and docs/architecture.md"));
      continue;
    }
    for (const Include& include : file.includes) {
      if (!include.quoted) continue;
      const auto of = std::filesystem::path(include.what).parent_path().generic_string();
      const bool allowed =
          file.folder == "cli"
              ? !of.starts_with("tests") && (!of.starts_with("probes/engine") || composes(file.path))
              : module_of(of) == module || modules().at(module).may_include.contains(module_of(of));
      if (!allowed)
        found.push_back(at(file, include.line, file.folder + " may not include \"" + include.what + "\""));
    }
  }
  return found;
}

/// A driver's, device's or server's header outside an adapter's .cpp or .cu.
inline Violations device_headers_outside_adapters(const std::vector<SourceFile>& files) {
  constexpr auto kDevices = std::to_array<std::string_view>(
      {"infiniband/", "rdma/", "rte_", "cuda", "nccl", "hwloc", "nats/", "linux/", "libnetfilter_queue/",
       "net/if", "netpacket/", "openssl/", "sqlite3", "httplib"});
  Violations found;
  for (const SourceFile& file : files)
    for (const Include& include : file.includes)
      for (const std::string_view device : kDevices) {
        if (include.quoted || !include.what.starts_with(device)) continue;
        const bool header = file.path.ends_with(".hpp") || file.path.ends_with(".h");
        if ((is_adapter(file.folder) && !header) || is_excepted(file.path, device)) continue;
        found.push_back(at(file, include.line, "<" + include.what + "> belongs in an adapter's .cpp"));
      }
  return found;
}

/// Words that reach outside, for pure folders and (the first ones) for every library.
inline constexpr auto kNoLibrary =
    std::to_array<std::string_view>({"getenv(", "std::cout", "std::cerr", "fmt::print(", " printf(",
                                     "std::printf(", "fprintf(", " puts(", "<iostream>", "spdlog"});
inline constexpr auto kNotPure = std::to_array<std::string_view>(
    {"lock::now(", "clock_gettime(", "time(nullptr)", "sleep_for(", "sleep_until(", "random_device",
     "std::rand(", "ifstream", "ofstream", "fopen("});

/// A clock, file, sleep or random device in a pure folder; the environment or output in any library.
inline Violations outside_world(const std::vector<SourceFile>& files) {
  Violations found;
  for (const SourceFile& file : files) {
    if (file.folder == "cli") continue;
    for (std::size_t i = 0; i < file.lines.size(); ++i) {
      const auto code = without_comment(file.lines[i]);
      const auto look_for = [&](std::string_view word, const char* where) {
        if (code.find(word) != std::string_view::npos && !is_excepted(file.path, word))
          found.push_back(at(file, i + 1, "'" + std::string(word) + "' in " + where));
      };
      for (const auto word : kNoLibrary) look_for(word, "a library: cli/ reads the environment and prints");
      if (is_adapter(file.folder)) continue;
      for (const auto word : kNotPure) look_for(word, "pure code: take it as a parameter");
    }
  }
  return found;
}

/// Exceptions that nothing needs any more.
inline Violations stale_exceptions(const std::vector<SourceFile>& files) {
  Violations stale;
  for (const Exception& exception : exceptions()) {
    const auto file = std::ranges::find(files, exception.file, &SourceFile::path);
    const bool needed = file != files.end() && std::ranges::any_of(file->lines, [&](const std::string& line) {
                          return without_comment(line).find(exception.word) != std::string_view::npos;
                        });
    if (!needed) stale.push_back(exception.file + ": no '" + exception.word + "' there: drop its exception");
  }
  return stale;
}

inline Violations too_long(const std::vector<SourceFile>& files, std::size_t most) {
  Violations found;
  for (const SourceFile& file : files)
    if (file.lines.size() > most)
      found.push_back(at(file, most + 1, "the file has " + std::to_string(file.lines.size()) + " lines"));
  return found;
}

/// Limits are named kMax... or kMin... (docs/words.md).
inline Violations limits_named_otherwise(const std::vector<SourceFile>& files) {
  static const std::regex kOther(R"(\bk(Most|Longest|Largest|Least|Shortest|Fewest|Smallest)[A-Z]\w*)");
  Violations found;
  for (const SourceFile& file : files)
    for (std::size_t i = 0; i < file.lines.size(); ++i) {
      const std::string code(without_comment(file.lines[i]));
      std::smatch match;
      if (std::regex_search(code, match, kOther))
        found.push_back(at(file, i + 1, match.str() + ": a limit is named kMax... or kMin..."));
    }
  return found;
}

/// A .cpp with a header of its name that does not include it first.
inline Violations own_header_not_first(const std::vector<SourceFile>& files) {
  Violations found;
  for (const SourceFile& file : files) {
    if (!file.path.ends_with(".cpp")) continue;
    const auto header = file.path.substr(0, file.path.size() - 4) + ".hpp";
    if (std::ranges::find(files, header, &SourceFile::path) == files.end()) continue;
    if (file.includes.empty() || file.includes.front().what != header)
      found.push_back(at(file, file.includes.empty() ? 1 : file.includes.front().line,
                         "its own header " + header + " does not come first"));
  }
  return found;
}

/// Headers that are no .cpp's first include: nothing in the build shows that they compile alone.
inline std::vector<std::string> headers_never_first(const std::vector<SourceFile>& files) {
  std::set<std::string> first;
  for (const SourceFile& file : files)
    if (file.path.ends_with(".cpp") && !file.includes.empty()) first.insert(file.includes.front().what);
  std::vector<std::string> headers;
  for (const SourceFile& file : files)
    if (file.path.ends_with(".hpp") && !first.contains(file.path)) headers.push_back(file.path);
  return headers;
}

/// The name of the type that this line of a header defines in the project's namespace, where the formatter
/// sets it at the start of the line; empty otherwise (nothing, a forward declaration, a member).
inline std::string type_defined_in(std::string_view line) {
  constexpr auto kKinds = std::to_array<std::string_view>({"struct ", "class ", "enum class ", "enum "});
  line = without_comment(line);
  line = line.substr(0, line.find_last_not_of(" \t") + 1);
  for (const auto kind : kKinds) {
    if (!line.starts_with(kind) || line.ends_with(';')) continue;
    line.remove_prefix(kind.size());
    return std::string(line.substr(0, line.find_first_of(" :<{")));
  }
  return {};
}

/// The namespace of a module's code, and of its tests: weft::FOLDER. What all modules speak of (addresses and
/// results, the fabric, findings) is in weft itself, and so is what tests of no module share.
inline std::string namespace_of(std::string_view folder) {
  constexpr std::string_view kTests = "tests/";
  if (folder.starts_with(kTests)) folder.remove_prefix(kTests.size());
  const std::string module = folder == "cli" ? "cli" : module_of(folder);
  if (module.empty() || module == "topology/base" || module == "topology/model" ||
      module == "topology/findings")
    return "weft";
  if (module == "balancer/export") return "weft::exports";  // the folder's name is a keyword
  return "weft::" + std::filesystem::path(module).filename().generic_string();
}

/// A namespace that is not that of its module, nor within it.
inline Violations wrong_namespaces(const std::vector<SourceFile>& files) {
  Violations found;
  for (const SourceFile& file : files) {
    const auto own = namespace_of(file.folder);
    for (std::size_t i = 0; i < file.lines.size(); ++i) {
      const std::string_view line = file.lines[i];
      if (!line.starts_with("namespace weft")) continue;
      // A declaration of what all modules speak of: `namespace weft {`, `class Fabric;`, `}`.
      if (line == "namespace weft {" && i + 2 < file.lines.size() &&
          file.lines[i + 1].starts_with("class ") && file.lines[i + 1].ends_with(";") &&
          file.lines[i + 2].starts_with("}"))
        continue;
      const auto name = line.substr(10, line.find(' ', 10) - 10);
      // What json_members looks for has its place there, whoever writes it.
      if (name != own && !name.starts_with(own + "::") && name != "weft::json_members")
        found.push_back(at(file, i + 1, "namespace " + std::string(name) + ": that of the folder is " + own));
    }
  }
  return found;
}

/// Two headers that define a type of the same name in one namespace: they link silently to either.
inline Violations types_defined_twice(const std::vector<SourceFile>& files) {
  std::map<std::string, std::string> first;
  Violations found;
  for (const SourceFile& file : files) {
    if (!file.path.ends_with(".hpp")) continue;
    for (std::size_t i = 0; i < file.lines.size(); ++i) {
      const auto type = type_defined_in(file.lines[i]);
      if (type.empty() || type == "std") continue;
      const auto [seen, is_new] = first.emplace(namespace_of(file.folder) + "::" + type, file.path);
      if (!is_new) found.push_back(at(file, i + 1, type + " is defined in " + seen->second + " too"));
    }
  }
  return found;
}

}  // namespace weft::style
