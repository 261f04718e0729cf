// Gzip (RFC 1952) of what a server sends. Pure.
#pragma once

#include <string>
#include <string_view>

namespace weft::web {

std::string gzip(std::string_view text);

}  // namespace weft::web
