// IpAddress: an IPv4 or IPv6 address as a value. Parses and prints the usual text forms.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "topology/base/result.hpp"

namespace weft {

class IpAddress {
 public:
  using V4 = std::array<std::uint8_t, 4>;
  using V6 = std::array<std::uint8_t, 16>;

  constexpr IpAddress() = default;  // 0.0.0.0
  constexpr explicit IpAddress(const V4& v4) {
    for (std::size_t i = 0; i < 4; ++i) bytes_[i] = v4[i];
  }
  constexpr explicit IpAddress(const V6& v6) : bytes_(v6), is_v6_(true) {}
  static Result<IpAddress> parse(std::string_view text);

  constexpr bool is_v6() const { return is_v6_; }
  /// 4 bytes used of 16 for IPv4 (network order).
  constexpr const V6& bytes() const { return bytes_; }
  constexpr V4 v4() const { return {bytes_[0], bytes_[1], bytes_[2], bytes_[3]}; }

  friend constexpr auto operator<=>(const IpAddress&, const IpAddress&) = default;

 private:
  V6 bytes_{};
  bool is_v6_ = false;
};

std::string to_string(const IpAddress& address);

}  // namespace weft

template <>
struct std::hash<weft::IpAddress> {
  std::size_t operator()(const weft::IpAddress& address) const noexcept;
};
