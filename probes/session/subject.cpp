#include "probes/session/subject.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace weft::session {
namespace {

bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
}

std::optional<std::string> name_of(std::string_view token) {
  std::string name;
  for (std::size_t i = 0; i < token.size(); ++i) {
    if (token[i] != '=') {
      name += token[i];
      continue;
    }
    unsigned byte = 0;
    if (i + 2 >= token.size()) return std::nullopt;
    const auto [end, error] = std::from_chars(token.data() + i + 1, token.data() + i + 3, byte, 16);
    if (error != std::errc{} || end != token.data() + i + 3) return std::nullopt;
    name += static_cast<char>(byte);
    i += 2;
  }
  return name;
}

}  // namespace

std::string subject_token(std::string_view name) {
  std::string token;
  for (const char c : name)
    token += is_plain(c) ? std::string(1, c) : fmt::format("={:02X}", static_cast<unsigned char>(c));
  return token;
}

std::string subject_of(RunId run, std::string_view to, std::string_view from) {
  return fmt::format("weft.{:016x}.{}.{}", run.value(), subject_token(to), subject_token(from));
}

std::string subscription_of(RunId run, std::string_view to) {
  return fmt::format("weft.{:016x}.{}.*", run.value(), subject_token(to));
}

std::string subject_to_anyone(RunId run, std::string_view from) {
  return fmt::format("weft.{:016x}.*.{}", run.value(), subject_token(from));
}

std::string acknowledgement_subject(RunId run, std::string_view to, std::string_view from,
                                    std::uint32_t number) {
  return fmt::format("{}.{}", subject_of(run, to, from), number);
}

std::string acknowledgements_to_anyone(RunId run, std::string_view from) {
  return subject_to_anyone(run, from) + ".*";
}

std::string acknowledgements_to(RunId run, std::string_view to, std::string_view from) {
  return subject_of(run, to, from) + ".*";
}

std::string subscription_to_acknowledgements(RunId run, std::string_view to) {
  return subscription_of(run, to) + ".*";
}

std::optional<Acknowledgement> acknowledgement_in(std::string_view subject) {
  const auto last = subject.rfind('.');
  if (std::ranges::count(subject, '.') != 4) return std::nullopt;
  Acknowledgement read;
  const auto number = subject.substr(last + 1);
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), read.number);
  if (number.empty() || error != std::errc{} || end != number.data() + number.size()) return std::nullopt;
  auto from = sender_of(subject.substr(0, last));
  if (!from) return std::nullopt;
  read.from = std::move(*from);
  return read;
}

std::optional<std::string> sender_of(std::string_view subject) {
  const auto last = subject.rfind('.');
  if (last == std::string_view::npos || !subject.starts_with("weft.")) return std::nullopt;
  return name_of(subject.substr(last + 1));
}

}  // namespace weft::session
