// What a caller of the page may ask to change, and whether he may. Pure.
#pragma once

#include <string_view>

#include "collectors/web/page_source.hpp"

namespace weft::web {

/// {"place":"leaf1--spine2","minutes":60,"reason":"...","who":"...","in":30}: 1 minute to 90 days; a reason
/// of 1 to 200 bytes without control characters; `who` (the same; absent: "live page") and `in`, minutes
/// until it begins (at most 90 days), may be absent.
Result<MuteWish> parse_mute_wish(std::string_view text);

/// Whether an Authorization header is "Bearer TOKEN"; takes the same time whatever is wrong in the token.
bool is_bearer(std::string_view authorization, std::string_view token);

}  // namespace weft::web
