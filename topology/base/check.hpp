// WEFT_CHECK: a precondition that stays on in Release; a broken one prints where and aborts.
#pragma once

#include <source_location>

namespace weft {

[[noreturn]] void check_failed(const char* condition, std::source_location where);

}  // namespace weft

#define WEFT_CHECK(condition) \
  ((condition) ? void(0) : ::weft::check_failed(#condition, std::source_location::current()))
