// Quantities as people read them: three digits that count and the unit's full name, `400 Gbit/s`, `1.86 us`,
// `4096 bytes`, `750 MB`. What to_string() of units.hpp writes is for files and options, and is read back.
#pragma once

#include <string>

#include "topology/base/units.hpp"

namespace weft {

/// `space` stands between the number and its unit: kNoBreak (text.hpp) where the text is wrapped.
std::string readable(Bandwidth rate, char space = ' ');
/// Exact below 10,000 bytes: sizes of packets are meant exactly.
std::string readable(Bytes size, char space = ' ');
std::string readable(Nanoseconds time, char space = ' ');

}  // namespace weft
