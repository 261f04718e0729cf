// WEFT_CHECK: a precondition that stays on in Release; a broken one prints where and aborts.
#pragma once

namespace weft {

[[noreturn]] void check_failed(const char* condition, const char* file, int line);

}  // namespace weft

// The file and line by macro: Debian 12's clang, which builds the fuzz targets, has no std::source_location.
#define WEFT_CHECK(condition) ((condition) ? void(0) : ::weft::check_failed(#condition, __FILE__, __LINE__))
