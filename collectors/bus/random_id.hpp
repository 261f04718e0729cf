// An id that no other participant of a bus has.
#pragma once

#include <fmt/format.h>

#include <random>
#include <string>

namespace weft::bus {

/// 16 hexadecimal digits, by chance.
inline std::string random_id() {
  std::random_device draw;
  return fmt::format("{:08x}{:08x}", draw(), draw());
}

}  // namespace weft::bus
