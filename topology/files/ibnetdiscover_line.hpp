// A cursor over one line of an ibnetdiscover dump: takes words, numbers and quoted texts off its front.
#pragma once

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

namespace weft {

class DumpLine {
 public:
  explicit DumpLine(std::string_view text) : rest_(text) {}

  void skip_blanks() { rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\r"), rest_.size())); }

  bool take(std::string_view what) {
    skip_blanks();
    if (!rest_.starts_with(what)) return false;
    rest_.remove_prefix(what.size());
    return true;
  }

  template <class Number>
  std::optional<Number> number(int base = 10) {
    skip_blanks();
    if (base == 16 && rest_.starts_with("0x")) rest_.remove_prefix(2);
    Number value = 0;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value, base);
    if (error != std::errc{}) return std::nullopt;
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    return value;
  }

  /// "text"; up to the last quote of the line when `greedy`, as a description may hold quotes itself.
  std::optional<std::string_view> quoted(bool greedy = false) {
    skip_blanks();
    if (!rest_.starts_with('"')) return std::nullopt;
    const auto close = greedy ? rest_.rfind('"') : rest_.find('"', 1);
    if (close == std::string_view::npos || close == 0) return std::nullopt;
    const auto text = rest_.substr(1, close - 1);
    rest_.remove_prefix(close + 1);
    return text;
  }

  /// The number behind `key`, anywhere in the rest of the line.
  std::optional<std::uint16_t> after(std::string_view key) const {
    const auto at = rest_.find(key);
    if (at == std::string_view::npos) return std::nullopt;
    return DumpLine(rest_.substr(at + key.size())).number<std::uint16_t>();
  }

  /// The next word; empty: the line is over.
  std::string_view word() {
    skip_blanks();
    const auto text = rest_.substr(0, rest_.find_first_of(" \t\r"));
    rest_.remove_prefix(text.size());
    return text;
  }

  std::string_view rest() const { return rest_; }

 private:
  std::string_view rest_;
};

}  // namespace weft
