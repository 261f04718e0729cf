// Result<T>: a value or an Error that names what failed, on what, and what to do about it.
// Expected trouble travels this way; a broken precondition goes to WEFT_CHECK (check.hpp).
#pragma once

#include <fmt/format.h>

#include <string>
#include <tl/expected.hpp>
#include <type_traits>
#include <utility>

namespace weft {

enum class ErrorKind {
  usage,          // the caller asked for something that makes no sense (exit 64)
  invalid_input,  // a file, packet or message is malformed (exit 64)
  not_found,      // a name is not in the fabric, a file is not there (exit 64)
  absent,         // something the machine needs is missing: a program, a device, a kernel feature (exit 69)
  permission,     // the user may not (exit 69)
  not_supported,  // this build or this device cannot (exit 69)
  timeout,        // a bounded wait ended (exit 69)
  conflict,       // it exists already, or is in use (exit 69)
  internal,       // weft's own fault (exit 70)
};

struct Error {
  ErrorKind kind = ErrorKind::internal;
  std::string message;
};

template <class T>
using Result = tl::expected<T, Error>;

/// An unexpected Error, ready to return from a function that gives a Result.
template <class... Args>
[[nodiscard]] tl::unexpected<Error> fail(ErrorKind kind, fmt::format_string<Args...> format, Args&&... args) {
  return tl::unexpected<Error>(Error{kind, fmt::format(format, std::forward<Args>(args)...)});
}

/// The error of `result`, passed on with `context` before its message ("context: message").
template <class T>
[[nodiscard]] tl::unexpected<Error> pass_on(const Result<T>& result, std::string_view context = {}) {
  if (context.empty()) return tl::unexpected<Error>(result.error());
  return tl::unexpected<Error>(
      Error{result.error().kind, fmt::format("{}: {}", context, result.error().message)});
}

/// WEFT_TRY(const auto value, f(x)): declares `value` as what is in the Result that f(x) gives; where that is
/// an error, returns it from the function around. Three statements: where one statement is allowed it needs
/// braces.
#define WEFT_TRY(declaration, ...)                              \
  auto WEFT_TRY_NAME(weft_try_, __LINE__) = (__VA_ARGS__);      \
  if (!WEFT_TRY_NAME(weft_try_, __LINE__)) [[unlikely]]         \
    return ::weft::pass_on(WEFT_TRY_NAME(weft_try_, __LINE__)); \
  declaration = *std::move(WEFT_TRY_NAME(weft_try_, __LINE__))
/// Whether nothing ends where a value is dropped: no lock, no visit of a namespace.
template <class T>
inline constexpr bool may_be_dropped = std::is_void_v<T> || std::is_trivially_destructible_v<T>;

/// Runs f(x), whose value (if any) nobody needs; returns its error from the function around.
#define WEFT_TRY_VOID(...)                                                                               \
  do {                                                                                                   \
    const auto weft_tried = (__VA_ARGS__);                                                               \
    static_assert(::weft::may_be_dropped<decltype(weft_tried)::value_type>, "keep the value: WEFT_TRY"); \
    if (!weft_tried) [[unlikely]]                                                                        \
      return ::weft::pass_on(weft_tried);                                                                \
  } while (false)
#define WEFT_TRY_NAME(prefix, line) WEFT_TRY_JOIN(prefix, line)
#define WEFT_TRY_JOIN(prefix, line) prefix##line

/// Runs steps, each a function that gives Result<void>, until one fails.
template <class... Steps>
Result<void> in_turn(Steps... steps) {
  Result<void> done;
  static_cast<void>((static_cast<bool>(done = steps()) && ...));
  return done;
}

}  // namespace weft
