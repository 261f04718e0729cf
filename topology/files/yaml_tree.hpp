// YamlTree: one YAML document as a compact tree that remembers lines, read from input that nobody vouches
// for. Depth, size and number of values are bounded; an alias is a reference to what it names and is never
// copied, so a file cannot grow in memory. YamlView is a cursor into the tree and must not outlive it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "topology/base/result.hpp"

namespace weft::files {

class YamlTree;

enum class YamlKind : std::uint8_t { null, scalar, sequence, map };

class YamlView {
 public:
  YamlView(const YamlTree& tree, std::uint32_t index) : tree_(&tree), index_(index) {}

  YamlKind kind() const;
  std::uint32_t line() const;     // from 1; of an alias, the line of what it names
  std::string_view text() const;  // of a scalar, without quotes; otherwise empty
  /// What stands there, for messages: "'text'", "a list", "a map", "nothing".
  std::string described() const;

  /// Items of a sequence; keys and values in turn of a map. Absent after the last.
  std::optional<YamlView> first() const;
  std::optional<YamlView> next() const;

  /// "FILE:LINE: message".
  template <class... Args>
  [[nodiscard]] tl::unexpected<Error> error(fmt::format_string<Args...> format, Args&&... args) const {
    return located(fmt::format(format, std::forward<Args>(args)...));
  }

 private:
  tl::unexpected<Error> located(std::string message) const;

  const YamlTree* tree_;
  std::uint32_t index_;  // of the item itself: an alias keeps its own place among its siblings
};

class YamlTree {
 public:
  /// Exactly one document. `file` stands in messages only.
  static Result<YamlTree> parse(std::string_view text, std::string_view file);
  YamlView root() const { return {*this, 0}; }

 private:
  friend class YamlView;
  friend class YamlTreeBuilder;

  struct Item {
    YamlKind kind = YamlKind::null;
    bool alias = false;  // then `first` is the index of what it names
    std::uint32_t line = 0;
    std::uint32_t first = 0;  // child; 0: none (the root is nobody's child)
    std::uint32_t next = 0;   // sibling; 0: none
    std::uint32_t text_at = 0;
    std::uint32_t text_size = 0;
  };
  const Item& named(std::uint32_t index) const;

  std::string file_;
  std::vector<Item> items_;
  std::string text_;  // of all scalars
};

}  // namespace weft::files
