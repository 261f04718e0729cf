// YamlFields: the values of one YAML map by their keys, and readers of single values. Every error gives file,
// line, what was expected and what stands there. Unknown and repeated keys are refused.
#pragma once

#include <array>
#include <initializer_list>
#include <span>

#include "topology/base/result.hpp"
#include "topology/base/units.hpp"
#include "topology/files/yaml_tree.hpp"

namespace weft::files {

class YamlFields {
 public:
  static constexpr std::size_t kMaxKeys = 13;

  /// `what` names the map in messages ("clos", "a link"). `known` must outlive the fields, kMaxKeys at most.
  static Result<YamlFields> read(YamlView map, std::string_view what,
                                 std::span<const std::string_view> known);

  /// The value of a known key; absent where the key is not there or has no value.
  std::optional<YamlView> find(std::string_view key) const;
  Result<YamlView> need(std::string_view key) const;

  /// Puts what `read_value` makes of the value of `key` into `place` (a T or an optional T); without the key
  /// `place` keeps what it has.
  template <class T, class Reader>
  Result<void> read_into(std::string_view key, T& place, Reader read_value) const {
    const auto value = find(key);
    if (!value) return {};
    WEFT_TRY(auto read, read_value(*value, key));
    place = std::move(read);
    return {};
  }
  /// As read_into, but the key must be there.
  template <class T, class Reader>
  Result<void> need_into(std::string_view key, T& place, Reader read_value) const {
    WEFT_TRY_VOID(need(key));
    return read_into(key, place, read_value);
  }

  YamlView map() const { return map_; }

 private:
  YamlFields(YamlView map, std::string_view what, std::span<const std::string_view> known)
      : map_(map), what_(what), known_(known) {}

  YamlView map_;
  std::string_view what_;
  std::span<const std::string_view> known_;
  std::array<std::optional<YamlView>, kMaxKeys> values_;  // in the order of known_
};

// Readers of one value; `key` stands in their messages.
Result<std::string> yaml_text(YamlView value, std::string_view key);
Result<std::uint32_t> yaml_count(YamlView value, std::string_view key);  // a whole number, zero or more
Result<Bandwidth> yaml_bandwidth(YamlView value, std::string_view key);
Result<YamlView> yaml_sequence(YamlView value, std::string_view key);

}  // namespace weft::files
