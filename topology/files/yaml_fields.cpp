#include "topology/files/yaml_fields.hpp"

#include <algorithm>
#include <charconv>

#include "topology/base/check.hpp"
#include "topology/base/text.hpp"

namespace weft::files {
namespace {

/// "a, b, c".
std::string listed(std::span<const std::string_view> words) {
  return fmt::format("{}", fmt::join(words.begin(), words.end(), ", "));
}

}  // namespace

Result<YamlFields> YamlFields::read(YamlView map, std::string_view what,
                                    std::span<const std::string_view> known) {
  WEFT_CHECK(known.size() <= kMaxKeys);
  if (map.kind() != YamlKind::map)
    return map.error("{}: expected a map with {}, found {}", what, listed(known), map.described());
  YamlFields fields(map, what, known);
  std::array<bool, kMaxKeys> seen{};
  for (auto key = map.first(); key;) {
    const auto value = key->next();
    WEFT_CHECK(value.has_value());
    const auto at =
        std::ranges::find(known, key->kind() == YamlKind::scalar ? key->text() : std::string_view());
    if (at == known.end())
      return key->error("{}: {} is not known here; expected {}{}", what, key->described(), listed(known),
                        did_you_mean(key->text(), known));
    const auto index = static_cast<std::size_t>(at - known.begin());
    if (seen[index]) return key->error("{}: '{}' stands twice", what, *at);
    seen[index] = true;
    if (value->kind() != YamlKind::null) fields.values_[index] = *value;
    key = value->next();
  }
  return fields;
}

std::optional<YamlView> YamlFields::find(std::string_view key) const {
  const auto at = std::ranges::find(known_, key);
  WEFT_CHECK(at != known_.end());
  return values_[static_cast<std::size_t>(at - known_.begin())];
}

Result<YamlView> YamlFields::need(std::string_view key) const {
  const auto value = find(key);
  if (!value) return map_.error("{}: '{}' is missing", what_, key);
  return *value;
}

Result<std::string> yaml_text(YamlView value, std::string_view key) {
  if (value.kind() != YamlKind::scalar)
    return value.error("{}: expected text, found {}", key, value.described());
  return std::string(value.text());
}

Result<std::uint32_t> yaml_count(YamlView value, std::string_view key) {
  const auto text = value.text();
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size())
    return value.error("{}: expected a whole number, zero or more, found {}", key, value.described());
  return number;
}

Result<Bandwidth> yaml_bandwidth(YamlView value, std::string_view key) {
  const auto rate = parse_bandwidth(value.text());
  if (!rate) return value.error("{}: expected a bandwidth as in 400G, found {}", key, value.described());
  return *rate;
}

Result<YamlView> yaml_sequence(YamlView value, std::string_view key) {
  if (value.kind() != YamlKind::sequence)
    return value.error("{}: expected a list, found {}", key, value.described());
  return value;
}

}  // namespace weft::files
