// How many draws a test makes.
#pragma once

#include <cstdint>

namespace weft {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#elif defined(__has_feature)
inline constexpr bool kSanitized = __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#else
inline constexpr bool kSanitized = false;
#endif

/// `all` of them, or a tenth, one at least, under a sanitizer: each takes ten times as long there, and what a
/// sanitizer finds it finds in a few.
template <typename Number>
constexpr Number draws(Number all) {
  return kSanitized ? (all + 9) / 10 : all;
}

}  // namespace weft
