#include "balancer/export/target.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "topology/base/whole_number.hpp"

namespace weft::exports {
namespace {

constexpr std::array<std::string_view, 3> kActs{"put", "take", "pass"};
constexpr std::size_t kMaxFabric = 40;
constexpr std::string_view kMarkPrefix = "weft.";

bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
         c == '-';
}

std::string plain(std::string_view name) {
  std::string text(name.substr(0, kMaxFabric));
  std::ranges::replace_if(
      text, [](char c) { return !is_plain(c); }, '_');
  return text;
}

}  // namespace

bool leaves_open(const Error& error) {
  return error.kind == ErrorKind::timeout || error.kind == ErrorKind::absent;
}

void Failures::add(Error error) {
  if (std::ranges::find(errors_, error.kind, &Error::kind) == errors_.end())
    errors_.push_back(std::move(error));
}

Result<void> Failures::result() const {
  if (errors_.empty()) return {};
  auto errors = errors_;
  const auto open = std::ranges::stable_partition(errors, [](const Error& e) { return !leaves_open(e); });
  Error all{open.empty() ? errors.front().kind : open.front().kind, errors.front().message};
  for (const Error& error : std::span(errors).subspan(1)) all.message += "; " + error.message;
  return tl::unexpected<Error>(std::move(all));
}

std::string_view to_string(Act act) { return kActs[static_cast<std::size_t>(act)]; }

std::string id_of(const Change& change) {
  std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a, 64 bits
  const auto take = [&](std::string_view text) {
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    hash = (hash ^ 0xff) * 0x100000001b3;  // ends the text: no UTF-8 has it
  };
  for (const std::string_view text :
       {to_string(change.act), std::string_view(change.target), std::string_view(change.object),
        std::string_view(change.before), std::string_view(change.set)})
    take(text);
  take(std::to_string(change.entry.value()));
  return fmt::format("{:016x}", hash);
}

Change reversed(const Change& change) {
  Change back = change;
  std::swap(back.before, back.set);
  if (change.act != Act::pass) back.act = change.act == Act::put ? Act::take : Act::put;
  return back;
}

std::string printable(std::string_view text) {
  std::string out;
  for (const char c : text) out += c < 0x20 || c > 0x7e ? '?' : c == '"' ? '\'' : c;
  return out;
}

std::string shell_word(const std::string& word) {
  if (!word.empty() && word.find_first_of(" ;|&$<>(){}'\"\\*?[]#~`!\t\n") == std::string::npos) return word;
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

std::string mark_id(std::string_view fabric, EntryId entry) {
  return fmt::format("{}:{}", plain(fabric), entry.value());
}

std::optional<EntryId> entry_of(std::string_view fabric, std::string_view mark) {
  const std::string prefix = plain(fabric) + ":";
  if (!mark.starts_with(prefix)) return std::nullopt;
  mark.remove_prefix(prefix.size());
  const auto number = parse_whole_number<std::uint64_t>(mark);
  return number && *number != 0 ? std::optional(EntryId(*number)) : std::nullopt;
}

std::string mark_value(std::string_view mark) {
  std::string value(mark);
  const auto colon = value.rfind(':');
  if (colon != std::string::npos) value[colon] = '.';
  return std::string(kMarkPrefix) + value;
}

std::optional<std::string> mark_in_value(std::string_view value) {
  if (!value.starts_with(kMarkPrefix)) return std::nullopt;
  value.remove_prefix(kMarkPrefix.size());
  const auto dot = value.rfind('.');
  if (dot == std::string_view::npos || dot + 1 == value.size()) return std::nullopt;
  if (!std::ranges::all_of(value.substr(dot + 1), [](char c) { return c >= '0' && c <= '9'; }))
    return std::nullopt;
  std::string mark(value);
  mark[dot] = ':';
  return mark;
}

}  // namespace weft::exports
