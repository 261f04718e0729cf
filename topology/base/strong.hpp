// Strong<Tag, Rep>: an identifier that compares and hashes and does nothing else.
// A value type; a default-constructed one is zero, which is a valid identifier, so
// absence is always std::optional<Strong<...>>.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace weft {

template <class Tag, class Rep = std::uint32_t>
class Strong {
 public:
  using rep = Rep;
  constexpr Strong() = default;
  constexpr explicit Strong(Rep value) : value_(value) {}
  constexpr Rep value() const { return value_; }
  friend constexpr auto operator<=>(Strong, Strong) = default;

 private:
  Rep value_{};
};

}  // namespace weft

template <class Tag, class Rep>
struct std::hash<weft::Strong<Tag, Rep>> {
  std::size_t operator()(weft::Strong<Tag, Rep> id) const noexcept { return std::hash<Rep>{}(id.value()); }
};
