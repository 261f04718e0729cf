// IP addresses compared by whole words, for who looks at each packet: operator== of IpAddress compares bytes
// by a call. Pure.
#pragma once

#include <cstdint>
#include <cstring>

#include "topology/base/ip.hpp"

namespace weft::packet {

inline bool is_same(const IpAddress& one, const IpAddress& other) {
  const auto half = [](const IpAddress& address, std::size_t at) {
    std::uint64_t word = 0;
    std::memcpy(&word, address.bytes().data() + at, sizeof word);
    return word;
  };
  return ((half(one, 0) ^ half(other, 0)) | (half(one, 8) ^ half(other, 8))) == 0 &&
         one.is_v6() == other.is_v6();
}

}  // namespace weft::packet
