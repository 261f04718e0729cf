// A plugged module: its memory, written as the standards address it.
#pragma once

#include <map>
#include <string_view>

#include "topology/base/bytes.hpp"
#include "topology/host/module_eeprom.hpp"

namespace weft::fakes {

struct FakeModule {
  explicit FakeModule(std::uint8_t identifier) {
    lower[0] = std::byte{identifier};
    upper.emplace(0, std::vector<std::byte>(host::kHalfPage));
  }
  static void put(std::vector<std::byte>& bytes, std::size_t at, std::uint16_t value) {
    store_be16(bytes, at, value);
  }
  std::vector<std::byte>& page(std::uint8_t number) {
    return upper.try_emplace(number, host::kHalfPage).first->second;
  }
  void put_upper(std::uint8_t number, std::size_t at, std::uint16_t value) {
    put(page(number), at - host::kHalfPage, value);
  }
  void put_byte(std::uint8_t number, std::size_t at, std::uint8_t value) {
    page(number)[at - host::kHalfPage] = std::byte{value};
  }
  /// Sixteen characters, with blanks behind.
  void put_text(std::uint8_t number, std::size_t at, std::string_view text) {
    for (std::size_t i = 0; i < 16; ++i)
      put_byte(number, at + i, static_cast<std::uint8_t>(i < text.size() ? text[i] : ' '));
  }
  void sum_up(std::uint8_t number, std::size_t first, std::size_t last, std::size_t into) {
    std::uint8_t sum = 0;
    for (std::size_t at = first; at <= last; ++at)
      sum = static_cast<std::uint8_t>(sum + load_u8(page(number), at - host::kHalfPage));
    put_byte(number, into, sum);
  }
  /// The module outlives it.
  host::ReadHalfPage reader() const {
    return [this](const host::HalfPage& at) -> Result<std::vector<std::byte>> {
      if (at.i2c == 0x51 && diagnostics.empty()) return fail(ErrorKind::not_supported, "nothing at 0x51");
      if (at.i2c == 0x51) return diagnostics;
      if (at.offset == 0) return lower;
      const auto found = upper.find(at.page);
      if (found == upper.end()) return fail(ErrorKind::not_supported, "no page {}", at.page);
      return found->second;
    };
  }

  std::vector<std::byte> lower = std::vector<std::byte>(host::kHalfPage);
  std::map<std::uint8_t, std::vector<std::byte>> upper;
  std::vector<std::byte> diagnostics;  // of an SFP, at 0x51; empty: it has none
};

}  // namespace weft::fakes
