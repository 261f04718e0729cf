// What `./bootstrap bench verdicts` was asked for.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>

namespace weft::bench {

struct VerdictOptions {
  std::string only;              // pieces, by name; empty: all
  std::string fabrics;           // of the drawn faults
  std::string kinds;             // the same
  std::string sizes;             // few (1 to 3 cables), many
  std::size_t per_fabric = 200;  // random sets of 4 and more of each kind; orbits of each size
  std::size_t seeds = 100;       // of the other pieces
  std::uint64_t base = 1;
  std::size_t threads = 1;
  std::size_t show = 0;  // failures to print whole

  static bool wants(const std::string& list, std::string_view name) {
    return list.empty() || fmt::format(",{},", list).find(fmt::format(",{},", name)) != std::string::npos;
  }
  bool wants(std::string_view piece) const { return wants(only, piece); }
};

}  // namespace weft::bench
