#include "collectors/web/mute_wish.hpp"

#include <sodium.h>

#include "topology/base/json_limits.hpp"
#include "topology/files/json_fields.hpp"

namespace weft::web {
namespace {

constexpr JsonLimits kLimits{.bytes = 4096, .depth = 2, .values = 16};
constexpr std::uint64_t kMaxMinutes = std::uint64_t{90} * 24 * 60;
constexpr std::size_t kMaxText = 200;

Result<std::string> short_text(const files::JsonView& view) {
  WEFT_TRY(auto text, files::as_text(view));
  if (text.empty() || text.size() > kMaxText) return view.error("expected 1 to {} bytes", kMaxText);
  return text;
}

Result<Nanoseconds> minutes_of(const files::JsonView& view) {
  WEFT_TRY(const auto minutes, files::as_count(view));
  if (minutes > kMaxMinutes) return view.error("expected at most {} minutes", kMaxMinutes);
  return std::chrono::minutes(minutes);
}

Result<Nanoseconds> length_of(const files::JsonView& view) {
  WEFT_TRY(const auto length, minutes_of(view));
  if (length == Nanoseconds::zero()) return view.error("expected 1 to {} minutes", kMaxMinutes);
  return length;
}

}  // namespace

Result<MuteWish> parse_mute_wish(std::string_view text) {
  WEFT_TRY_VOID(check_json_limits(text, kLimits));
  WEFT_TRY(const auto json, files::parse_json(text, "mute"));
  const files::JsonView root(json, "mute");
  MuteWish wish{.place = {}, .reason = {}, .who = "live page"};
  WEFT_TRY_VOID(files::need_member(root, "place", wish.place, short_text));
  WEFT_TRY_VOID(files::need_member(root, "minutes", wish.length, length_of));
  WEFT_TRY_VOID(files::need_member(root, "reason", wish.reason, short_text));
  if (const auto who = root.find("who")) {
    WEFT_TRY(wish.who, short_text(*who));
  }
  if (const auto in = root.find("in")) {
    WEFT_TRY(wish.after, minutes_of(*in));
  }
  return wish;
}

bool is_bearer(std::string_view authorization, std::string_view token) {
  constexpr std::string_view kScheme = "Bearer ";
  if (!authorization.starts_with(kScheme)) return false;
  const auto given = authorization.substr(kScheme.size());
  return given.size() == token.size() && !token.empty() &&
         sodium_memcmp(given.data(), token.data(), token.size()) == 0;
}

}  // namespace weft::web
