#include "topology/base/host_list.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <unordered_set>

namespace weft {
namespace {

constexpr std::size_t kMaxNames = 100'000;
constexpr std::size_t kMaxNameLength = 64;  // as nodes of a fabric
constexpr std::size_t kMaxDigits = 9;       // of a number in brackets: it fits 32 bits
constexpr std::size_t kMaxShown = 60;       // of an item in a message

using Names = std::vector<std::string>;

bool parts_items(char c) { return c == ',' || c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

bool may_stand_in_a_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
         c == '.' || c == ':';
}

tl::unexpected<Error> refuse(std::string_view item, std::string_view why) {
  return fail(ErrorKind::usage, "list of hosts: '{}': {}", item.substr(0, kMaxShown), why);
}

/// Up to the next separator outside brackets.
std::string_view take_item(std::string_view& rest) {
  std::size_t end = 0;
  for (bool inside = false; end < rest.size() && (inside || !parts_items(rest[end])); ++end) {
    if (rest[end] == '[') inside = true;
    if (rest[end] == ']') inside = false;
  }
  const auto item = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return item;
}

std::optional<std::uint32_t> number_in(std::string_view digits) {
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  const bool whole = error == std::errc{} && end == digits.data() + digits.size();
  return whole && digits.size() <= kMaxDigits ? std::optional(number) : std::nullopt;
}

/// "7", or "001-004" counted out.
Result<void> add_numbers(std::string_view item, std::string_view range, Names& numbers) {
  const auto dash = range.find('-');
  const auto low_text = range.substr(0, dash);
  const auto low = number_in(low_text);
  const auto high = dash == std::string_view::npos ? low : number_in(range.substr(dash + 1));
  if (!low || !high || *high < *low) return refuse(item, "expected numbers as in host[1-4,7]");
  const std::size_t width = low_text.starts_with('0') ? low_text.size() : 0;
  if (*high - *low >= kMaxNames - numbers.size()) return refuse(item, "more than 100000 names");
  for (std::uint64_t n = *low; n <= *high; ++n) numbers.push_back(fmt::format("{:0{}}", n, width));
  return {};
}

/// What stands in the brackets: "001-004,7".
Result<Names> numbers_of(std::string_view item, std::string_view inside) {
  Names numbers;
  for (std::size_t at = 0; at <= inside.size();) {
    const auto comma = std::min(inside.find(',', at), inside.size());
    WEFT_TRY_VOID(add_numbers(item, inside.substr(at, comma - at), numbers));
    at = comma + 1;
  }
  return numbers;
}

/// Every name so far with every one of `tails` behind it.
Result<void> multiply(std::string_view item, Names& names, const Names& tails) {
  if (names.size() * tails.size() > kMaxNames) return refuse(item, "more than 100000 names");
  Names longer;
  for (const std::string& name : names)
    for (const std::string& tail : tails) {
      if (name.size() + tail.size() > kMaxNameLength)
        return refuse(item, "a name has more than 64 characters");
      longer.push_back(name + tail);
    }
  names = std::move(longer);
  return {};
}

Result<Names> expand_item(std::string_view item) {
  Names names{""};
  for (std::size_t at = 0; at < item.size();) {
    const auto open = std::min(item.find('[', at), item.size());
    const auto plain = item.substr(at, open - at);
    if (!std::ranges::all_of(plain, may_stand_in_a_name)) return refuse(item, "that is no host's name");
    WEFT_TRY_VOID(multiply(item, names, {std::string(plain)}));
    if (open == item.size()) break;
    const auto close = item.find(']', open);
    if (close == std::string_view::npos) return refuse(item, "']' is missing");
    WEFT_TRY(const auto numbers, numbers_of(item, item.substr(open + 1, close - open - 1)));
    WEFT_TRY_VOID(multiply(item, names, numbers));
    at = close + 1;
  }
  return names;
}

}  // namespace

Result<std::vector<std::string>> expand_hosts(std::string_view list) {
  Names all;
  std::unordered_set<std::string> seen;
  std::size_t counted = 0;  // also what stands there again: to count it out takes as long
  while (!list.empty()) {
    const auto item = take_item(list);
    if (item.empty()) continue;
    WEFT_TRY(const auto names, expand_item(item));
    for (const std::string& name : names)
      if (seen.insert(name).second) all.push_back(name);
    counted += names.size();
    if (counted > kMaxNames) return refuse(item, "more than 100000 names");
  }
  if (all.empty())
    return fail(ErrorKind::usage, "list of hosts: it names none; expected one as in host[1-4,7],login2");
  return all;
}

}  // namespace weft
